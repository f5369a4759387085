/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "same_detail.h"

#include "test.h"

void assert_same_detail(const popliner_stage_detail *a, const popliner_stage_detail *b) {
    assert_int_equal(a->total_bytes, b->total_bytes);
    for (int part = 0; part < POPLINER_NUM_PARTS; part++)
        assert_int_equal(a->part_bytes[part], b->part_bytes[part]);
    assert_int_equal(a->tile, b->tile);
    assert_int_equal(a->tile_bytes, b->tile_bytes);
    assert_int_equal(a->tile_unexplained_bytes, b->tile_unexplained_bytes);
    assert_int_equal(a->tile_stash_bytes, b->tile_stash_bytes);
    assert_int_equal(a->tile_layout_bytes, b->tile_layout_bytes);
    assert_int_equal(a->tile_always_live_bytes, b->tile_always_live_bytes);
    assert_int_equal(a->tile_live_bytes, b->tile_live_bytes);
    assert_int_equal(a->tile_code_bytes, b->tile_code_bytes);
    assert_int_equal(a->tile_buffer_bytes, b->tile_buffer_bytes);
    assert_int_equal(a->tile_accumulator_bytes, b->tile_accumulator_bytes);
    assert_int_equal(a->step, b->step);
    assert_int_equal(a->num_variables, b->num_variables);
    for (size_t i = 0; i < a->num_variables; i++) {
        assert_int_equal(a->variables[i].variable, b->variables[i].variable);
        assert_int_equal(a->variables[i].size_bytes, b->variables[i].size_bytes);
        assert_string_equal(a->variables[i].name, b->variables[i].name);
        assert_string_equal(a->variables[i].category, b->variables[i].category);
    }
    for (int need = 0; need < POPLINER_NUM_NEEDS; need++)
        assert_int_equal(a->need_bytes[need], b->need_bytes[need]);
}
