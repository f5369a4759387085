/* The page without its data: what src/show/page/assemble.cmake makes of the files beside it.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SHOW_PAGE_PARTS_H
#define PL_SHOW_PAGE_PARTS_H

/* Line by line, with the line ends; NULL behind the last one. */
extern const char *const pl_page_before_data[];
extern const char *const pl_page_behind_data[];

#endif
