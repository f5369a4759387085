/* The places that a stage may have in a pipeline, as a small automaton: which IPU it has and what
 * it stores there, and the place of the next stage. The dynamic program has a row for each place,
 * the integer programs have variables for each, and both ask which stages are on a way through the
 * chain.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_SOLVE_PLACES_H
#define PL_SOLVE_PLACES_H

#include "solve/stage_rule.h"

typedef struct pl_place {
    size_t stage;  /* whose IPU, speed and links it has */
    size_t to_end; /* stages to the end, itself included; 1 if a pipeline may end anywhere */
    size_t next;   /* of the next stage; the number of places if there is none */
    bool begins;   /* may be the first of the chain */
    bool ends;     /* may be the last of the chain */
} pl_place;

/* Zero-initialise; free with pl_places_free. The first places may be special: with limits, speeds,
 * links or placements of their own. All others are alike. Where intervals depend on the number of
 * stages after them, or a device map fixes it, a pipeline of each length has its own special
 * places, and all share those after them; else a pipeline may end anywhere. */
typedef struct pl_places {
    pl_place *items; /* [count], each before its `next`; those of longer pipelines come first */
    size_t count;
    size_t num_special;
    bool is_exact; /* a place tells how many stages follow */
} pl_places;

/* Lays the places of pipelines of at most max_stages. Errors: MEMORY. O(places). */
popliner_status pl_places_lay(pl_places *places, const pl_problem *problem, const pl_limits *limits,
                              size_t max_stages, popliner_error *error);
void pl_places_free(pl_places *places);

/* ---- which stages are on a way through the chain ---- */

/* True if units may be a stage. */
typedef bool pl_ways_function(const void *user, size_t first_unit, size_t end_unit);

/* The stages with which others make a split of the chain. Set the first members, and
 * zero-initialise the others; free with pl_ways_free. */
typedef struct pl_ways_through {
    const pl_problem *problem;
    const pl_limits *limits;
    pl_ways_function *may_be; /* in addition to the limits; NULL: all */
    const void *user;
    const struct pl_stop *stop; /* NULL: none */
    pl_places places;           /* laid if it has none; with a device map, they are its stages */
    pl_stage_ends *ends;        /* [places.count]: of these stages; owned, as all is */
    /* [places.count + 1][units + 1]: the fewest stages that end before the unit, with this place
     * next, and the fewest that begin there and reach the end of the chain; more than the units:
     * none */
    size_t *before;
    size_t *after;
    bool exists;     /* there is such a way */
    bool is_stopped; /* before all was known: use nothing else */
    pl_arrays arrays;
} pl_ways_through;

/* Fills the ways. Errors: MEMORY. O(n * longest stage * places), or O(n^2 *
 * places) if needs may shrink as stages grow. */
popliner_status pl_ways_find(pl_ways_through *ways, popliner_error *error);
void pl_ways_free(pl_ways_through *ways);

#endif
