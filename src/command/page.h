/* --html: the page of a profile, and of a plan of it.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COMMAND_PAGE_H
#define PL_COMMAND_PAGE_H

#include "command/session.h"
#include "popliner/certificate.h"
#include "popliner/changes.h"

/* Writes the page, if one was asked for and none was written. It begins with the split of the
 * certificate, or with the best one if that is NULL, and shows the comparison if there is one. */
popliner_status write_page(session *s, const popliner_certificate *certificate,
                           const popliner_changes *changes, popliner_error *error);

#endif
