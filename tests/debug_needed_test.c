/* Leaving out debug contexts: those that the profile leads to stay, say the same as before, and no
 * others stay.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "golden_case.h"

#include <stdlib.h>
#include <string.h>

#include "model/operations.h"
#include "profile/debug_info.h"
#include "profile/profile_data.h"
#include "profile/read.h"
#include "test_data.h"

enum { PATH_ROOM = 4096 };

/* By going round until nothing new is found. */
static uint8_t *find_needed(const pl_debug_info *info, const popliner_profile *p) {
    uint8_t *is_needed = calloc(info->num_contexts + 1, 1);
    assert_non_null(is_needed);
    bool found = true;
    for (int round = 0; found; round++) {
        found = false;
        for (size_t i = 0; i < info->num_contexts; i++) {
            uint64_t id = info->context_id[i];
            bool is_needed_now = false;
            if (is_needed[i] != 0 || id == 0 || pl_debug_find(info, id) != i)
                continue; /* of contexts with the same id only the first can be found */
            for (size_t k = 0; k < p->num_programs && round == 0; k++)
                is_needed_now = is_needed_now || p->program_debug_context[k] == id;
            for (size_t k = 0; k < p->num_compute_sets && round == 0; k++)
                is_needed_now = is_needed_now || p->compute_set_debug_context[k] == id;
            for (size_t k = 0; k < p->num_unlowered && round == 0; k++)
                is_needed_now = is_needed_now || p->unlowered_debug_context[k] == id;
            for (size_t k = 0; k < info->num_contexts && round > 0; k++) {
                const pl_debug_details *d = pl_debug_get_details(info, (uint32_t)k);
                if (is_needed[k] == 0)
                    continue;
                is_needed_now = is_needed_now || info->context_parent_id[k] == id;
                for (size_t o = 0; d != NULL && o < d->num_outlined; o++)
                    is_needed_now = is_needed_now ||
                                    info->outlined_ids[d->first_outlined + o] == id ||
                                    info->replaced_ids[d->first_outlined + o] == id;
            }
            is_needed[i] = is_needed_now;
            found = found || is_needed_now;
        }
        found = found || round == 0;
    }
    return is_needed;
}

/* The contexts of `kept` are the needed ones of `all`, and say the same. */
static void assert_kept(const pl_debug_info *kept, const pl_debug_info *all,
                        const popliner_profile *p) {
    uint8_t *is_needed = find_needed(all, p);
    size_t count = 0;
    assert_int_equal(kept->num_read, all->num_contexts);
    for (uint32_t i = 0; i < all->num_contexts; i++) {
        uint64_t id = all->context_id[i];
        uint32_t place = pl_debug_find(kept, id);
        if (pl_debug_find(all, id) != i)
            continue;
        assert_int_equal(place != PL_NONE, is_needed[i] != 0);
        if (place == PL_NONE)
            continue;
        count++;
        char expected[PATH_ROOM];
        char path[PATH_ROOM];
        assert_true(pl_debug_info_path(all, id, expected, sizeof expected));
        assert_true(pl_debug_info_path(kept, id, path, sizeof path));
        assert_string_equal(path, expected);
        assert_int_equal(kept->context_parent_id[place], all->context_parent_id[i]);
        assert_int_equal(kept->context_layer[place], all->context_layer[i]);
        assert_string_equal(pl_debug_operation_name(kept, place), pl_debug_operation_name(all, i));
        const pl_debug_details *a = pl_debug_get_details(all, i);
        const pl_debug_details *k = pl_debug_get_details(kept, place);
        assert_int_equal(a != NULL, k != NULL);
        if (a == NULL || k == NULL)
            continue;
        assert_string_equal(pl_debug_text(kept, k->inputs), pl_debug_text(all, a->inputs));
        assert_string_equal(pl_debug_text(kept, k->tensor_id), pl_debug_text(all, a->tensor_id));
        assert_int_equal(k->is_call, a->is_call);
        assert_int_equal(k->num_outlined, a->num_outlined);
        if (a->num_outlined > 0)
            assert_memory_equal(kept->outlined_ids + k->first_outlined,
                                all->outlined_ids + a->first_outlined,
                                a->num_outlined * sizeof(uint64_t));
    }
    assert_int_equal(kept->num_contexts, count);
    free(is_needed);
}

static void assert_same_operations(const pl_operations *a, const pl_operations *b) {
    pl_field fields[PL_MAX_FIELDS];
    pl_field others[PL_MAX_FIELDS];
    pl_operations copy = *a;
    pl_operations other = *b;
    size_t count = pl_operations_fields(&copy, fields);
    pl_operations_fields(&other, others);
    for (size_t i = 0; i < count; i++) {
        size_t size = (*fields[i].count + fields[i].extra_items) * fields[i].item_size;
        assert_int_equal(*fields[i].count, *others[i].count);
        if (size > 0)
            assert_memory_equal(pl_field_items(&fields[i]), pl_field_items(&others[i]), size);
    }
}

static void check_reading(const golden_case *c) {
    char *profile_path = test_golden_file(c->name, "profile.pop");
    char *debug_path = test_golden_file(c->name, "debug.cbor");
    popliner_profile *profile;
    pl_debug_info *info;
    pl_operations *operations;
    assert_int_equal(pl_read_files(profile_path, debug_path, NULL, &profile, &info, NULL),
                     POPLINER_OK);
    assert_kept(info, c->info, c->profile);
    assert_int_equal(pl_operations_find(profile, info, &operations, NULL), POPLINER_OK);
    assert_same_operations(operations, c->operations);
    pl_operations_free(operations);
    pl_debug_info_free(info);
    pl_profile_free(profile);
    free(profile_path);
    free(debug_path);
}

static void reading_keeps_what_the_profile_needs(void **state) {
    (void)state;
    golden_for_each(check_reading);
}

static uint64_t any_id(const pl_debug_info *info, uint64_t *random) {
    *random = test_random(*random);
    uint64_t number = *random >> 20;
    if (number % 5 == 0)
        return number % 3; /* none, or hardly any context's */
    return info->context_id[number % info->num_contexts];
}

/* The profile names contexts at random, and parents form circles. */
static void check_anything(const golden_case *c) {
    uint64_t random = 79;
    for (size_t round = 0; round < 6; round++) {
        if (!test_takes_case(round, 3))
            continue;
        golden_case other;
        golden_case all;
        golden_load(&other, c->name);
        golden_load(&all, c->name);
        popliner_profile *p = other.profile;
        for (size_t i = 0; i < p->num_programs; i++)
            p->program_debug_context[i] = any_id(all.info, &random);
        for (size_t i = 0; i < p->num_compute_sets; i++)
            p->compute_set_debug_context[i] = 0;
        for (size_t i = 0; i < p->num_unlowered; i++)
            p->unlowered_debug_context[i] = 0;
        /* few programs, so that much is left out */
        p->num_programs = p->num_programs < 8 * round ? p->num_programs : 8 * round;
        for (size_t i = 0; i < other.info->num_contexts; i += 3) {
            other.info->context_parent_id[i] = any_id(all.info, &random);
            all.info->context_parent_id[i] = other.info->context_parent_id[i];
        }
        assert_true(pl_debug_resolve(all.info) && pl_debug_resolve(other.info));
        pl_debug_keep_needed(other.info, p);
        assert_kept(other.info, all.info, p);
        if (round == 0)
            assert_int_equal(other.info->num_contexts, 0);
        golden_free(&other);
        golden_free(&all);
    }
}

static void keeps_what_is_needed_whatever_it_is(void **state) {
    (void)state;
    golden_for_each(check_anything);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reading_keeps_what_the_profile_needs),
        cmocka_unit_test(keeps_what_is_needed_whatever_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
