/* popliner-bench-solver [--methods] [RUNS]: how long the solver takes, on made-up chains that are
 * like real ones: units of a few types, whose code a stage needs once; bytes of their own;
 * activations of which the largest counts. Prints a Markdown table, and one of interleaved
 * pipelines. Each instance runs in a process of its own, so that its peak memory is its own, too.
 * With --methods, other instances by each method, side by side.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "popliner/costs.h"
#include "popliner/solver.h"

#include <inttypes.h>
#include <math.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    MOST_UNITS = 5000,
    MOST_STAGES = 256,
    NUM_TYPES = 24,
    TYPES_OF_UNIT = 3,
    MOST_OBJECTIVES = 3,
    MOST_MAPPED = 32
};

/* Where the costs come from. */
typedef enum source {
    FROM_TABLE,   /* a table, and a function for what stages on one IPU need */
    EQUAL_LAYERS, /* a file: an embedding, layers that are equal, a head */
    RANDOM_UNITS, /* a file: the units of the table, without live bytes */
} source;

/* What each unit needs. */
typedef struct chain {
    size_t num_units;
    uint64_t own_bytes[MOST_UNITS];
    uint64_t live_bytes[MOST_UNITS]; /* while it runs: of these the largest counts */
    uint64_t out_bytes[MOST_UNITS];  /* the activation that it hands on */
    uint64_t cycles[MOST_UNITS];
    uint32_t types[MOST_UNITS]; /* a bit for each */
    uint64_t code_bytes[NUM_TYPES];
} chain;

typedef struct benchmark {
    const char *name;
    const char *target; /* what is asked for, "" if nothing is */
    size_t num_units;
    size_t max_stages;
    popliner_objective objectives[MOST_OBJECTIVES];
    size_t num_objectives;
    size_t device_map[MOST_MAPPED];
    size_t num_mapped;
    double call_seconds; /* what a call for the peak of stages that share an IPU takes */
    bool is_training;
    /* the limit, in per cent of an even share of the units' own bytes; 0 for none */
    unsigned limit_percent;
    bool is_file;      /* costs of a file that trains, where units add up */
    bool limits_each;  /* each IPU has a limit of its own, about four times an even share */
    bool places_first; /* the first unit has to be on the first IPU, where it is anyway */
    source source;
    size_t num_ipus; /* with several stages on each: 0,1,2,...,0,1,2,... */
    size_t num_rounds;
    double limit_seconds;
} benchmark;

#define MEMORY POPLINER_OBJECTIVE_MEMORY
#define CYCLES POPLINER_OBJECTIVE_CYCLES
#define TRAFFIC POPLINER_OBJECTIVE_TRAFFIC
#define BALANCE POPLINER_OBJECTIVE_BALANCE

static const benchmark benchmarks[] = {
    {.name = "100 units, 16 IPUs: memory, traffic",
     .target = "0.2",
     .num_units = 100,
     .max_stages = 16,
     .objectives = {MEMORY, TRAFFIC},
     .num_objectives = 2},
    {.name = "1250 units, 16 IPUs: memory",
     .target = "2",
     .num_units = 1250,
     .max_stages = 16,
     .objectives = {MEMORY},
     .num_objectives = 1},
    {.name = "1250 units, 16 IPUs: cycles",
     .target = "2",
     .num_units = 1250,
     .max_stages = 16,
     .objectives = {CYCLES},
     .num_objectives = 1},
    {.name = "1250 units, 16 IPUs: memory, traffic",
     .target = "30",
     .num_units = 1250,
     .max_stages = 16,
     .objectives = {MEMORY, TRAFFIC},
     .num_objectives = 2},
    {.name = "1250 units, 16 IPUs: cycles, traffic",
     .target = "30",
     .num_units = 1250,
     .max_stages = 16,
     .objectives = {CYCLES, TRAFFIC},
     .num_objectives = 2},
    {.name = "5000 units, 64 IPUs: memory, traffic",
     .target = "3",
     .num_units = 5000,
     .max_stages = 64,
     .objectives = {MEMORY, TRAFFIC},
     .num_objectives = 2},
    {.name = "5000 units, 256 IPUs: memory",
     .target = "1",
     .num_units = 5000,
     .max_stages = 256,
     .objectives = {MEMORY},
     .num_objectives = 1},
    {.name = "5000 units, 256 IPUs: memory, traffic",
     .target = "3",
     .num_units = 5000,
     .max_stages = 256,
     .objectives = {MEMORY, TRAFFIC},
     .num_objectives = 2},
    {.name = "5000 units, 256 IPUs: cycles, traffic",
     .target = "",
     .num_units = 5000,
     .max_stages = 256,
     .objectives = {CYCLES, TRAFFIC},
     .num_objectives = 2},
    {.name = "5000 units, 256 IPUs: memory, balance",
     .target = "",
     .num_units = 5000,
     .max_stages = 256,
     .objectives = {MEMORY, BALANCE},
     .num_objectives = 2},
    {.name = "5000 units, 256 IPUs: cycles, balance",
     .target = "",
     .num_units = 5000,
     .max_stages = 256,
     .objectives = {CYCLES, BALANCE},
     .num_objectives = 2},
    {.name = "5000 units, 64 IPUs, all of them needed: balance",
     .target = "",
     .num_units = 5000,
     .max_stages = 64,
     .objectives = {BALANCE},
     .num_objectives = 1,
     .limit_percent = 150},
    {.name = "5000 units, 256 IPUs, a limit for each: memory, traffic",
     .target = "",
     .num_units = 5000,
     .max_stages = 256,
     .objectives = {MEMORY, TRAFFIC},
     .num_objectives = 2,
     .limits_each = true},
    {.name = "500 units, 64 IPUs: memory, traffic",
     .target = "",
     .num_units = 500,
     .max_stages = 64,
     .objectives = {MEMORY, TRAFFIC},
     .num_objectives = 2},
    {.name = "the same, the first unit placed",
     .target = "twice",
     .num_units = 500,
     .max_stages = 64,
     .objectives = {MEMORY, TRAFFIC},
     .num_objectives = 2,
     .places_first = true},
    {.name = "the same, a limit for each IPU",
     .target = "",
     .num_units = 500,
     .max_stages = 64,
     .objectives = {MEMORY, TRAFFIC},
     .num_objectives = 2,
     .limits_each = true},
    {.name = "5000 units of a file, 256 IPUs, training pipeline: memory, traffic",
     .target = "1 GiB",
     .num_units = 5000,
     .max_stages = 256,
     .objectives = {MEMORY, TRAFFIC},
     .num_objectives = 2,
     .is_file = true},
    {.name = "1000 units of a file, 64 IPUs, training pipeline, a limit for each",
     .target = "",
     .num_units = 1000,
     .max_stages = 64,
     .objectives = {MEMORY, TRAFFIC},
     .num_objectives = 2,
     .is_file = true,
     .limits_each = true},
    {.name = "48 units on IPUs 0,1,2,3,0, 1 ms a call",
     .target = "10",
     .num_units = 48,
     .objectives = {MEMORY, TRAFFIC},
     .num_objectives = 2,
     .device_map = {0, 1, 2, 3, 0},
     .num_mapped = 5,
     .call_seconds = 0.001},
    {.name = "48 units on IPUs 0,1,2,3,0",
     .target = "10",
     .num_units = 48,
     .objectives = {MEMORY, TRAFFIC},
     .num_objectives = 2,
     .device_map = {0, 1, 2, 3, 0},
     .num_mapped = 5},
    {.name = "32 units on IPUs 0,1,2,0,1,2",
     .target = "",
     .num_units = 32,
     .objectives = {MEMORY, TRAFFIC},
     .num_objectives = 2,
     .device_map = {0, 1, 2, 0, 1, 2},
     .num_mapped = 6},
    /* without a limit one IPU would be in balance with itself */
    {.name = "100 units, 8 IPUs, all of them needed: balance, traffic",
     .target = "",
     .num_units = 100,
     .max_stages = 8,
     .objectives = {BALANCE, TRAFFIC},
     .num_objectives = 2,
     .limit_percent = 165},
    {.name = "100 units, 16 IPUs, training pipeline: memory, traffic",
     .target = "",
     .num_units = 100,
     .max_stages = 16,
     .objectives = {MEMORY, TRAFFIC},
     .num_objectives = 2,
     .is_training = true},
    {.name = "100 units, 4 IPUs: why nothing fits",
     .target = "",
     .num_units = 100,
     .max_stages = 4,
     .objectives = {MEMORY, TRAFFIC},
     .num_objectives = 2,
     .limit_percent = 70},
};

/* With several stages on each IPU, from files of costs. */
static const benchmark interleaved[] = {
    {.name = "96 equal layers, 8 IPUs x 2: memory",
     .target = "10",
     .num_units = 98,
     .objectives = {MEMORY},
     .num_objectives = 1,
     .source = EQUAL_LAYERS,
     .num_ipus = 8,
     .num_rounds = 2,
     .limit_seconds = 10},
    {.name = "96 equal layers, 8 IPUs x 2: cycles",
     .target = "30",
     .num_units = 98,
     .objectives = {CYCLES},
     .num_objectives = 1,
     .source = EQUAL_LAYERS,
     .num_ipus = 8,
     .num_rounds = 2,
     .limit_seconds = 30},
    {.name = "96 equal layers, 8 IPUs x 4: memory",
     .target = "10",
     .num_units = 98,
     .objectives = {MEMORY},
     .num_objectives = 1,
     .source = EQUAL_LAYERS,
     .num_ipus = 8,
     .num_rounds = 4,
     .limit_seconds = 10},
    {.name = "96 equal layers, 8 IPUs x 4: cycles",
     .target = "10",
     .num_units = 98,
     .objectives = {CYCLES},
     .num_objectives = 1,
     .source = EQUAL_LAYERS,
     .num_ipus = 8,
     .num_rounds = 4,
     .limit_seconds = 10},
    {.name = "100 random units, 4 IPUs x 2: memory",
     .target = "20",
     .num_units = 100,
     .objectives = {MEMORY},
     .num_objectives = 1,
     .source = RANDOM_UNITS,
     .num_ipus = 4,
     .num_rounds = 2,
     .limit_seconds = 20},
    {.name = "100 random units, 4 IPUs x 2: cycles",
     .target = "20",
     .num_units = 100,
     .objectives = {CYCLES},
     .num_objectives = 1,
     .source = RANDOM_UNITS,
     .num_ipus = 4,
     .num_rounds = 2,
     .limit_seconds = 20},
    {.name = "100 random units, 8 IPUs x 2: memory",
     .target = "",
     .num_units = 100,
     .objectives = {MEMORY},
     .num_objectives = 1,
     .source = RANDOM_UNITS,
     .num_ipus = 8,
     .num_rounds = 2,
     .limit_seconds = 20},
    {.name = "100 random units, 8 IPUs x 2: cycles",
     .target = "",
     .num_units = 100,
     .objectives = {CYCLES},
     .num_objectives = 1,
     .source = RANDOM_UNITS,
     .num_ipus = 8,
     .num_rounds = 2,
     .limit_seconds = 20},
    {.name = "100 random units, 4 IPUs x 3: memory",
     .target = "20",
     .num_units = 100,
     .objectives = {MEMORY},
     .num_objectives = 1,
     .source = RANDOM_UNITS,
     .num_ipus = 4,
     .num_rounds = 3,
     .limit_seconds = 20},
    {.name = "100 random units, 4 IPUs x 3: cycles",
     .target = "20",
     .num_units = 100,
     .objectives = {CYCLES},
     .num_objectives = 1,
     .source = RANDOM_UNITS,
     .num_ipus = 4,
     .num_rounds = 3,
     .limit_seconds = 20},
    {.name = "100 random units, 8 IPUs x 3: memory",
     .target = "",
     .num_units = 100,
     .objectives = {MEMORY},
     .num_objectives = 1,
     .source = RANDOM_UNITS,
     .num_ipus = 8,
     .num_rounds = 3,
     .limit_seconds = 20},
    {.name = "100 random units, 4 IPUs x 4: memory",
     .target = "",
     .num_units = 100,
     .objectives = {MEMORY},
     .num_objectives = 1,
     .source = RANDOM_UNITS,
     .num_ipus = 4,
     .num_rounds = 4,
     .limit_seconds = 20},
    {.name = "100 random units, 4 IPUs x 2: cycles, balance",
     .target = "",
     .num_units = 100,
     .objectives = {CYCLES, BALANCE},
     .num_objectives = 2,
     .source = RANDOM_UNITS,
     .num_ipus = 4,
     .num_rounds = 2,
     .limit_seconds = 20},
};

/* What each method is asked. */
static const benchmark compared[] = {
    {.name = "30 units, 6 IPUs: memory",
     .num_units = 30,
     .max_stages = 6,
     .objectives = {MEMORY},
     .num_objectives = 1},
    {.name = "100 units, 16 IPUs: memory",
     .num_units = 100,
     .max_stages = 16,
     .objectives = {MEMORY},
     .num_objectives = 1},
    {.name = "100 units, 16 IPUs: memory, traffic",
     .num_units = 100,
     .max_stages = 16,
     .objectives = {MEMORY, TRAFFIC},
     .num_objectives = 2},
    {.name = "100 units, 16 IPUs: cycles, traffic",
     .num_units = 100,
     .max_stages = 16,
     .objectives = {CYCLES, TRAFFIC},
     .num_objectives = 2},
    {.name = "300 units, 16 IPUs: memory",
     .num_units = 300,
     .max_stages = 16,
     .objectives = {MEMORY},
     .num_objectives = 1},
    {.name = "40 units, 6 IPUs, all of them needed: balance, traffic",
     .num_units = 40,
     .max_stages = 6,
     .objectives = {BALANCE, TRAFFIC},
     .num_objectives = 2,
     .limit_percent = 210},
    {.name = "100 units, 8 IPUs, all of them needed: balance, traffic",
     .num_units = 100,
     .max_stages = 8,
     .objectives = {BALANCE, TRAFFIC},
     .num_objectives = 2,
     .limit_percent = 165},
    {.name = "30 units, 6 IPUs, training pipeline: memory, traffic",
     .num_units = 30,
     .max_stages = 6,
     .objectives = {MEMORY, TRAFFIC},
     .num_objectives = 2,
     .is_training = true},
    {.name = "24 units on IPUs 0,1,2,0: memory, traffic",
     .num_units = 24,
     .objectives = {MEMORY, TRAFFIC},
     .num_objectives = 2,
     .device_map = {0, 1, 2, 0},
     .num_mapped = 4},
};

static const struct {
    popliner_method method;
    const char *name;
} methods[] = {{POPLINER_METHOD_AUTO, "auto"},
               {POPLINER_METHOD_DYNAMIC_PROGRAMMING, "dp"},
               {POPLINER_METHOD_ILP, "ilp"}};

enum { MOST_SECONDS = 60 }; /* that a method may take */

/* ---- the chain ---- */

/* The finaliser of SplitMix64: below `limit`, the same for the same numbers. */
static uint64_t number_below(uint64_t limit, uint64_t what, uint64_t which) {
    uint64_t x = (what + 1) * 0x9e3779b97f4a7c15u + which * 0xd1342543de82ef95u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return (x ^ x >> 31) % limit;
}

static void make_chain(chain *c, size_t num_units) {
    *c = (chain){.num_units = num_units};
    for (size_t t = 0; t < NUM_TYPES; ++t)
        c->code_bytes[t] = 200 + number_below(4000, 0, t);
    for (size_t unit = 0; unit < num_units; ++unit) {
        c->own_bytes[unit] = 4000 + number_below(16000, 1, unit);
        c->live_bytes[unit] = 10000 + number_below(30000, 2, unit);
        c->out_bytes[unit] = 1000 + number_below(9000, 3, unit);
        c->cycles[unit] = 20000 + number_below(100000, 4, unit);
        for (size_t k = 0; k < TYPES_OF_UNIT; ++k)
            c->types[unit] |= (uint32_t)1 << number_below(NUM_TYPES, 5 + k, unit);
    }
}

/* What some units need on one IPU. Zero-initialise. */
typedef struct needs {
    uint64_t own_bytes;
    uint64_t code_bytes;
    uint64_t live_bytes;
    uint64_t stash_bytes;
    uint32_t types;
} needs;

static void add_unit(const chain *c, size_t unit, needs *n) {
    for (size_t t = 0; t < NUM_TYPES; ++t)
        if ((c->types[unit] & ~n->types) >> t & 1)
            n->code_bytes += c->code_bytes[t];
    n->types |= c->types[unit];
    n->own_bytes += c->own_bytes[unit];
    n->stash_bytes += c->out_bytes[unit] / 8;
    if (c->live_bytes[unit] > n->live_bytes)
        n->live_bytes = c->live_bytes[unit];
}

static uint64_t peak_of(const needs *n) {
    return n->own_bytes + n->code_bytes + n->live_bytes;
}

static void give_up(const char *what) {
    fprintf(stderr, "popliner-bench-solver: %s\n", what);
    exit(1);
}

static popliner_costs *make_costs(const chain *c, const benchmark *b) {
    popliner_costs *costs;
    popliner_error error;
    if (popliner_costs_create(c->num_units, b->is_training ? b->max_stages : 1, &costs, &error) !=
        POPLINER_OK)
        give_up(error.message);
    for (size_t unit = 1; unit < c->num_units; ++unit)
        popliner_costs_set_cut(costs, unit, c->out_bytes[unit - 1], NULL);
    for (size_t first = 0; first < c->num_units; ++first) {
        needs n = {0};
        uint64_t cycles = first > 0 ? c->out_bytes[first - 1] : 0;
        for (size_t last = first; last < c->num_units; ++last) {
            add_unit(c, last, &n);
            cycles += c->cycles[last];
            popliner_costs_set_peak(costs, first, last, 1, peak_of(&n), NULL);
            popliner_costs_set_cycles(costs, first, last,
                                      cycles + (last + 1 < c->num_units ? c->out_bytes[last] : 0),
                                      NULL);
            for (size_t to_end = 2; b->is_training && to_end <= b->max_stages; ++to_end)
                popliner_costs_set_peak(costs, first, last, to_end,
                                        peak_of(&n) + (2 * to_end - 1) * n.stash_bytes, NULL);
        }
    }
    return costs;
}

/* Costs of a file, of the units' own bytes and a stash. */
static popliner_costs_file *make_file(const chain *c) {
    enum { BYTES_OF_UNIT = 100 };
    size_t size = (c->num_units + 2) * BYTES_OF_UNIT;
    size_t length = 0;
    char *text = malloc(size);
    popliner_costs_file *file = NULL;
    popliner_error error;
    const popliner_pipeline pipeline = {.schedule = POPLINER_SCHEDULE_POPART,
                                        .max_stages = SIZE_MAX};
    if (text == NULL)
        give_up("not enough memory");
    length +=
        (size_t)snprintf(text, size, "{\"format\":\"popliner-costs\",\"version\":1,\"units\":[");
    for (size_t unit = 0; unit < c->num_units; ++unit)
        length += (size_t)snprintf(
            text + length, size - length,
            "%s{\"name\":\"u%zu\",\"memory\":%" PRIu64 ",\"stash\":%" PRIu64 "}",
            unit == 0 ? "" : ",", unit, c->own_bytes[unit], c->out_bytes[unit] / 8);
    length += (size_t)snprintf(text + length, size - length, "]}");
    if (popliner_costs_file_read("made-up", text, length, &pipeline, &file, &error) != POPLINER_OK)
        give_up(error.message);
    free(text);
    popliner_costs *costs = file->costs;
    for (size_t unit = 1; unit < c->num_units; ++unit)
        popliner_costs_set_cut(costs, unit, c->out_bytes[unit - 1], NULL);
    return file;
}

static void add_units(const chain *c, const benchmark *b, FILE *file) {
    for (size_t unit = 0; unit < c->num_units; ++unit) {
        fprintf(file, "%s{\"name\": \"u%zu\", ", unit > 0 ? ", " : "", unit);
        if (b->source == RANDOM_UNITS)
            fprintf(file, "\"memory\": %llu, \"cycles\": %llu}",
                    (unsigned long long)c->own_bytes[unit], (unsigned long long)c->cycles[unit]);
        else if (unit == 0)
            fputs("\"memory\": 9000, \"cycles\": 300}", file);
        else if (unit + 1 == c->num_units)
            fputs("\"memory\": 7000, \"cycles\": 250}", file);
        else
            fputs("\"memory\": 1500, \"cycles\": 180}", file);
    }
}

/* The code that units share: of each type, or of all layers. */
static void add_code(const chain *c, const benchmark *b, FILE *file) {
    size_t num_types = b->source == RANDOM_UNITS ? NUM_TYPES : 1;
    bool has_any = false;
    for (size_t t = 0; t < num_types; ++t) {
        bool has_unit = false;
        fprintf(file, "%s{\"units\": [", has_any ? ", " : "");
        for (size_t unit = 0; unit < c->num_units; ++unit) {
            bool uses = b->source == RANDOM_UNITS ? (c->types[unit] >> t & 1) != 0
                                                  : unit > 0 && unit + 1 < c->num_units;
            if (uses)
                fprintf(file, "%s\"u%zu\"", has_unit ? ", " : "", unit);
            has_unit = has_unit || uses;
        }
        fprintf(file, "], \"memory\": %llu}",
                b->source == RANDOM_UNITS ? (unsigned long long)c->code_bytes[t] : 800ull);
        has_any = true;
    }
}

/* What the benchmark's source says, as a file of costs. */
static popliner_costs_file *make_interleaved_file(const chain *c, const benchmark *b) {
    char *text = NULL;
    size_t length = 0;
    popliner_costs_file *made;
    popliner_error error;
    FILE *file = open_memstream(&text, &length);
    if (file == NULL)
        give_up("not enough memory");
    fputs("{\"format\": \"popliner-costs\", \"version\": 1, \"units\": [", file);
    add_units(c, b, file);
    fputs("], \"shared\": [", file);
    add_code(c, b, file);
    for (int is_cycles = 0; is_cycles < 2; ++is_cycles) {
        fprintf(file, "], \"%s\": [", is_cycles ? "cut_cycles" : "cuts");
        for (size_t unit = 0; unit + 1 < c->num_units; ++unit)
            fprintf(file, "%s%llu", unit > 0 ? ", " : "",
                    b->source == RANDOM_UNITS ? (unsigned long long)c->out_bytes[unit] : 20ull);
    }
    fputs("]}", file);
    if (fclose(file) != 0)
        give_up("not enough memory");
    if (popliner_costs_file_read("the benchmark", text, length, NULL, &made, &error) != POPLINER_OK)
        give_up(error.message);
    free(text);
    return made;
}

/* ---- solving ---- */

typedef struct run {
    const benchmark *benchmark;
    chain chain;
    size_t num_calls;
} run;

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static popliner_status shared_peak(void *user, const popliner_interval *stages, size_t num_stages,
                                   uint64_t *peak_bytes, popliner_error *error) {
    run *r = user;
    needs n = {0};
    double end = seconds_now() + r->benchmark->call_seconds;
    (void)error;
    for (size_t i = 0; i < num_stages; ++i)
        for (size_t unit = stages[i].first_unit; unit <= stages[i].last_unit; ++unit)
            add_unit(&r->chain, unit, &n);
    *peak_bytes = peak_of(&n);
    ++r->num_calls;
    while (r->benchmark->call_seconds > 0 && seconds_now() < end)
        ;
    return POPLINER_OK;
}

static int compare_seconds(const void *a, const void *b) {
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x > y) - (x < y);
}

static const char *status_name(popliner_plan_status status) {
    switch (status) {
    case POPLINER_PLAN_OPTIMAL:
        return "optimal";
    case POPLINER_PLAN_FEASIBLE:
        return "feasible";
    case POPLINER_PLAN_INFEASIBLE:
        break;
    }
    return "infeasible";
}

/* An even share of the units' own bytes. */
static uint64_t even_share(const chain *c, size_t num_stages) {
    uint64_t bytes = 0;
    for (size_t unit = 0; unit < c->num_units; ++unit)
        bytes += c->own_bytes[unit];
    return bytes / num_stages;
}

/* Adds what the benchmark asks for of single IPUs. */
static void constrain(const chain *c, const benchmark *b, popliner_solver_options *options) {
    static popliner_ipu_value limits[MOST_STAGES];
    static const popliner_constraint first = {.unit = 0, .ipu = 0};
    uint64_t share = even_share(c, b->max_stages > 0 ? b->max_stages : 1);
    if (b->limit_percent > 0)
        options->mem_per_tile = share * b->limit_percent / 100;
    if (b->places_first) {
        options->placements = &first;
        options->num_placements = 1;
    }
    /* what is kept for later takes the most on the first IPUs */
    for (size_t i = 0; b->limits_each && i < b->max_stages; ++i)
        limits[i] = (popliner_ipu_value){i, share * (b->is_file ? 40 : 4) + i * 100};
    options->ipu_limits = limits;
    options->num_ipu_limits = b->limits_each ? b->max_stages : 0;
}

/* An instance ready to be solved. */
typedef struct question {
    run run;
    popliner_costs_file *file; /* of the costs, or NULL */
    popliner_costs *costs;
    popliner_solver_options options;
    size_t device_map[MOST_MAPPED];
    popliner_plan_value first; /* of the answer: the first objective */
} question;

/* Must stay where it is. */
static void prepare(const benchmark *b, question *q) {
    *q = (question){.run = {.benchmark = b}, .options = POPLINER_SOLVER_OPTIONS_INIT};
    make_chain(&q->run.chain, b->num_units);
    if (b->is_file) {
        q->file = make_file(&q->run.chain);
        q->costs = q->file->costs;
    } else if (b->source != FROM_TABLE) {
        q->file = make_interleaved_file(&q->run.chain, b);
        q->costs = q->file->costs;
    } else {
        q->costs = make_costs(&q->run.chain, b);
        popliner_costs_set_shared_peak(q->costs, shared_peak, &q->run, true);
    }
    popliner_solver_options *options = &q->options;
    options->objectives = b->objectives;
    options->num_objectives = b->num_objectives;
    options->num_ipus = b->max_stages;
    if (b->num_mapped > 0) {
        options->num_ipus = b->num_mapped;
        options->device_map = b->device_map;
        options->num_mapped_stages = b->num_mapped;
    }
    for (size_t stage = 0; stage < b->num_ipus * b->num_rounds; ++stage)
        q->device_map[stage] = stage % b->num_ipus;
    if (b->num_rounds > 0) {
        options->device_map = q->device_map;
        options->num_mapped_stages = b->num_ipus * b->num_rounds;
        options->time_limit_seconds = b->limit_seconds;
    }
    constrain(&q->run.chain, b, options);
}

/* The median of so many solves. */
static double solve_often(question *q, size_t runs, popliner_plan_status *status) {
    double *seconds = calloc(runs, sizeof *seconds);
    if (seconds == NULL)
        give_up("not enough memory");
    for (size_t i = 0; i < runs; ++i) {
        popliner_plan *plan = NULL;
        popliner_error error;
        q->run.num_calls = 0;
        double begin = seconds_now();
        if (popliner_solve(q->costs, &q->options, &plan, &error) != POPLINER_OK)
            give_up(error.message);
        seconds[i] = seconds_now() - begin;
        const popliner_plan *summary = plan;
        *status = summary->status;
        if (summary->num_values > 0)
            q->first = summary->values[0];
        popliner_plan_free(plan);
    }
    qsort(seconds, runs, sizeof *seconds, compare_seconds);
    double median = seconds[runs / 2];
    free(seconds);
    return median;
}

static void finish(question *q) {
    if (q->file == NULL)
        popliner_costs_free(q->costs);
    popliner_costs_file_free(q->file);
}

/* Solves the instance and prints its row. */
static void measure(const benchmark *b, size_t runs) {
    static question q;
    popliner_plan_status status = POPLINER_PLAN_INFEASIBLE;
    prepare(b, &q);
    double seconds = solve_often(&q, runs, &status);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("| %s | %.3f | %s | %s | ", b->name, seconds, b->target, status_name(status));
    if (b->num_mapped > 0)
        printf("%zu", q.run.num_calls);
    printf(" | %ld MiB |\n", (usage.ru_maxrss + 1023) / 1024);
    finish(&q);
}

/* The same with the value and how far from the best it may be. */
static void measure_gap(const benchmark *b, size_t runs) {
    static question q;
    popliner_plan_status status = POPLINER_PLAN_INFEASIBLE;
    prepare(b, &q);
    double seconds = solve_often(&q, runs, &status);
    double apart = (double)(q.first.value - q.first.bound);
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    printf("| %s | %.3f | %s | %s | %llu | %.2f %% | %ld MiB |\n", b->name, seconds, b->target,
           status_name(status), (unsigned long long)q.first.value,
           q.first.bound > 0 ? 100.0 * apart / (double)q.first.bound : INFINITY,
           (usage.ru_maxrss + 1023) / 1024);
    finish(&q);
}

/* Solves the instance by each method and prints its row. */
static void compare(const benchmark *b, size_t runs) {
    static question q;
    prepare(b, &q);
    q.options.time_limit_seconds = MOST_SECONDS;
    printf("| %s |", b->name);
    for (size_t i = 0; i < sizeof methods / sizeof *methods; ++i) {
        popliner_plan_status status = POPLINER_PLAN_INFEASIBLE;
        bool is_beyond = methods[i].method != POPLINER_METHOD_AUTO && b->num_mapped > 0;
        q.options.method = methods[i].method;
        double seconds = is_beyond ? 0.0 : solve_often(&q, runs, &status);
        if (is_beyond)
            printf(" – |");
        else if (status == POPLINER_PLAN_OPTIMAL)
            printf(" %.3f |", seconds);
        else
            printf(" none in %d |", (int)MOST_SECONDS);
    }
    puts("");
    finish(&q);
}

/* Each instance in a process of its own. */
static void run_each(const benchmark *list, size_t count, size_t runs,
                     void (*row)(const benchmark *b, size_t runs)) {
    for (size_t i = 0; i < count; ++i) {
        fflush(stdout);
        pid_t child = fork();
        if (child < 0)
            give_up("cannot start a process");
        if (child == 0) {
            row(&list[i], runs);
            exit(0);
        }
        int status = 0;
        if (waitpid(child, &status, 0) != child || status != 0)
            give_up("an instance could not be solved");
    }
}

int main(int argc, char **argv) {
    bool compares = argc > 1 && strcmp(argv[1], "--methods") == 0;
    int first = compares ? 2 : 1;
    long runs = argc == first + 1 ? strtol(argv[first], NULL, 10) : 5;
    if (argc > first + 1 || runs < 1 || runs > 1000) {
        fputs("Usage: popliner-bench-solver [--methods] [RUNS]\n", stderr);
        return 2;
    }
    if (compares) {
        printf("| instance |");
        for (size_t i = 0; i < sizeof methods / sizeof *methods; ++i)
            printf(" %s |", methods[i].name);
        puts("\n|---|---|---|---|");
        run_each(compared, sizeof compared / sizeof *compared, (size_t)runs, compare);
        return 0;
    }
    puts("| instance | seconds | at most | status | shared peaks asked for | peak memory |\n"
         "|---|---|---|---|---|---|");
    run_each(benchmarks, sizeof benchmarks / sizeof *benchmarks, (size_t)runs, measure);
    puts("\n| instance | seconds | at most | status | value | gap | peak memory |\n"
         "|---|---|---|---|---|---|---|");
    run_each(interleaved, sizeof interleaved / sizeof *interleaved, (size_t)runs, measure_gap);
    return 0;
}
