/* popliner: how many copies of its activations a stage keeps, by its place in the pipeline.
 *
 * A stage that trains has to keep the activations of each micro-batch from its forward to its
 * backward pass. One set of them is part of the stage's own memory; what counts here are those
 * beside it. The number depends on d, how many stages are behind the stage: 0 for the last one.
 *
 * docs/internals/memory-models.md has the sources of the rules.
 *
 * Threads: the functions use their arguments alone, so any number of threads may call them at
 * once.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef POPLINER_COPIES_H
#define POPLINER_COPIES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "popliner/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* With M micro-batches in a step, S stages and P IPUs. The rules count micro-batches that are
 * under way at most at one time, the stage's own among them: copies are one fewer. */
typedef enum popliner_copies_rule {
    POPLINER_COPIES_OF_SCHEDULE, /* what popliner_schedule says; other members mean nothing */
    POPLINER_COPIES_LIST,        /* the caller's own numbers, of copies */
    POPLINER_COPIES_1F1B,        /* min(d + 1, M) */
    POPLINER_COPIES_GPIPE,       /* M */
    /* min(S, M): also those that wait for the pass of their weights (ZB-H1, ZB1P) */
    POPLINER_COPIES_ZERO_BUBBLE,
    /* interleaved 1F1B, S = V * P chunks: those of 2 d + 1 turns in a row, of which a chunk has P
     * in every S: min(P * (2 d + 1 div S) + min(2 d + 1 mod S, P), M) */
    POPLINER_COPIES_INTERLEAVED,
    POPLINER_NUM_COPIES_RULES,
} popliner_copies_rule;

enum { POPLINER_MAX_LISTED_COPIES = 64 };

/* No stage keeps more: larger numbers are taken for it. */
#define POPLINER_MAX_COPIES 32768

/* All 0, as POPLINER_COPIES_UNSET has it: the schedule says it. */
typedef struct popliner_copies {
    popliner_copies_rule rule;
    /* what a rule adds to each of its numbers: 1 where memory has no set of activations itself */
    size_t more;
    size_t num_micro_batches; /* of a step in one pipeline; 0: any number, not with GPIPE */
    /* Of INTERLEAVED. Of ZERO_BUBBLE only where single stages are measured, or copies looked up: 0
     * for any number. Costs are for as many stages as a split has, whatever this is. */
    size_t num_stages;
    size_t num_ipus; /* of INTERLEAVED, a divisor of num_stages */
    /* of LIST: the copies of the last stage, of the one before it, ...; never fewer than before */
    uint32_t listed[POPLINER_MAX_LISTED_COPIES];
    size_t num_listed;
    /* stages further away have as many more, each, as the last listed one has more than the one
     * before it; else there are no such stages, but that a single number holds for all */
    bool goes_on;
} popliner_copies;

#define POPLINER_COPIES_UNSET                                                                      \
    { POPLINER_COPIES_OF_SCHEDULE, 0, 0, 0, 0, {0}, 0, false }

/* Reads the name of a rule ("1f1b", or "1f1b+1" for one more in each place), or a list of numbers
 * ("0,1,2,3"), which ends with ",..." if it goes on ("0,1,..." is 1F1B, "1,2,..." Piper's A * y).
 * A single number holds for every stage.
 * What the rule needs beside it stays 0. Errors: USAGE, a sentence that begins with "copies TEXT",
 * with the remedy. */
popliner_status popliner_copies_parse(const char *text, popliner_copies *copies,
                                      popliner_error *error);

/* Whether the rule has all that it needs, and lists rise. Errors: USAGE. */
popliner_status popliner_copies_check(const popliner_copies *copies, popliner_error *error);

/* How many copies a stage keeps when so many stages, it among them, are still to come (at least 1).
 * Of copies that were checked and are not OF_SCHEDULE. Past the end of a list: its last. Of
 * ZERO_BUBBLE without num_stages, whose copies follow the split, wherever they and costs are asked
 * for stages_to_end that is the number of all its stages. O(1). */
size_t popliner_copies_at(const popliner_copies *copies, size_t stages_to_end);

/* The longest pipeline that they are known for; SIZE_MAX for any. O(1). */
size_t popliner_copies_max_stages(const popliner_copies *copies);

#ifdef __cplusplus
}
#endif

#endif
