/* Writes categories, the names of variables, and classes of variables with the same life.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "mkprofile/liveness.h"
#include "mkprofile/profile.h"

/* Names and what is said about them, by id. */
static const char *const categories[MK_CATEGORY_COUNT][2] = {
    {"variable", "Data of the model"},
    {"multiple", "Variables of several categories at once"},
    {"controlId", "Ids of programs and syncs"},
    {"message", "Data on its way between tiles"},
    {"hostMessage", "Data on its way from or to the host"},
    {"globalMessage", "Data on its way between IPUs"},
    {"rearrangement", "Data in another order"},
    {"outputEdge", "Output edges before an exchange"},
    {"constant", "Constants of the model"},
    {"hostExchangePacketHeader", "Packet headers for the host"},
    {"globalExchangePacketHeader", "Packet headers for other IPUs"},
    {"stack", "Stacks of workers and supervisor"},
    {"vertexInstanceState", "State of vertices"},
    {"copyDescriptor", "Fields of copy vertices"},
    {"vectorListDescriptor", "Data of vector list fields"},
    {"vertexFieldData", "Fields of variable size"},
    {"controlTable", "Obsolete"},
    {"controlCode", "Code of programs"},
    {"vertexCode", "Code of vertices"},
    {"internalExchangeCode", "Code of exchanges on the IPU"},
    {"hostExchangeCode", "Code of exchanges with the host"},
    {"globalExchangeCode", "Code of exchanges between IPUs"},
    {"instrumentationResults", "Measurements"},
    {"dwarf", "Debug information"},
    {"sharedCodeStorage", "Obsolete"},
    {"sharedDataStorage", "Obsolete"},
    {"sharedStructureState", "Obsolete"},
};

const char *mk_category_name(size_t category) {
    return categories[category][0];
}

static void write_unlowered(mk_profile *profile) {
    const mk_network_plan *plan = profile->plan;
    mk_rows names = mk_rows_begin(&profile->database, "unlowered_vars", 2);
    mk_rows ids = mk_rows_begin(&profile->database, "debug_ids", 2);
    for (size_t i = 0; i < plan->unlowered.count; i++) {
        const mk_unlowered *unlowered = mk_unlowered_at(plan, i);
        mk_rows_integer(&names, i);
        mk_rows_text(&names, mk_text(plan, unlowered->name));
        mk_rows_next(&names);
        mk_rows_integer(&ids, i);
        pl_varint_write(&profile->blob, unlowered->context);
        mk_rows_blob(&ids, &profile->blob);
        mk_rows_next(&ids);
    }
    /* What the compiler made is summed up under the name of its category. */
    for (size_t category = 0; category < MK_CATEGORY_COUNT; category++) {
        mk_rows_integer(&names, plan->unlowered.count + category);
        mk_rows_text(&names, categories[category][0]);
        mk_rows_next(&names);
        mk_rows_integer(&ids, plan->unlowered.count + category);
        pl_varint_write(&profile->blob, 0);
        mk_rows_blob(&ids, &profile->blob);
        mk_rows_next(&ids);
    }
    mk_rows_end(&names);
    mk_rows_end(&ids);
}

static void write_classes(mk_profile *profile) {
    const mk_network_plan *plan = profile->plan;
    mk_rows classes = mk_rows_begin(&profile->database, "eq_classes", 2);
    mk_rows steps = mk_rows_begin(&profile->database, "eq_class_step", 3);
    mk_rows meetings = mk_rows_begin(&profile->database, "equivalence_class_interference", 2);
    mk_rows_integer(&meetings, 0); /* the class of what has no memory */
    mk_rows_blob(&meetings, &profile->blob);
    mk_rows_next(&meetings);
    for (size_t i = 0; i < plan->classes.count; i++) {
        const mk_class *life = mk_class_at(plan, i);
        mk_rows_integer(&classes, i + 1);
        mk_rows_integer(&classes, life->is_always_live);
        mk_rows_next(&classes);
        for (size_t k = 0; k < life->num_ranges; k++) {
            const mk_range *range = mk_range_at(plan, life->first_range + k);
            mk_rows_integer(&steps, i + 1);
            mk_rows_integer(&steps, range->from);
            mk_rows_integer(&steps, range->to);
            mk_rows_next(&steps);
        }
        for (size_t k = 0; k < plan->classes.count; k++) {
            if (mk_classes_meet(plan, life, mk_class_at(plan, k)))
                pl_varint_write(&profile->blob, k + 1);
        }
        mk_rows_integer(&meetings, i + 1);
        mk_rows_blob(&meetings, &profile->blob);
        mk_rows_next(&meetings);
    }
    mk_rows_end(&classes);
    mk_rows_end(&steps);
    mk_rows_end(&meetings);
}

void mk_write_names(mk_profile *profile) {
    const mk_network_plan *plan = profile->plan;
    mk_rows rows = mk_rows_begin(&profile->database, "var_categories", 3);
    for (size_t category = 0; category < MK_CATEGORY_COUNT; category++) {
        mk_rows_integer(&rows, category);
        mk_rows_text(&rows, categories[category][0]);
        mk_rows_text(&rows, categories[category][1]);
        mk_rows_next(&rows);
    }
    mk_rows_end(&rows);
    rows = mk_rows_begin(&profile->database, "vars_string_table", 2);
    for (size_t i = 0; i < plan->base_names.count; i++) {
        mk_rows_integer(&rows, i);
        mk_rows_text(&rows, mk_base_name(plan, i));
        mk_rows_next(&rows);
    }
    mk_rows_end(&rows);
    write_unlowered(profile);
    write_classes(profile);
}
