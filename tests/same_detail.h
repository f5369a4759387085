/* Whether two measurements of a stage agree.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_TESTS_SAME_DETAIL_H
#define PL_TESTS_SAME_DETAIL_H

#include "popliner/stage.h"

/* Asserts that two details are the same in every part, with their variables' numbers and texts. */
void assert_same_detail(const popliner_stage_detail *a, const popliner_stage_detail *b);

#endif
