/* Questions put to the command and, at the same time, to brute force over a table of costs that
 * does not come from the solver: of a profile it is measured stage by stage with --evaluate, of a
 * file of costs the test calculates it.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_TESTS_SOLVING_RUN_H
#define PL_TESTS_SOLVING_RUN_H

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "brute_force.h"
#include "command_run.h"
#include "popliner/costs.h"
#include "popliner/pipeline.h"
#include "popliner/solver.h"

enum { MOST_NAME = 40 };

/* What the command is asked about, and what the answer is to be calculated from. */
typedef struct subject {
    const char *arguments[6]; /* that choose it; end with NULL */
    const char *pipeline[5];  /* --schedule and --recompute, the same */
    size_t num_units;
    char names[MOST_BRUTE_UNITS][MOST_NAME];
    uint8_t counted[MOST_BRUTE_UNITS];
    popliner_costs *costs;
    uint64_t cycles_per_time_unit;
    size_t num_ipus; /* that it has by itself */
    uint64_t memory_bytes;
    popliner_ipu_value ipu_limits[4];
    size_t num_ipu_limits;
} subject;

/* Measures a profile in the full memory model by one --evaluate for each interval (and, for
 * training, each place of it), and by a run for each cut and for the cycles of each interval.
 * Stages on one IPU are known where they follow each other. A training is measured with the usual
 * effects, or as the plain model, whose stages need the same at the end as without a pipeline. */
void measure_subject(subject *s, const char *directory, popliner_schedule schedule,
                     popliner_recompute recompute, bool with_effects);
void free_subject(subject *s);

/* Runs the command with --solve --format json, expects the exit status, and returns the document,
 * which is checked against docs/certificate.schema.json. */
json_t *run_json(command_run *run, int status, const char *const *arguments);
#define RUN_JSON(run, status, ...) run_json(run, status, (const char *const[]){__VA_ARGS__, NULL})

/* Whether a document is what docs/certificate.schema.json calls `name` ("answer" or "sweep"). */
bool certificate_schema_accepts(const char *name, const json_t *document, char *complaint);

/* Whether a part of a document is what the schema calls so. */
bool certificate_schema_describes(const char *name, const json_t *part, char *complaint);

/* An item of an item of ... a document: keys, or numbers as text; ends with NULL. */
json_t *json_at(const json_t *document, const char *const *keys);
#define JSON_AT(document, ...) json_at(document, (const char *const[]){__VA_ARGS__, NULL})
uint64_t number_of(const json_t *number);
#define NUMBER_AT(document, ...) number_of(JSON_AT(document, __VA_ARGS__))

/* A question: options of the command and those of the solver, side by side. */
enum { MOST_ASKED = 40 };
typedef struct asked {
    const subject *s;
    const char *arguments[MOST_ASKED];
    char texts[MOST_ASKED][60];
    size_t num_arguments;
    size_t num_ipus; /* 0: not said */
    uint64_t memory_bytes;
    uint64_t reserve_bytes;
    popliner_solver_options options;
    popliner_objective objectives[POPLINER_NUM_OBJECTIVES];
    popliner_cut_rule cuts[MOST_BRUTE_UNITS];
    popliner_constraint pairs[8];
    popliner_constraint placements[8];
    popliner_ipu_value ipu_limits[8];
    size_t device_map[MOST_BRUTE_UNITS];
} asked;

void ask(asked *a, const subject *s);
void ask_objectives(asked *a, const char *list);
void ask_slack(asked *a, unsigned percent);
void ask_ipus(asked *a, size_t count);
void ask_memory(asked *a, uint64_t bytes);
void ask_reserve(asked *a, uint64_t bytes);
void ask_ipu_memory(asked *a, size_t ipu, uint64_t bytes);
void ask_least_layers(asked *a, size_t count);
void ask_most_layers(asked *a, size_t count);
void ask_cut(asked *a, size_t unit_before, popliner_cut_rule rule);
void ask_together(asked *a, size_t first_unit, size_t second_unit);
void ask_place(asked *a, size_t unit, size_t ipu);
void ask_map(asked *a, const char *map);

/* Runs the command and expects the answer of brute force in every number, and the exit status that
 * goes with it; if nothing fits, that the remedies are enough and that one less is not. The quick
 * run asks one question of eleven. */
void expect_best(asked *a);

/* Fills the arguments of the run that is asked for, without --solve; ends with NULL. */
void list_arguments(const asked *a, const char *arguments[MOST_ASKED + 20]);

#endif
