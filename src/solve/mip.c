/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solve/mip.h"

#include "base/growth.h"

#include <stdlib.h>

void pl_mip_clear(pl_mip *program) {
    free(program->rows);
    free(program->columns);
    free(program->entries);
    *program = (pl_mip){0};
}

bool pl_mip_add_row(pl_mip *program, double lower, double upper) {
    if (!pl_grow(&program->rows, &program->row_capacity, program->num_rows + 1,
                 sizeof *program->rows))
        return false;
    program->rows[program->num_rows++] = (pl_mip_row){lower, upper};
    return true;
}

bool pl_mip_add_column(pl_mip *program, bool binary, double cost) {
    if (!pl_grow(&program->columns, &program->column_capacity, program->num_columns + 1,
                 sizeof *program->columns))
        return false;
    program->columns[program->num_columns++] = (pl_mip_column){binary, cost};
    return true;
}

bool pl_mip_add_entry(pl_mip *program, size_t row, size_t column, double value) {
    if (!pl_grow(&program->entries, &program->entry_capacity, program->num_entries + 1,
                 sizeof *program->entries))
        return false;
    program->entries[program->num_entries++] = (pl_mip_entry){row, column, value};
    return true;
}
