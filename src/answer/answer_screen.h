/* Parts of the report of an answer.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_ANSWER_ANSWER_SCREEN_H
#define PL_ANSWER_ANSWER_SCREEN_H

#include "base/layout.h"
#include "popliner/certificate.h"

/* Adds the stages of a certificate that is measured: bars of what each needs, with a line up to
 * what it needs at most, and its limit. */
void pl_certificate_add_bars(const popliner_certificate *certificate, pl_layout *layout);

#endif
