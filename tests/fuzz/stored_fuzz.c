/* A stored analysis of a small profile whose arrays have changed, or other bytes of the file, with
 * the checksum that it then has: it is refused in one sentence, or everything that is asked of it
 * has answers which agree with each other.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include "../stored.h"
#include "array_changes.h"
#include "database_image.h"
#include "memory/chain_data.h"
#include "memory/stage_details.h"
#include "model/operations.h"
#include "profile/profile_data.h"
#include "questions.h"
#include "records.h"
#include "small_profile.h"

/* What an input begins with: what changes and how it is read, then the questions. */
enum { HEAD_SIZE = 2 + QUESTIONS_SIZE, MAX_ARRAYS = 256 };

/* The parts of the file. */
static struct {
    pl_text file;
    const char *names[MAX_ARRAYS];
    changing_array arrays[MAX_ARRAYS];
    size_t num_arrays;
} base;

/* ---- The stored analysis -------------------------------------------------------------------- */

/* Stores what is made of the small profile; returns where. */
static const char *store_small_profile(void) {
    popliner_analysis_options options = POPLINER_ANALYSIS_OPTIONS_INIT;
    const char *from = fuzz_path("profile.pop");
    const char *to = fuzz_path("stored");
    popliner_analysis *analysis;
    sqlite3 *profile = small_profile_make();
    size_t size;
    unsigned char *image = database_image_take(profile, &size);
    sqlite3_close(profile);
    options.num_threads = 1;
    fuzz_write(from, image, size);
    sqlite3_free(image);
    FUZZ_CHECK(popliner_analysis_read(from, NULL, &options, &analysis, NULL) == POPLINER_OK);
    FUZZ_CHECK(popliner_analysis_store(analysis, POPLINER_MEMORY_MODEL_FULL, to, NULL) ==
               POPLINER_OK);
    popliner_analysis_free(analysis);
    return to;
}

/* Says of an array how large its items are, and for what they are: of those of a profile by the
 * count that they share. */
static void describe(changing_array *a, const char *name) {
    static popliner_profile profile;
    static pl_operations operations;
    static pl_chain chain;
    static pl_stage_details details;
    pl_field fields[4 * PL_MAX_FIELDS];
    const char *own_name = strrchr(name, '/');
    const bool is_of_stages = own_name != NULL;
    size_t count = 0;
    if (!is_of_stages) {
        count = pl_profile_fields(&profile, PL_FIELDS_ALL, NULL, fields);
        count += pl_operations_fields(&operations, fields + count);
    } else {
        count = pl_chain_fields(&chain, fields);
        count += pl_details_fields(&details, fields + count);
    }
    a->item_size = 1;     /* of what is coded */
    a->group = (size_t)a; /* its own */
    for (size_t i = 0; i < count; i++) {
        if (strcmp(fields[i].name, is_of_stages ? own_name + 1 : name) != 0)
            continue;
        a->item_size = fields[i].item_size;
        if (!is_of_stages)
            a->group = (size_t)fields[i].count;
    }
}

static void make_base(void) {
    size_t at = STORED_HEADER;
    stored_part part;
    FUZZ_CHECK(pl_file_read(store_small_profile(), "", &base.file, NULL) == POPLINER_OK);
    while (stored_next(base.file.data, base.file.length, &at, &part)) {
        FUZZ_CHECK(base.num_arrays < MAX_ARRAYS);
        changing_array *a = &base.arrays[base.num_arrays];
        base.names[base.num_arrays++] = part.name;
        describe(a, part.name);
        a->num_items = (size_t)part.size / a->item_size;
        FUZZ_CHECK(a->num_items * a->item_size == part.size);
        a->bytes = (uint8_t *)part.bytes;
    }
}

/* ---- Changes -------------------------------------------------------------------------------- */

static void change_arrays(pl_text *file, const uint8_t *records, size_t num_records,
                          bool breaks_groups) {
    changing_array arrays[MAX_ARRAYS];
    memcpy(arrays, base.arrays, base.num_arrays * sizeof *arrays);
    for (size_t i = 0; i < base.num_arrays; i++) {
        const size_t size = arrays[i].num_items * arrays[i].item_size;
        arrays[i].bytes = malloc(size > 0 ? size : 1);
        FUZZ_CHECK(arrays[i].bytes != NULL);
        if (size > 0)
            memcpy(arrays[i].bytes, base.arrays[i].bytes, size);
    }
    for (size_t i = 0; i < num_records; i++) {
        const uint8_t *record = records + i * RECORD_SIZE;
        array_change(arrays, base.num_arrays, record, breaks_groups);
    }
    for (size_t i = 0; i < base.num_arrays; i++) {
        changing_array *a = &arrays[i];
        const pl_field field = {base.names[i], &a->bytes, a->item_size, &a->num_items, 0};
        pl_archive_add(file, "", &field);
        free(a->bytes);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    popliner_analysis_options options = POPLINER_ANALYSIS_OPTIONS_INIT;
    popliner_analysis *analysis;
    popliner_error error = {.message = ""};
    pl_text file = {0};
    if (base.num_arrays == 0)
        make_base();
    if (size < HEAD_SIZE)
        return 0;
    const size_t num_records = records_count(size, HEAD_SIZE);
    const uint8_t *records = data + HEAD_SIZE;
    const bool is_raw = data[0] % 16 == 15;
    const char *path = fuzz_path("analysis");
    pl_archive_begin(&file);
    change_arrays(&file, records, is_raw ? 0 : num_records, data[0] % 16 == 14);
    for (size_t i = 0; is_raw && i < num_records; i++)
        file.length = STORED_HEADER +
                      database_image_change((unsigned char *)file.data + STORED_HEADER,
                                            file.length - STORED_HEADER, records + i * RECORD_SIZE);
    FUZZ_CHECK(pl_archive_write(&file, path, NULL) == POPLINER_OK);
    options.num_threads = 1;
    options.layer_order = (popliner_layer_order)(data[1] & 1);
    const popliner_status status = popliner_analysis_load(path, &options, &analysis, &error);
    fuzz_check_status(status, &error, 1u << POPLINER_ERROR_INPUT, path);
    if (status != POPLINER_OK)
        return 0;
    const subject s = {analysis, &options, path, false, num_records == 0};
    questions_ask_all(&s, data + 2, data[0] >> 4);
    popliner_analysis_free(analysis);
    return 0;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
    size = records_mutate(data, size, max_size, seed, HEAD_SIZE);
    if (size > 0)
        data[0] = questions_fewer(data[0], seed);
    return size;
}
