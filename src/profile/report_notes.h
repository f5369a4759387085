/* Notes that a framework and an application leave beside a profile: framework.json and app.json.
 * No document says what is in them, so they are kept as rows of a name and a value.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_PROFILE_REPORT_NOTES_H
#define PL_PROFILE_REPORT_NOTES_H

#include "popliner/error.h"
#include "popliner/listener.h"
#include "popliner/profile.h"

/* What a value is, in popliner_profile.note_kind. */
typedef enum pl_note_kind {
    PL_NOTE_NONE, /* null, or a list or an object without members */
    PL_NOTE_TEXT,
    PL_NOTE_NUMBER, /* whole, of at most PL_NOTE_MOST_NUMBER: others are texts */
    PL_NUM_NOTE_KINDS,
} pl_note_kind;

/* What every reader of JSON takes a number for. */
#define PL_NOTE_MOST_NUMBER (INT64_C(1) << 53)

/* By the file, in popliner_profile.note_group: "framework", "app". */
enum { PL_NUM_NOTE_GROUPS = 2 };
extern const char *const pl_note_groups[PL_NUM_NOTE_GROUPS];

/* Reads the files beside the profile at `profile_path` into the profile, which is being read: a row
 * for each value, its name the keys and the places in lists that lead to it, with points between.
 * A file that is not there has no rows. Neither has one that cannot be read, is larger than a MiB
 * or is no JSON: the listener is warned, once, by its name, as it is of more values than are kept.
 * Errors: MEMORY. */
popliner_status pl_report_notes_read(const char *profile_path, const popliner_listener *listener,
                                     popliner_profile *profile, popliner_error *error);

#endif
