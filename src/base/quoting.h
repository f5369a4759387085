/* Texts that come from files, written so that they are read back as they are.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_BASE_QUOTING_H
#define PL_BASE_QUOTING_H

#include "base/growth.h"

/* What stands for bytes that are no valid UTF-8: U+FFFD. */
#define PL_REPLACEMENT "\xef\xbf\xbd"

/* Adds a text as a JSON string, within quotes. Characters that a terminal would obey are escaped;
 * invalid bytes are replaced. */
void pl_quote_json(pl_text *text, const char *value);

#endif
