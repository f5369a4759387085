/* Products and ratios against sums that are small enough to be known, and against each other.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "test.h"

#include "base/numbers.h"

static pl_product of(uint64_t a, uint64_t b) {
    return pl_product_of((const uint64_t[]){a, b}, 2);
}

static void small_products_are_exact(void **state) {
    (void)state;
    uint64_t random = 5;
    for (size_t i = 0; i < 20000; i++) {
        uint64_t a = test_below(&random, (size_t)1 << 31);
        uint64_t b = test_below(&random, (size_t)1 << 31);
        uint64_t c = test_below(&random, (size_t)1 << 31) + 1;
        pl_product product = of(a, b);
        assert_int_equal(product.digits[0] | (uint64_t)product.digits[1] << 32, a * b);
        assert_int_equal(pl_ratio_up((const uint64_t[]){a, b}, 2, &c, 1), (a * b + c - 1) / c);
    }
}

static void large_products_are_compared(void **state) {
    (void)state;
    const uint64_t most = UINT64_MAX;
    /* (2^64 - 1)^2 = 2^128 - 2^65 + 1 */
    pl_product square = of(most, most);
    static const uint32_t digits[] = {1, 0, 0xfffffffe, 0xffffffff, 0};
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(square.digits[i], digits[i]);
    const uint64_t six[] = {most, most, most, most, most, most};
    const uint64_t less[] = {most, most, most - 1, most, most, most};
    pl_product a = pl_product_of(six, 6);
    pl_product b = pl_product_of(less, 6);
    assert_int_equal(pl_product_compare(&a, &b), 1);
    assert_int_equal(pl_product_compare(&b, &a), -1);
    assert_int_equal(pl_product_compare(&a, &a), 0);
    /* the order of factors does not matter */
    uint64_t random = 9;
    for (size_t i = 0; i < 2000; i++) {
        uint64_t factors[6];
        uint64_t turned[6];
        for (size_t k = 0; k < 6; k++)
            factors[k] = turned[5 - k] = random = test_random(random);
        a = pl_product_of(factors, 6);
        b = pl_product_of(turned, 6);
        assert_int_equal(pl_product_compare(&a, &b), 0);
        /* and what is multiplied with divides again */
        assert_int_equal(pl_ratio_up(factors, 6, factors, 5), factors[5]);
    }
}

static void ratios_have_bounds(void **state) {
    (void)state;
    const uint64_t most = UINT64_MAX;
    const uint64_t one = 1;
    const uint64_t two = 2;
    const uint64_t zero = 0;
    assert_int_equal(pl_ratio_up(NULL, 0, NULL, 0), 1);
    assert_int_equal(pl_ratio_up(&zero, 1, &two, 1), 0);
    assert_int_equal(pl_ratio_up(&one, 1, &two, 1), 1);
    assert_int_equal(pl_ratio_up(&most, 1, &one, 1), most);
    assert_int_equal(pl_ratio_up((const uint64_t[]){most, 3}, 2, &two, 1), most);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(small_products_are_exact),
        cmocka_unit_test(large_products_are_compared),
        cmocka_unit_test(ratios_have_bounds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
