/* A diagnosis for reading, and as JSON.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "answer/certificate_data.h"
#include "base/text.h"
#include "diagnosis/diagnosis.h"
#include "memory/memory_model.h"
#include "popliner/report.h"
#include "profile/profile_data.h"
#include "solve/options.h"

enum { PATH_ROOM = 500 };

/* The data that parts of a report share. */
typedef struct context {
    const pl_diagnosis *diagnosis;
    const popliner_profile *profile;
    const pl_operations *operations;
    const pl_debug_info *info;
    popliner_option_names names;
    size_t most;
} context;

static const char *name_of(const popliner_profile *profile, size_t program) {
    popliner_program told = POPLINER_PROGRAM_INIT;
    return popliner_profile_get(profile, POPLINER_ITEM_PROGRAM, program, &told, NULL) == POPLINER_OK
               ? told.name
               : "";
}

/* The debug context path of a variable, "" if it is not known. */
static void find_path(const context *c, uint64_t id, char *path) {
    *path = '\0';
    if (c->info != NULL && id != 0)
        pl_debug_info_path(c->info, id, path, PATH_ROOM);
}

/* Why a program that no counted operation has is missing. */
static const char *program_reason(const context *c, uint32_t program) {
    return pl_missing_reason_text(pl_program_reason(c->operations, program));
}

/* ---- text ---- */

static void write_programs(const context *c, pl_text *text) {
    const pl_diagnosis *d = c->diagnosis;
    pl_text_add(text, "Programs                        all      seen  difference\n");
    for (size_t i = 0; i < d->num_program_types; i++) {
        const pl_diagnosis_programs *group = &d->programs[i];
        size_t num_missing = group->num_all - group->num_seen;
        pl_text_format(text, "  %-24s %9zu %9zu  %9.2f%%\n", group->type, group->num_all,
                       group->num_seen, pl_report_percent(group->num_seen, group->num_all));
        for (size_t k = 0; k < num_missing && k < c->most; k++) {
            const char *name = name_of(c->profile, group->missing[k]);
            pl_text_format(text, "    missing %" PRIu32 " %s%s(%s)\n", group->missing[k], name,
                           *name == '\0' ? "" : " ", program_reason(c, group->missing[k]));
        }
        if (num_missing > c->most)
            pl_text_format(text, "    and %zu more\n", num_missing - c->most);
    }
}

static void write_categories(const context *c, pl_text *text) {
    const pl_diagnosis *d = c->diagnosis;
    pl_text_add(text, "\nMemory by category           explained         truth    difference  "
                      "      %  tiles exceeded\n");
    for (size_t i = 0; i < d->num_categories; i++) {
        const pl_diagnosis_category *row = &d->categories[i];
        pl_text_format(text, "  %-24s %11" PRIu64 "   %11" PRIu64 "   %11" PRId64 "  %7.2f  %zu\n",
                       row->name, row->explained_bytes, row->truth_bytes,
                       (int64_t)(row->explained_bytes - row->truth_bytes),
                       pl_report_percent(row->explained_bytes, row->truth_bytes),
                       row->tiles_exceeded);
    }
}

static void write_reasons(const pl_missing_reason *reasons, size_t count, pl_text *text) {
    for (size_t i = 0; i < count; i++)
        pl_text_format(text, "%s%s", i == 0 ? "(" : "; ", pl_missing_reason_text(reasons[i]));
    pl_text_add(text, ")\n");
}

/* A program of a part, which is called by its type if it has no name. */
static void write_owner(const context *c, uint32_t program, pl_text *text) {
    const popliner_profile *p = c->profile;
    const char *name = name_of(p, program);
    pl_text_format(text, "program %" PRIu32 " %s", program,
                   *name == '\0' ? pl_profile_string(p, p->program_type_name[program]) : name);
}

/* Whose the code of an item is. */
static void write_parts(const context *c, const pl_missing_variable *v, pl_text *text) {
    uint64_t others_bytes = 0;
    for (size_t i = 0; i < v->num_parts; i++) {
        const pl_missing_part *part = &v->parts[i];
        if (i >= c->most) {
            others_bytes += part->size_bytes;
            continue;
        }
        bool is_type = part->vertex_type != NULL; /* else the first program stands for it */
        pl_text_format(text, "      %11" PRIu64 "  ", part->size_bytes);
        if (is_type)
            pl_text_format(text, "vertex type %s", part->vertex_type);
        else
            write_owner(c, part->programs[0], text);
        pl_text_add(text, " ");
        write_reasons(part->reasons, part->num_reasons, text);
        for (size_t k = is_type ? 0 : 1; k < part->num_programs && k < 3; k++) {
            pl_text_add(text, "                   of ");
            write_owner(c, part->programs[k], text);
            pl_text_add(text, "\n");
        }
        if (part->num_programs > 3)
            pl_text_format(text, "                   and %zu more\n", part->num_programs - 3);
    }
    if (v->num_parts > c->most)
        pl_text_format(text, "      %11" PRIu64 "  of %zu more\n", others_bytes,
                       v->num_parts - c->most);
    if (v->num_parts > 0 && v->compiler_bytes > 0)
        pl_text_format(text, "      %11" PRIu64 "  %s\n", v->compiler_bytes,
                       pl_missing_reason_text(PL_MISSING_COMPILER));
}

static void write_missing(const context *c, const pl_missing_variables *list, pl_text *text) {
    uint64_t others_bytes = 0;
    for (size_t i = 0; i < list->count; i++) {
        const pl_missing_variable *v = &list->items[i];
        char path[PATH_ROOM];
        if (i >= c->most) {
            others_bytes += v->size_bytes;
            continue;
        }
        find_path(c, v->debug_context, path);
        if (v->num_parts > 0 && v->num_programs == 0) { /* which have their reasons */
            pl_text_format(text, "  %11" PRIu64 "  %s\n", v->size_bytes, v->category);
        } else {
            pl_text_format(text, "  %11" PRIu64 "  %-22s %s%s", v->size_bytes, v->category, v->name,
                           *v->name == '\0' ? "" : " ");
            write_reasons(v->reasons, v->num_reasons, text);
        }
        for (size_t k = 0; k < v->num_programs && k < 3; k++) {
            const char *name = name_of(c->profile, v->programs[k]);
            pl_text_format(text, "               touched by program %" PRIu32 "%s%s\n",
                           v->programs[k], *name == '\0' ? "" : " ", name);
        }
        if (v->num_programs > 3)
            pl_text_format(text, "               and %zu more\n", v->num_programs - 3);
        if (*path != '\0')
            pl_text_format(text, "               debug context %s\n", path);
        write_parts(c, v, text);
    }
    if (list->count > c->most)
        pl_text_format(text, "  and %zu more of %" PRIu64 " bytes\n", list->count - c->most,
                       others_bytes);
}

static void write_bottleneck(const context *c, pl_text *text) {
    const pl_diagnosis *d = c->diagnosis;
    pl_text_format(text,
                   "\nBottleneck: tile %zu at step %zu%s%s\n"
                   "  truth %" PRIu64 " bytes, explained %" PRIu64 ", difference %" PRId64
                   " (%.2f%%)\n"
                   "  the model has most on tile %zu at step %zu: %" PRIu64 " bytes\n",
                   d->told.tile, d->told.step, *d->told.program_name == '\0' ? "" : ", program ",
                   d->told.program_name, d->told.truth_bytes, d->told.explained_bytes,
                   (int64_t)(d->told.explained_bytes - d->told.truth_bytes),
                   pl_report_percent(d->told.explained_bytes, d->told.truth_bytes),
                   d->told.model_tile, d->told.model_step, d->told.model_bytes);
    size_t num_steps = c->profile->num_steps;
    size_t own_steps =
        d->told.last_step >= d->told.first_step ? d->told.last_step - d->told.first_step + 1 : 0;
    pl_text_format(text, "  steps: %zu of %zu (%.2f%%)", own_steps, num_steps,
                   pl_report_percent(own_steps, num_steps));
    if (own_steps > 0)
        pl_text_format(text, ", from %zu to %zu", d->told.first_step, d->told.last_step);
    pl_text_add(text, "\n");
    pl_text_add(text, "Missing there, largest first:\n");
    write_missing(c, &d->missing_here, text);
    pl_text_add(text, "\nMissing over all tiles, largest first:\n");
    write_missing(c, &d->missing_everywhere, text);
    if (d->told.tiles_off == SIZE_MAX)
        pl_text_add(text, "\nThe profile has no account by tile to check this against.\n");
    else
        pl_text_format(text,
                       "\nExplained + missing differ from the compiler's account on %zu tiles.\n",
                       d->told.tiles_off);
}

static void write_coverage(const context *c, pl_text *text) {
    const pl_diagnosis *d = c->diagnosis;
    pl_text_format(text, "\nLayers of %zu operations, by how they were found\n",
                   d->told.num_operations);
    for (size_t i = 0; i < d->num_coverage; i++)
        pl_text_format(text, "  %-34s %7zu  %6.2f%%\n",
                       *d->coverage[i].note == '\0' ? "name" : d->coverage[i].note,
                       d->coverage[i].num_operations,
                       100.0 * (double)d->coverage[i].num_operations /
                           (double)d->told.num_operations);
    if (*d->told.suggested_regex != '\0')
        pl_text_format(text,
                       "  Names such as '%s' have no layer; %s '%s' would find %zu in them.\n",
                       d->told.suggestion_example, c->names.layer_name_regex,
                       d->told.suggested_regex, d->told.suggested_layers);
}

static void write_checks(const context *c, pl_text *text) {
    pl_text_add(text, "\nThe profile against itself     checked  breached      largest  where\n");
    for (size_t i = 0; i < PL_NUM_RELATIONS; i++) {
        popliner_check check = pl_profile_check_of(c->profile, (popliner_relation)i);
        if (check.breached > 0)
            pl_text_format(text, "  %-24s %11zu  %8zu  %11" PRIu64 "  %s\n", check.name,
                           check.checked, check.breached, check.largest_bytes, check.where);
        else
            pl_text_format(text, "  %-24s %11zu  %8zu\n", check.name, check.checked,
                           check.breached);
    }
}

static void write_layout(const pl_laid_out *layout, pl_text *text) {
    pl_text_format(text,
                   "\nLaid out by the compiler's rule: %" PRIu64 " of %" PRIu64
                   " variables get the address of the file\n"
                   "  all addresses are equal on %zu of %zu tiles, the highest one on %zu\n"
                   "  %" PRIu64 " bytes up to the highest addresses, %" PRIu64 " of them live; "
                   "the others:\n",
                   layout->num_equal, layout->num_variables, layout->num_tiles_equal,
                   layout->num_tiles, layout->num_ends_equal, layout->end_bytes,
                   layout->live_bytes);
    for (size_t i = 0; i < PL_NUM_GAPS; i++)
        pl_text_format(text, "  %11" PRIu64 "  %s\n", layout->gap_bytes[i],
                       pl_gap_words((pl_gap)i));
    if (layout->num_tiles_equal < layout->num_tiles)
        pl_text_add(text, "  The file is laid out differently; these are the gaps of the rule, not "
                          "those of the file.\n");
}

/* ---- JSON ---- */

static void put_checks(const popliner_profile *profile, pl_json *json) {
    pl_put_open(json, "checks", '[');
    for (size_t i = 0; i < PL_NUM_RELATIONS; i++) {
        popliner_check check = pl_profile_check_of(profile, (popliner_relation)i);
        pl_put_open(json, NULL, '{');
        pl_put_text(json, "relation", check.name);
        pl_put_number(json, "checked", check.checked);
        pl_put_number(json, "breached", check.breached);
        pl_put_number(json, "largest_bytes", check.largest_bytes);
        pl_put_text(json, "where", check.where);
        pl_put_close(json);
    }
    pl_put_close(json);
}

static void put_layout(const pl_laid_out *layout, pl_json *json) {
    pl_put_open(json, "layout", '{');
    pl_put_number(json, "tiles", layout->num_tiles);
    pl_put_number(json, "tiles_equal", layout->num_tiles_equal);
    pl_put_number(json, "ends_equal", layout->num_ends_equal);
    pl_put_number(json, "variables", layout->num_variables);
    pl_put_number(json, "variables_equal", layout->num_equal);
    pl_put_number(json, "end_bytes", layout->end_bytes);
    pl_put_number(json, "live_bytes", layout->live_bytes);
    pl_put_open(json, "gap_bytes", '{');
    for (size_t i = 0; i < PL_NUM_GAPS; i++)
        pl_put_number(json, pl_gap_name((pl_gap)i), layout->gap_bytes[i]);
    pl_put_close(json);
    pl_put_close(json);
}

/* A program, with the reason why it is missing if there is one. */
static void put_program(const context *c, uint32_t program, const char *reason, pl_json *json) {
    pl_put_open(json, NULL, '{');
    pl_put_number(json, "program", program);
    pl_put_text(json, "name", pl_profile_program_name(c->profile, program));
    if (reason != NULL)
        pl_put_text(json, "reason", reason);
    pl_put_close(json);
}

static void put_programs(const context *c, pl_json *json) {
    const pl_diagnosis *d = c->diagnosis;
    pl_put_open(json, "programs", '[');
    for (size_t i = 0; i < d->num_program_types; i++) {
        const pl_diagnosis_programs *group = &d->programs[i];
        pl_put_open(json, NULL, '{');
        pl_put_text(json, "type", group->type);
        pl_put_number(json, "all", group->num_all);
        pl_put_number(json, "seen", group->num_seen);
        pl_put_open(json, "missing", '[');
        for (size_t k = 0; k < group->num_all - group->num_seen; k++)
            put_program(c, group->missing[k], program_reason(c, group->missing[k]), json);
        pl_put_close(json);
        pl_put_close(json);
    }
    pl_put_close(json);
}

static void put_categories(const pl_diagnosis *d, pl_json *json) {
    pl_put_open(json, "categories", '[');
    for (size_t i = 0; i < d->num_categories; i++) {
        const pl_diagnosis_category *row = &d->categories[i];
        pl_put_open(json, NULL, '{');
        pl_put_text(json, "category", row->name);
        pl_put_number(json, "explained_bytes", row->explained_bytes);
        pl_put_number(json, "truth_bytes", row->truth_bytes);
        pl_put_signed(json, "difference_bytes", (int64_t)(row->explained_bytes - row->truth_bytes));
        pl_put_real(json, "difference_percent",
                    pl_report_percent(row->explained_bytes, row->truth_bytes));
        pl_put_number(json, "tiles_exceeded", row->tiles_exceeded);
        pl_put_close(json);
    }
    pl_put_close(json);
}

/* The first of the programs, of which the array has but three. */
static void put_first_programs(const context *c, const uint32_t first[3], size_t num_programs,
                               pl_json *json) {
    pl_put_number(json, "num_programs", num_programs);
    pl_put_open(json, "programs", '[');
    for (size_t i = 0; i < num_programs && i < 3; i++)
        put_program(c, first[i], NULL, json);
    pl_put_close(json);
}

static void put_reasons(pl_json *json, const pl_missing_reason *reasons, size_t count) {
    pl_put_open(json, "reasons", '[');
    for (size_t i = 0; i < count; i++)
        pl_put_text(json, NULL, pl_missing_reason_text(reasons[i]));
    pl_put_close(json);
}

static void put_parts(const context *c, const pl_missing_variable *v, pl_json *json) {
    pl_put_open(json, "parts", '[');
    for (size_t i = 0; i < v->num_parts && i < c->most; i++) {
        const pl_missing_part *part = &v->parts[i];
        pl_put_open(json, NULL, '{');
        pl_put_text(json, "vertex_type", part->vertex_type);
        pl_put_number(json, "size_bytes", part->size_bytes);
        put_reasons(json, part->reasons, part->num_reasons);
        put_first_programs(c, part->programs, part->num_programs, json);
        pl_put_close(json);
    }
    pl_put_close(json);
}

static void put_missing(const context *c, const pl_missing_variables *list, pl_json *json) {
    pl_put_open(json, "missing_variables", '[');
    for (size_t i = 0; i < list->count && i < c->most; i++) {
        const pl_missing_variable *v = &list->items[i];
        char path[PATH_ROOM];
        find_path(c, v->debug_context, path);
        pl_put_open(json, NULL, '{');
        pl_put_text(json, "name", v->name);
        pl_put_text(json, "category", v->category);
        pl_put_number(json, "size_bytes", v->size_bytes);
        pl_put_text(json, "reason", pl_missing_reason_text(v->reasons[0]));
        put_reasons(json, v->reasons, v->num_reasons);
        put_first_programs(c, v->programs, v->num_programs, json);
        pl_put_text(json, "debug_context", path);
        put_parts(c, v, json);
        pl_put_number(json, "compiler_bytes", v->compiler_bytes);
        pl_put_close(json);
    }
    pl_put_close(json);
}

static void put_coverage(const pl_diagnosis *d, pl_json *json) {
    pl_put_open(json, "coverage", '{');
    pl_put_number(json, "operations", d->told.num_operations);
    pl_put_open(json, "by_note", '{');
    for (size_t i = 0; i < d->num_coverage; i++)
        pl_put_number(json, *d->coverage[i].note == '\0' ? "name" : d->coverage[i].note,
                      d->coverage[i].num_operations);
    pl_put_close(json);
    pl_put_text(json, "suggested_regex", d->told.suggested_regex);
    pl_put_text(json, "suggestion_example", d->told.suggestion_example);
    pl_put_number(json, "suggested_layers", d->told.suggested_layers);
    pl_put_close(json);
}

static void put_bottleneck(const context *c, pl_json *json) {
    const pl_diagnosis *d = c->diagnosis;
    pl_put_open(json, "bottleneck", '{');
    pl_put_number(json, "tile", d->told.tile);
    pl_put_number(json, "step", d->told.step);
    pl_put_number(json, "truth_bytes", d->told.truth_bytes);
    pl_put_number(json, "explained_bytes", d->told.explained_bytes);
    pl_put_signed(json, "unexplained_bytes",
                  (int64_t)(d->told.truth_bytes - d->told.explained_bytes));
    pl_put_real(json, "difference_percent",
                pl_report_percent(d->told.explained_bytes, d->told.truth_bytes));
    pl_put_text(json, "program", d->told.program_name);
    put_missing(c, &d->missing_here, json);
    pl_put_close(json);
    pl_put_open(json, "model_bottleneck", '{');
    pl_put_number(json, "tile", d->told.model_tile);
    pl_put_number(json, "step", d->told.model_step);
    pl_put_number(json, "bytes", d->told.model_bytes);
    pl_put_close(json);
    pl_put_index(json, "tiles_off", d->told.tiles_off);
}

static void put_diagnosis(const context *c, pl_json *json) {
    const pl_diagnosis *d = c->diagnosis;
    pl_put_open(json, NULL, '{');
    pl_put_text(json, "memory_model", pl_memory_model_find(d->told.model)->name);
    pl_put_flag(json, "layer_operations_only", d->told.layer_operations_only);
    put_bottleneck(c, json);
    put_categories(d, json);
    put_programs(c, json);
    put_missing(c, &d->missing_everywhere, json);
    put_coverage(d, json);
    put_checks(c->profile, json);
    put_layout(&d->layout, json);
    pl_put_close(json);
}

popliner_status popliner_report_diagnosis(const popliner_diagnosis *callers, popliner_format format,
                                          size_t max_rows, char **result, popliner_error *error) {
    const pl_diagnosis *diagnosis = (const pl_diagnosis *)callers;
    const context c = {diagnosis,       diagnosis->profile,      diagnosis->operations,
                       diagnosis->info, diagnosis->option_names, max_rows};
    pl_text text = {0};
    if (format == POPLINER_FORMAT_JSON) {
        put_diagnosis(&c, &(pl_json){.text = &text});
    } else {
        pl_text_format(&text, "Memory model: %s%s\n\n",
                       pl_memory_model_find(diagnosis->told.model)->name,
                       diagnosis->told.layer_operations_only ? ", operations in layers only" : "");
        write_programs(&c, &text);
        write_categories(&c, &text);
        write_bottleneck(&c, &text);
        write_coverage(&c, &text);
        write_checks(&c, &text);
        write_layout(&diagnosis->layout, &text);
    }
    return pl_text_finish_printable(&text, POPLINER_OK, result, error);
}
