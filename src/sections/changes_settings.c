/* What is no quantity of two profiles: versions, the device, options of the engine.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "sections/changes_data.h"

/* A summary with the columns that settings are made of. */
typedef struct side {
    const pl_sheet *sheet;
    size_t group;
    size_t name;
    size_t value;
} side;

static side side_of(const pl_sheet *sheet) {
    return (side){sheet, pl_kept_column(sheet, "group"), pl_kept_column(sheet, "name"),
                  pl_kept_column(sheet, "value")};
}

/* The other groups are quantities, or numbers of tiles. */
static bool is_setting(const side *s, size_t row) {
    static const char *const groups[] = {"version", "device", "cycles", "engine_option"};
    const char *group = pl_kept_text(s->sheet, row, s->group);
    for (size_t i = 0; i < sizeof groups / sizeof *groups; i++)
        if (strcmp(group, groups[i]) == 0)
            return true;
    return false;
}

static const char *value_of(popliner_changes *c, const side *s, size_t row) {
    return pl_kept_cell(s->sheet, row, s->value)->kind == PL_CELL_NONE
               ? NULL
               : pl_changes_row_name(c, s->sheet, row, s->value);
}

bool pl_setting_is_change(const popliner_setting_change *setting) {
    const popliner_setting_change *s = setting;
    if (s->presence != POPLINER_ON_BOTH_SIDES || (s->before == NULL) != (s->now == NULL))
        return true;
    return s->before != NULL && strcmp(s->before, s->now) != 0;
}

/* Adds a row of one side or of both. SIZE_MAX: there is none. */
static void add(popliner_changes *c, const side *sides, size_t before, size_t now) {
    const side *own = &sides[now == SIZE_MAX ? PL_BEFORE : PL_NOW];
    const size_t row = now == SIZE_MAX ? before : now;
    if (!is_setting(own, row))
        return;
    popliner_setting_change *s = &c->settings[c->num_settings++];
    *s = (popliner_setting_change){
        .group = pl_changes_row_name(c, own->sheet, row, own->group),
        .name = pl_changes_row_name(c, own->sheet, row, own->name),
        .presence = now == SIZE_MAX      ? POPLINER_ONLY_BEFORE
                    : before == SIZE_MAX ? POPLINER_ONLY_NOW
                                         : POPLINER_ON_BOTH_SIDES,
        .before = before == SIZE_MAX ? NULL : value_of(c, &sides[PL_BEFORE], before),
        .now = now == SIZE_MAX ? NULL : value_of(c, &sides[PL_NOW], now),
    };
    c->num_settings_changed += pl_setting_is_change(s);
}

void pl_changes_add_settings(popliner_changes *changes, const pl_sheet *before,
                             const pl_sheet *now) {
    static const pl_pairing facts = {NULL, "group", "name"};
    popliner_changes *c = changes;
    const side sides[PL_NUM_SIDES] = {side_of(before), side_of(now)};
    const size_t num_before = pl_kept_num_rows(before);
    const size_t num_now = pl_kept_num_rows(now);
    size_t *match = pl_new_array(num_now, sizeof *match);
    bool *is_matched = pl_new_array(num_before, sizeof *is_matched);
    c->settings = pl_new_array(num_before + num_now, sizeof *c->settings);
    c->failed = c->failed || match == NULL || is_matched == NULL || c->settings == NULL ||
                !pl_changes_match_rows(&facts, before, now, match, is_matched);
    for (size_t row = 0; !c->failed && row < num_now; row++)
        add(c, sides, match[row], row);
    for (size_t row = 0; !c->failed && row < num_before; row++)
        if (!is_matched[row])
            add(c, sides, row, SIZE_MAX);
    free(is_matched);
    free(match);
}

const popliner_setting_change *popliner_changes_setting_at(const popliner_changes *changes,
                                                           size_t i) {
    return i < changes->num_settings ? &changes->settings[i] : NULL;
}

size_t popliner_changes_num_settings_changed(const popliner_changes *changes) {
    return changes->num_settings_changed;
}
