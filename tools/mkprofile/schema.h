/* The tables and indices of profile.pop, schema 3.8.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MK_SCHEMA_H
#define MK_SCHEMA_H

/* The statements that create them, NULL behind the last. */
extern const char *const mk_schema[];

#endif
