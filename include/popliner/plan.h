/* popliner: an answer to "where do I cut", with its proof.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef POPLINER_PLAN_H
#define POPLINER_PLAN_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a split can be good at. Smaller is better for all of them. */
typedef enum popliner_objective {
    POPLINER_OBJECTIVE_MEMORY, /* the largest peak of an IPU, in bytes on its largest tile */
    /* the cycles of the slowest IPU; an IPU with several stages runs them one after another */
    POPLINER_OBJECTIVE_CYCLES,
    POPLINER_OBJECTIVE_TRAFFIC, /* the bytes over all cuts */
    POPLINER_OBJECTIVE_IPUS,    /* how many IPUs are used */
    /* the spread: how far the cycles of the slowest IPU are from those of the fastest, if CYCLES
     * stands before this objective in the list; else the same of the peaks */
    POPLINER_OBJECTIVE_BALANCE,
    POPLINER_NUM_OBJECTIVES,
} popliner_objective;

/* "memory", "cycles", "traffic", "ipus", "balance". */
const char *popliner_objective_name(popliner_objective objective);

typedef enum popliner_plan_status {
    /* no split is better: every bound equals its value, but for the slack that was allowed */
    POPLINER_PLAN_OPTIMAL,
    POPLINER_PLAN_FEASIBLE, /* within the limits; the bounds say how far from the best it may be */
    POPLINER_PLAN_INFEASIBLE, /* no split is within the limits; the stages are the best effort */
} popliner_plan_status;

/* One stage: the units first_unit ... last_unit, both included. */
typedef struct popliner_plan_stage {
    size_t first_unit;
    size_t last_unit;
    size_t ipu;          /* where it runs */
    uint64_t peak_bytes; /* of the largest tile of its IPU, with all that runs there */
    uint64_t cycles;     /* its own; 0 if the costs have none */
    uint64_t cut_bytes;  /* over the cut behind it; 0 for the last one */
} popliner_plan_stage;

/* The value that was reached for one objective, within the best for those before it, and the bound:
 * no such split has a smaller one. */
typedef struct popliner_plan_value {
    popliner_objective objective;
    uint64_t value;
    uint64_t bound;
} popliner_plan_value;

/* Why nothing fits. */
typedef enum popliner_obstacle {
    POPLINER_OBSTACLE_NONE,
    POPLINER_OBSTACLE_CONSTRAINTS, /* constraints contradict each other, whatever the memory */
    POPLINER_OBSTACLE_UNIT,        /* one unit is too large for any IPU */
    POPLINER_OBSTACLE_CAPACITY,    /* each unit fits, but not all on so many IPUs of that size */
    POPLINER_OBSTACLE_UNKNOWN,     /* stopped before that was found out, or it was not asked for */
} popliner_obstacle;

/* One thing that the solver's options ask for: see there. */
typedef enum popliner_constraint_kind {
    POPLINER_CONSTRAINT_MAX_STAGES,
    POPLINER_CONSTRAINT_DEVICE_MAP, /* that there are as many stages as it has */
    POPLINER_CONSTRAINT_MIN_UNITS,
    POPLINER_CONSTRAINT_MAX_UNITS,
    POPLINER_CONSTRAINT_REQUIRED_CUT,
    POPLINER_CONSTRAINT_FORBIDDEN_CUT,
    POPLINER_CONSTRAINT_PAIR,
    POPLINER_CONSTRAINT_PLACEMENT,
    POPLINER_NUM_CONSTRAINT_KINDS,
} popliner_constraint_kind;

/* Members that a kind does not name are 0. */
typedef struct popliner_constraint {
    popliner_constraint_kind kind;
    size_t number;      /* MAX_STAGES, DEVICE_MAP: of stages; MIN_UNITS, MAX_UNITS: of units */
    size_t unit;        /* of a cut: the one before it; PAIR: the first; PLACEMENT */
    size_t second_unit; /* of a PAIR */
    size_t ipu;         /* of a PLACEMENT */
} popliner_constraint;

typedef struct popliner_infeasibility {
    popliner_obstacle obstacle;
    /* CONSTRAINTS: those of which each is needed for the contradiction; none if the costs alone
     * forbid every split. Owned by the plan. */
    popliner_constraint *constraints;
    size_t num_constraints;
    /* UNIT: the first such unit, its peak alone, and the largest limit of an IPU that it may be on.
     */
    size_t unit;
    uint64_t unit_bytes;
    uint64_t limit_bytes;
    /* UNIT and CAPACITY: the smallest max_stages that works, all else as it is; 0 if none does (with
     * a device map: not looked for; stopped: perhaps not found). */
    size_t enough_stages;
    /* The smallest max_stage_bytes that works, all else as it is; 0 likewise. */
    uint64_t enough_bytes;
} popliner_infeasibility;

/* An answer. The stages follow each other without a gap; unless the plan is INFEASIBLE they cover
 * the whole chain (the best effort of the greedy solver may leave a rest). Zero-initialise before
 * the first use; free with pl_plan_clear. */
typedef struct popliner_plan {
    popliner_plan_status status;
    popliner_plan_stage *stages; /* owned */
    size_t num_stages;
    bool is_stopped; /* the time was up, or the caller wanted it to end */

    uint64_t peak_bytes; /* the largest peak_bytes of a stage */
    uint64_t cycles;     /* of the slowest IPU */
    uint64_t cut_bytes;  /* sum over the cuts, or UINT64_MAX - 1 if larger */
    uint64_t spread;     /* see POPLINER_OBJECTIVE_BALANCE */
    size_t num_ipus;

    /* The objectives that were asked for, in their order. None with the greedy solver, which knows no
     * bounds. Of an INFEASIBLE plan: the best effort's, each bound 0. */
    popliner_plan_value values[POPLINER_NUM_OBJECTIVES];
    size_t num_values;

    popliner_infeasibility infeasibility;
} popliner_plan;

/* Frees what the plan owns and makes it empty. NULL is fine. */
void pl_plan_clear(popliner_plan *plan);

#ifdef __cplusplus
}
#endif

#endif
