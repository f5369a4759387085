/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "sections/cells.h"

#include <stdlib.h>

void pl_cells_add(pl_cells *cells, pl_cell cell) {
    if (cells->failed ||
        !pl_grow(&cells->items, &cells->capacity, cells->count + 1, sizeof *cells->items)) {
        cells->failed = true;
        return;
    }
    cells->items[cells->count++] = cell;
}

void pl_cells_add_text(pl_cells *cells, const char *value) {
    size_t number = value == NULL ? 0 : pl_names_number(&cells->names, value);
    if (number == SIZE_MAX)
        cells->failed = true;
    else
        pl_cells_add(cells, (pl_cell){value == NULL ? PL_CELL_NONE : PL_CELL_TEXT, {number}});
}

void pl_cells_clear(pl_cells *cells) {
    free(cells->items);
    pl_names_free(&cells->names);
    *cells = (pl_cells){0};
}
