/* The files that popliner_solver_write makes, as other solvers read them: glpsol and CBC find the
 * same optimum as brute force, or as the dynamic program where there are too many splits. Every
 * kind of request; numbers have fractions.
 *
 * A failure prints its instance and what makes it: "popliner_tests program_files KIND SEED" asks
 * again.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "brute_force.h"
#include "plain_options.h"
#include "random_instance.h"
#include "test_data.h"

#include "popliner/solver.h"
#include "solve/objective.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* ---- the other solvers ---- */

enum { MOST_CHOSEN = 64 };

/* A stage that a solver has chosen. */
typedef struct chosen {
    unsigned long place;
    unsigned long first_unit;
    unsigned long last_unit;
} chosen;

/* What a solver answers. */
typedef struct reply {
    bool exists; /* there is a solution, and it is proven to be the best */
    double objective;
    chosen stages[MOST_CHOSEN];
    size_t num_stages;
} reply;

typedef struct reader {
    const char *name;
    popliner_program_format format;
    bool is_cbc; /* else glpsol */
} reader;

/* Adds the column z_K_I_J. */
static void add_chosen(reply *r, const char *name) {
    chosen c;
    if (sscanf(name, "z_%lu_%lu_%lu", &c.place, &c.first_unit, &c.last_unit) != 3)
        return;
    assert_true(r->num_stages < MOST_CHOSEN);
    r->stages[r->num_stages++] = c;
}

/* "Optimal - objective value 5.5", then lines "2 z_0_0_1 1 0". */
static void read_cbc(FILE *file, reply *r) {
    char line[200];
    char name[80];
    double value;
    assert_non_null(fgets(line, sizeof line, file));
    r->exists = sscanf(line, "Optimal - objective value %lf", &r->objective) == 1;
    while (fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "%*s %79s %lf", name, &value) == 2 && value > 0.5)
            add_chosen(r, name);
}

/* "s mip 8 4 o 5.5"; the status is o where that is the best. */
static void read_glpsol(FILE *file, reply *r) {
    char line[200];
    char status = 'u';
    while (fgets(line, sizeof line, file) != NULL)
        if (sscanf(line, "s mip %*s %*s %c %lf", &status, &r->objective) == 2)
            break;
    r->exists = status == 'o';
}

static const reader readers[] = {
    {"glpsol and LP", POPLINER_PROGRAM_LP, false},
    {"CBC and MPS", POPLINER_PROGRAM_MPS, true},
    {"glpsol and MPS", POPLINER_PROGRAM_MPS, false},
    {"CBC and LP", POPLINER_PROGRAM_LP, true},
};

enum { NUM_READERS = sizeof readers / sizeof *readers };

static bool is_there(const char *program) {
    char command[60];
    snprintf(command, sizeof command, "command -v %s >/dev/null 2>&1", program);
    return system(command) == 0;
}

/* ---- instances ---- */

typedef struct kind {
    const char *name;
    instance_wish wish;
    size_t num_instances;
} kind;

static const kind kinds[] = {
    {"limits", {MEMORY_LIMIT | FRACTIONS, IPU_LIMITS, 1, 1}, 100},
    {"cuts", {CUT_RULES | FRACTIONS, MEMORY_LIMIT | NUM_UNITS, 1, 1}, 80},
    {"pairs", {PAIRS | FRACTIONS, MEMORY_LIMIT | DEVICE_MAP, 1, 1}, 60},
    {"placements", {PLACEMENTS | FRACTIONS, MEMORY_LIMIT | DEVICE_MAP, 1, 1}, 60},
    {"schedules", {PIPELINE | FRACTIONS, MEMORY_LIMIT | IPU_LIMITS | CUT_RULES, 1, 1}, 100},
    {"maps", {DEVICE_MAP | FRACTIONS, CONSTRAINTS | MEMORY_LIMIT | PIPELINE, 1, 1}, 60},
    {"whole_numbers", {0, CONSTRAINTS | MEMORY_LIMIT | PIPELINE | DEVICE_MAP, 1, 1}, 60},
    {"speeds", {SPEEDS | FRACTIONS, MEMORY_LIMIT | DEVICE_MAP, 1, 1}, 150},
    {"links", {LINKS | FRACTIONS, MEMORY_LIMIT | DEVICE_MAP | PIPELINE, 1, 1}, 150},
    {"links_and_speeds", {LINKS | SPEEDS | FRACTIONS, MEMORY_LIMIT | DEVICE_MAP, 1, 1}, 60},
    {"everything",
     {FRACTIONS, CONSTRAINTS | MEMORY_LIMIT | IPU_LIMITS | PIPELINE | DEVICE_MAP, 1, 1},
     100},
};

enum { NUM_KINDS = sizeof kinds / sizeof *kinds };

static size_t ipu_of(const popliner_solver_options *o, size_t stage) {
    return o->num_mapped_stages > 0 ? o->device_map[stage] : stage;
}

/* The cycles of a stage on its IPU, which its place in the chain tells, and of its cuts. */
static uint64_t cycles_of(const popliner_costs *costs, const popliner_solver_options *o,
                          const reply *r, const chosen *c) {
    uint64_t cycles = popliner_costs_cycles(costs, c->first_unit, c->last_unit);
    uint64_t on_links = 0;
    size_t stage = 0;
    for (size_t i = 0; i < r->num_stages; ++i)
        stage += r->stages[i].first_unit < c->first_unit;
    size_t ipu = ipu_of(o, stage);
    if (c->first_unit > 0)
        on_links += brute_link_cycles(o, ipu_of(o, stage - 1), ipu,
                                      popliner_costs_cut(costs, c->first_unit));
    if (stage + 1 < r->num_stages)
        on_links += brute_link_cycles(o, ipu, ipu_of(o, stage + 1),
                                      popliner_costs_cut(costs, c->last_unit + 1));
    for (size_t i = 0; i < o->num_ipu_speeds; ++i) {
        uint64_t speed = o->ipu_speeds[i].value;
        if (o->ipu_speeds[i].ipu == ipu)
            cycles = cycles / speed * 1000000 + (cycles % speed * 1000000 + speed - 1) / speed;
    }
    return cycles + on_links;
}

/* What the stages chosen by CBC are worth by the table of costs, where that is easily told; else
 * UINT64_MAX. */
static uint64_t value_of(const popliner_costs *costs, const popliner_solver_options *o,
                         popliner_objective objective, const reply *r) {
    uint64_t slowest = 0;
    uint64_t sum = 0;
    for (size_t i = 0; i < r->num_stages; ++i) {
        const chosen *c = &r->stages[i];
        uint64_t cycles = cycles_of(costs, o, r, c);
        slowest = cycles > slowest ? cycles : slowest;
        sum += c->first_unit > 0 ? popliner_costs_cut(costs, c->first_unit) : 0;
    }
    if (r->num_stages == 0)
        return UINT64_MAX;
    if (objective == POPLINER_OBJECTIVE_TRAFFIC)
        return sum;
    if (objective == POPLINER_OBJECTIVE_IPUS && o->device_map == NULL)
        return r->num_stages;
    return objective == POPLINER_OBJECTIVE_CYCLES ? slowest : UINT64_MAX;
}

/* Lets one solver read what was written as path.lp and path.mps. */
static reply solve_file(const reader *with, const char *path) {
    char command[800];
    char solution[300];
    reply r = {0};
    bool is_lp = with->format == POPLINER_PROGRAM_LP;
    snprintf(solution, sizeof solution, "%s.solution", path);
    unlink(solution);
    if (with->is_cbc)
        snprintf(command, sizeof command, "cbc %s.%s solve solu %s -quit >%s.log 2>&1", path,
                 is_lp ? "lp" : "mps", solution, path);
    else
        snprintf(command, sizeof command, "glpsol --%s %s.%s -w %s >%s.log 2>&1",
                 is_lp ? "lp" : "freemps", path, is_lp ? "lp" : "mps", solution, path);
    int status = system(command);
    FILE *file = fopen(solution, "r");
    if (file == NULL)
        fail_msg("%s: status %d", command, status);
    if (with->is_cbc)
        read_cbc(file, &r);
    else
        read_glpsol(file, &r);
    fclose(file);
    return r;
}

static void write_one(const popliner_costs *costs, const popliner_solver_options *options,
                      popliner_program_format format, const char *path, popliner_status expected) {
    char file[300];
    popliner_error error = {.message = ""};
    snprintf(file, sizeof file, "%s.%s", path, format == POPLINER_PROGRAM_LP ? "lp" : "mps");
    /* an answer that is there already makes no difference, whoever found it and with any slack */
    popliner_plan *plan = NULL;
    popliner_solver_options solving = *options;
    solving.slack_percent = format == POPLINER_PROGRAM_MPS ? 30 : 0;
    if (expected == POPLINER_OK && options->should_stop == NULL && options->num_ipus % 2 == 0)
        assert_int_equal(popliner_solve(costs, &solving, &plan, NULL), POPLINER_OK);
    popliner_status status =
        plan != NULL ? popliner_solver_write(costs, options, plan, format, file, &error)
                     : popliner_solver_write(costs, options, NULL, format, file, &error);
    popliner_plan_free(plan);
    if (status != expected)
        fail_msg("%s: status %d: %s", file, (int)status, error.message);
}

static void write_both(const popliner_costs *costs, const popliner_solver_options *options,
                       const char *path, popliner_status expected) {
    write_one(costs, options, POPLINER_PROGRAM_LP, path, expected);
    write_one(costs, options, POPLINER_PROGRAM_MPS, path, expected);
}

/* Whether a solver's value is the right one. Values are whole numbers; those of sums that do not
 * fit into 64 bits are cut off at the largest one but one. */
static bool is_right(double value, double right) {
    if (right >= (double)(UINT64_MAX - 1))
        return value >= right;
    return fabs(value - right) <= 1e-7 * right + 0.01;
}

/* What all readers say of what was written; "" if it is this value, or, without one, that there is
 * no solution. */
static void compare(const popliner_costs *costs, const popliner_solver_options *options,
                    popliner_objective objective, const char *path, const uint64_t *value,
                    char difference[200]) {
    difference[0] = '\0';
    for (size_t i = 0; i < NUM_READERS && difference[0] == '\0'; ++i) {
        reply r = solve_file(&readers[i], path);
        if (r.exists != (value != NULL))
            snprintf(difference, 200, "%s: %s solution", readers[i].name, r.exists ? "a" : "no");
        else if (r.exists && !is_right(r.objective, (double)*value))
            snprintf(difference, 200, "%s: %.17g instead of %" PRIu64, readers[i].name, r.objective,
                     *value);
        else if (r.exists && value_of(costs, options, objective, &r) != UINT64_MAX &&
                 !is_right((double)value_of(costs, options, objective, &r), (double)*value))
            snprintf(difference, 200, "%s: its stages are worth %" PRIu64 " instead of %" PRIu64,
                     readers[i].name, value_of(costs, options, objective, &r), *value);
    }
}

static bool is_empty(const popliner_costs *costs, const popliner_solver_options *options,
                     const char *path) {
    popliner_error error = {.message = ""};
    popliner_status status =
        popliner_solver_write(costs, options, NULL, POPLINER_PROGRAM_LP, path, &error);
    return status == POPLINER_ERROR_USAGE &&
           strstr(error.message, "there is no integer program") != NULL;
}

/* Whether it is feasible. */
static bool check_instance(const kind *k, uint64_t seed, const char *path) {
    instance in;
    char difference[200];
    draw_instance(&k->wish, seed, &in);
    brute_answer expected = brute_force(in.costs, &in.options);
    popliner_objective objective = expected.objectives[0];
    bool is_feasible = expected.status == POPLINER_PLAN_OPTIMAL;
    if (is_feasible || !is_empty(in.costs, &in.options, path)) {
        write_both(in.costs, &in.options, path, POPLINER_OK);
        compare(in.costs, &in.options, objective, path, is_feasible ? &expected.bounds[0] : NULL,
                difference);
        if (difference[0] != '\0') {
            print_error("program_files_test %s %" PRIu64 "\n", k->name, seed);
            print_instance(&in);
            fail_msg("%s: %s", pl_objective_name(objective), difference);
        }
    }
    free_instance(&in);
    return is_feasible;
}

static void skip_without_solvers(void) {
    if (!test_has_glpk())
        test_skip("this build has no GLPK, which writes programs");
    if (is_there("glpsol") && is_there("cbc"))
        return;
    test_skip("there is no glpsol or no cbc (Debian: glpk-utils, coinor-cbc)");
}

static char *program_path(void **state) {
    return test_path(*state, "program");
}

static void other_solvers_find_the_same_optimum(void **state) {
    skip_without_solvers();
    char *path = program_path(state);
    size_t num_feasible = 0;
    size_t num_taken = 0;
    for (size_t i = 0; i < NUM_KINDS; ++i)
        for (uint64_t seed = 0; seed < kinds[i].num_instances; ++seed) {
            if (!test_takes_case(seed, 50))
                continue;
            ++num_taken;
            num_feasible += check_instance(&kinds[i], seed, path);
        }
    assert_met(num_feasible >= num_taken / 2);
    free(path);
}

/* A chain whose units add up, with nine digits behind the point. */
static popliner_costs *draw_chain(size_t num_units, uint64_t *random) {
    popliner_costs *costs;
    assert_int_equal(popliner_costs_create(num_units, 1, &costs, NULL), POPLINER_OK);
    for (size_t i = 0; i < num_units; ++i) {
        uint64_t cut_bytes = test_below(random, 1000000000) * 7;
        popliner_costs_set_cut(costs, i > 0 ? i : num_units, cut_bytes, NULL);
    }
    for (int of_cycles = 0; of_cycles < 2; ++of_cycles) {
        uint64_t before[100] = {0};
        for (size_t i = 0; i < num_units; ++i)
            before[i + 1] = before[i] + 1 + test_below(random, 1000000000) * (1 + i % 5);
        for (size_t i = 0; i < num_units; ++i)
            for (size_t j = i; j < num_units; ++j) {
                uint64_t sum = before[j + 1] - before[i];
                if (of_cycles)
                    popliner_costs_set_cycles(costs, i, j, sum, NULL);
                else
                    popliner_costs_set_peak(costs, i, j, 1, sum, NULL);
            }
    }
    return costs;
}

/* As many splits as brute force could not look at: against the dynamic program. */
static void longer_chains_have_the_same_optimum(void **state) {
    static const popliner_objective objectives[] = {
        POPLINER_OBJECTIVE_MEMORY, POPLINER_OBJECTIVE_CYCLES, POPLINER_OBJECTIVE_TRAFFIC,
        POPLINER_OBJECTIVE_BALANCE};
    skip_without_solvers();
    char *path = program_path(state);
    uint64_t random = 5;
    for (size_t i = 0; i < 80; ++i) {
        popliner_objective objective = objectives[i % 4];
        /* the spread says little to a relaxation */
        size_t num_units =
            objective == POPLINER_OBJECTIVE_BALANCE ? 10 + i % 5 : 20 + test_below(&random, 40);
        popliner_costs *costs = draw_chain(num_units, &random);
        popliner_solver_options options = PLAIN_SOLVER_OPTIONS;
        popliner_plan *plan;
        char difference[200] = "";
        options.method = POPLINER_METHOD_DYNAMIC_PROGRAMMING;
        options.objectives = &objective;
        options.num_objectives = 1;
        options.num_ipus = 3 + test_below(&random, 5);
        options.mem_per_tile = popliner_costs_peak(costs, 0, num_units / 3, 1);
        if (objective == POPLINER_OBJECTIVE_BALANCE)
            options.min_units = 2; /* else one stage is best */
        if (test_takes_case(i, 9)) {
            assert_int_equal(popliner_solve(costs, &options, &plan, NULL), POPLINER_OK);
            bool is_feasible = plan->status == POPLINER_PLAN_OPTIMAL;
            uint64_t value = plan->values[0].value;
            if (is_feasible || !is_empty(costs, &options, path)) {
                write_both(costs, &options, path, POPLINER_OK);
                compare(costs, &options, objective, path, is_feasible ? &value : NULL, difference);
            }
            popliner_plan_free(plan);
        }
        if (difference[0] != '\0')
            fail_msg("chain %zu of %zu units, %s: %s", i, num_units, pl_objective_name(objective),
                     difference);
        popliner_costs_free(costs);
    }
    free(path);
}

/* ---- stopped ---- */

static bool says(const char *path, const char *what) {
    char file[300];
    size_t size;
    snprintf(file, sizeof file, "%s.lp", path);
    char *bytes = (char *)test_read_bytes(file, &size);
    char *text = strndup(bytes, size);
    bool is_there = strstr(text, what) != NULL;
    free(bytes);
    free(text);
    return is_there;
}

/* However little is known when a solve is stopped, a program is written, says so, and has the
 * optimum. */
static void stopped_solves_are_written(void **state) {
    static const instance_wish stopped = {MEMORY_LIMIT | FRACTIONS,
                                          CUT_RULES | PIPELINE | SPEEDS | LINKS, 1, 1};
    skip_without_solvers();
    char *path = program_path(state);
    size_t num_stopped = 0;
    for (uint64_t seed = 0; seed < 80; ++seed) {
        instance in;
        char difference[200] = "";
        draw_instance(&stopped, seed, &in);
        brute_answer expected = brute_force(in.costs, &in.options);
        size_t left = seed % 9;
        in.options.should_stop = test_stop_after;
        in.options.should_stop_user = &left;
        bool is_asked = test_takes_case(seed, 10) && expected.status == POPLINER_PLAN_OPTIMAL &&
                        expected.objectives[0] != POPLINER_OBJECTIVE_BALANCE;
        if (is_asked) {
            write_one(in.costs, &in.options, POPLINER_PROGRAM_LP, path, POPLINER_OK);
            left = seed % 9;
            write_one(in.costs, &in.options, POPLINER_PROGRAM_MPS, path, POPLINER_OK);
            num_stopped += says(path, "the search was stopped");
            compare(in.costs, &in.options, expected.objectives[0], path, &expected.bounds[0],
                    difference);
        }
        if (difference[0] != '\0') {
            print_instance(&in);
            fail_msg("instance %" PRIu64 ": %s", seed, difference);
        }
        free_instance(&in);
    }
    assert_met(num_stopped >= 1);
    free(path);
}

int main(void) {
    uint64_t seed;
    const struct CMUnitTest tests[] = {
        IN_DIRECTORY(other_solvers_find_the_same_optimum),
        IN_DIRECTORY(longer_chains_have_the_same_optimum),
        IN_DIRECTORY(stopped_solves_are_written),
    };
    for (size_t i = 0; i < NUM_KINDS; ++i)
        if (test_replays(kinds[i].name, &seed))
            return check_instance(&kinds[i], seed, "program") ? 0 : 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
