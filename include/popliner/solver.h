/* popliner: chooses the cuts.
 *
 * Solvers read costs and limits, never profiles: see popliner/costs.h.
 *
 * Threads: a plan does not change, and any number of threads may read it at once. Any number may
 * solve one table at once, as popliner/costs.h says.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef POPLINER_SOLVER_H
#define POPLINER_SOLVER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "popliner/costs.h"
#include "popliner/error.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- Answers ---- */

/* Objectives; smaller values are better, except for HEADROOM and TOKENS. */
typedef enum popliner_objective {
    POPLINER_OBJECTIVE_MEMORY, /* the peak memory: bytes on the fullest tile of any IPU */
    /* the cycles of the slowest IPU; an IPU with several stages runs them one after another */
    POPLINER_OBJECTIVE_CYCLES,
    POPLINER_OBJECTIVE_TRAFFIC, /* the bytes sent over all cuts */
    POPLINER_OBJECTIVE_IPUS,    /* the number of IPUs in use */
    /* the imbalance: the difference between the slowest and the fastest IPU in cycles, if CYCLES
     * precedes this objective in the list; else between the largest and the smallest peak. A split
     * on one IPU has none, so without a device map a list should not begin with BALANCE: see
     * popliner_objectives_complete */
    POPLINER_OBJECTIVE_BALANCE,
    /* the smallest free memory: the limit less the peak, of the IPU in use where that is least.
     * Each IPU that may be used needs a limit. Of two splits, the one that leaves more is better */
    POPLINER_OBJECTIVE_HEADROOM,
    /* how many tokens more all IPUs in use have room for, with the caches of their units (kv of a
     * file of costs); at most as many as any cache grows by. Each IPU that may be used needs a
     * limit. It comes first; only CYCLES, TRAFFIC and IPUS may follow, and without them the split
     * is the one with the least memory, then traffic, when it holds these tokens. Not for graphs,
     * slack, Pareto fronts or replicas */
    POPLINER_OBJECTIVE_TOKENS,
    /* the cycles of a step of the pipeline (popliner_solver_options.pipeline), whose schedule and
     * micro-batches are simulated. Alone: of equally short steps, the one with less memory, then
     * traffic, wins. Stages go round the IPUs of a device map, or there and back. Proven where the
     * bounds meet, else the bound says how much shorter a step might be. Not for graphs with
     * several orders, slack, Pareto fronts or replicas */
    POPLINER_OBJECTIVE_STEP,
    POPLINER_NUM_OBJECTIVES,
} popliner_objective;

/* Completes a list of objectives that begins with BALANCE, so that the work is spread over the
 * given IPUs, as the command, the Python module and pages do unless a device map sets the number of
 * stages. Inserts a first objective and removes its later occurrence: CYCLES for costs of a graph
 * and those whose units, as one stage, need no memory; MEMORY for other costs and for NULL. Leaves
 * any other list unchanged.
 * `objectives` has space for POPLINER_NUM_OBJECTIVES, each at most once. Returns the new number of
 * objectives. O(1). */
size_t popliner_objectives_complete(popliner_objective *objectives, size_t num_objectives,
                                    const popliner_costs *costs);

typedef enum popliner_plan_status {
    /* no split is better: every bound equals its value, except for the slack */
    POPLINER_PLAN_OPTIMAL,
    POPLINER_PLAN_FEASIBLE,   /* within the limits; the bounds limit the distance to the optimum */
    POPLINER_PLAN_INFEASIBLE, /* no split is within the limits; the stages are the best effort */
} popliner_plan_status;

/* One stage: the units first_unit ... last_unit, both included. */
typedef struct popliner_plan_stage {
    size_t first_unit;
    size_t last_unit;
    size_t ipu;          /* where it runs */
    uint64_t peak_bytes; /* of the fullest tile of its IPU, with all stages there */
    uint64_t
        /* its own, at the speed of its IPU and with the transfer time of its cuts; 0 if the costs
         * have none */
        cycles;
    uint64_t cut_bytes;   /* over the cut after it; 0 for the last one */
    uint64_t link_cycles; /* transfer time of that cut; 0 if links have no bandwidths */
    /* It runs on the IPUs ipu ... ipu + num_replicas - 1, each with every num_replicas-th
     * micro-batch. 0 for plans that are not of popliner_replicas_solve_stages. */
    size_t num_replicas;
} popliner_plan_stage;

/* The method that proved that nothing is better, or that nothing fits. */
typedef enum popliner_proof {
    POPLINER_PROOF_NONE, /* no proof: the search was stopped, or does not prove */
    POPLINER_PROOF_DYNAMIC_PROGRAM,
    POPLINER_PROOF_INTEGER_PROGRAM, /* GLPK, within its tolerances */
    POPLINER_PROOF_SEARCH,          /* over the cuts, or the split has reached a lower bound */
    /* GLPK's integer programs chose the split; the dynamic program has the same values */
    POPLINER_PROOF_BOTH_PROGRAMS,
    POPLINER_NUM_PROOFS,
} popliner_proof;

/* The value of one objective, and a lower bound of it: no split that is as good in the earlier
 * objectives has a smaller value. For HEADROOM and TOKENS the bound is an upper one, and the value
 * of a split that does not fit is 0. */
typedef struct popliner_plan_value {
    popliner_objective objective;
    uint64_t value;
    uint64_t bound;
    popliner_proof proof; /* of the bound; NONE if the smallest value was not determined */
} popliner_plan_value;

/* Why nothing fits. */
typedef enum popliner_obstacle {
    POPLINER_OBSTACLE_NONE,
    POPLINER_OBSTACLE_CONSTRAINTS, /* constraints conflict, whatever the memory */
    POPLINER_OBSTACLE_UNIT,        /* one unit is too large for any IPU */
    /* each unit fits, but not all on this number of IPUs of this size */
    POPLINER_OBSTACLE_CAPACITY,
    POPLINER_OBSTACLE_UNKNOWN, /* stopped before the reason was found, or no reason was requested */
    /* one unit is too large for the IPUs that it may be on, though it would fit on another one */
    POPLINER_OBSTACLE_PLACE,
} popliner_obstacle;

/* A constraint of the solver's options: see popliner_solver_options. */
typedef enum popliner_constraint_kind {
    POPLINER_CONSTRAINT_NUM_IPUS,
    POPLINER_CONSTRAINT_DEVICE_MAP, /* its number of stages and their IPUs */
    POPLINER_CONSTRAINT_MIN_UNITS,
    POPLINER_CONSTRAINT_MAX_UNITS,
    POPLINER_CONSTRAINT_REQUIRED_CUT,
    POPLINER_CONSTRAINT_FORBIDDEN_CUT,
    POPLINER_CONSTRAINT_PAIR,
    POPLINER_CONSTRAINT_PLACEMENT,
    POPLINER_NUM_CONSTRAINT_KINDS,
} popliner_constraint_kind;

/* Members that a kind does not use are 0. */
typedef struct popliner_constraint {
    popliner_constraint_kind kind;
    size_t number;      /* NUM_IPUS, DEVICE_MAP: of stages; MIN_UNITS, MAX_UNITS: of units */
    size_t unit;        /* of a cut: the unit before it; of a PAIR, in any order; PLACEMENT */
    size_t second_unit; /* of a PAIR */
    size_t ipu;         /* of a PLACEMENT */
} popliner_constraint;

/* A single change that makes a request solvable, with everything else unchanged. */
typedef enum popliner_remedy_kind {
    POPLINER_REMEDY_IPU_LIMIT,   /* `ipu` has a limit of `bytes`, the smallest that is enough */
    POPLINER_REMEDY_EVERY_LIMIT, /* each limit is larger by `bytes`, the fewest that are enough */
    /* `constraint` is removed; MIN_UNITS and MAX_UNITS: `number` is the nearest value that is
     * enough */
    POPLINER_REMEDY_CONSTRAINT,
    /* num_ipus `number` replaces the device map, the fewest that are enough */
    POPLINER_REMEDY_WITHOUT_MAP,
    POPLINER_NUM_REMEDY_KINDS,
} popliner_remedy_kind;

/* Members that a kind does not use are 0. */
typedef struct popliner_remedy {
    popliner_remedy_kind kind;
    size_t ipu;
    uint64_t bytes;
    popliner_constraint constraint;
    size_t number;
} popliner_remedy;

typedef struct popliner_infeasibility {
    popliner_obstacle obstacle;
    /* CONSTRAINTS: a minimal conflicting set; none if the costs alone forbid every split (see
     * needs_costs). Owned by the plan. */
    popliner_constraint *constraints;
    size_t num_constraints;
    /* UNIT, PLACE: the first unit that is too large, its peak alone, and the largest limit of an
     * IPU that it may be on. */
    size_t unit;
    uint64_t unit_bytes;
    uint64_t limit_bytes;
    /* The smallest num_ipus that is enough, with everything else unchanged; 0 if there is none
     * (with a device map: not searched for; stopped: perhaps not found). */
    size_t enough_stages;
    /* UNIT, PLACE and CAPACITY: the smallest mem_per_tile that is enough, with everything else
     * unchanged; 0 if there is none, or it was not found. */
    uint64_t enough_bytes;

    /* PLACE: the first IPU on which the unit would fit. */
    size_t fitting_ipu;
    /* Other remedies, each verified by solving with it: limits of IPUs if some have limits of their
     * own (not for CONSTRAINTS), then constraints in their order, with runs of forbidden cuts as
     * one, then the device map. Owned by the plan, like left_out. */
    popliner_remedy *remedies;
    size_t num_remedies;
    /* If no single constraint is a remedy, but several together are: such a set, from which none
     * can be left out. */
    popliner_constraint *left_out;
    size_t num_left_out;
    /* False if some remedies were not tried: more than 16 IPUs, 64 constraints (or cuts of a run),
     * or 20 seconds. */
    bool has_all_remedies;
    /* A lower bound of the mem_per_tile that is enough. Equals enough_bytes, unless the search
     * was stopped, or stages share IPUs and 20 seconds were not enough to find the best effort; 0
     * without enough_bytes. */
    uint64_t enough_bytes_bound;
    /* CONSTRAINTS: true if the costs are part of the conflict: if they forbade no stage, alone or
     * with others on its IPU, some split would satisfy the constraints. */
    bool needs_costs;
    /* True if longer pipelines were not tried, for want of costs: enough_stages is 0 then. */
    bool is_longer_unknown;
} popliner_infeasibility;

/* An answer. Its stages are adjacent and, unless the plan is INFEASIBLE, cover the whole chain (the
 * best effort of the greedy algorithm may not). Owned by the caller that solved, who reads it and
 * changes nothing; free with popliner_plan_free. */
typedef struct popliner_plan {
    popliner_plan_status status;
    /* True if the time limit expired, should_stop returned true, or, where stages share IPUs, the
     * search gave up before it found a split. */
    bool is_stopped;
    popliner_plan_stage *stages; /* [num_stages], owned by the plan */
    size_t num_stages;
    size_t num_units; /* of the costs; 0 if the plan refers to no unit */
    size_t num_ipus;
    /* [num_values]: of the requested objectives, in order. None with the greedy algorithm, which
     * computes no bounds. For an INFEASIBLE plan: those of the best effort, each with bound 0. */
    popliner_plan_value values[POPLINER_NUM_OBJECTIVES];
    size_t num_values;

    uint64_t peak_bytes; /* the largest peak_bytes of a stage */
    uint64_t cycles;     /* of the slowest IPU */
    uint64_t cut_bytes;  /* sum over the cuts, or UINT64_MAX - 1 if larger */
    uint64_t spread;     /* imbalance, see POPLINER_OBJECTIVE_BALANCE */

    /* The obstacle is NONE if the stages are within the limits, and for the greedy
     * algorithm, which finds no reasons. */
    popliner_infeasibility infeasibility;

    /* OPTIMAL: the proof of the last value. INFEASIBLE: the proof that nothing is within the
     * limits. Else NONE. */
    popliner_proof proof;

    /* Proof about the whole graph, not about one chain of its units: see
     * popliner_costs_file_arrange. A contiguous partition of a graph gives each unit to a stage so
     * that none depends on a later stage. */
    bool is_graph; /* false: the costs have one order only, and all that follows is 0 */
    /* True if the plan is that of all contiguous partitions: none is better in any objective, in
     * priority order, or none is within the limits. */
    bool is_graph_proven;
    bool is_graph_bound_known; /* true if graph_bound is */
    uint64_t graph_bound;      /* no contiguous partition has less of the first objective */
    size_t num_down_sets;      /* the most that one search stored; 0 if none was needed */

    /* [num_stages], owned by the plan: how each stage recomputes, if the costs let stages choose
     * (see below) or the request says it of each: "none", "full" (recomputes everything, stores the
     * inputs), the name of an interval's variant or of a way, or those of units that differ from
     * the default, "u=NAME,...". Else NULL. */
    char **choices;
} popliner_plan;

/* Frees a plan. NULL is fine. */
void popliner_plan_free(popliner_plan *plan);

/* A step of a pipeline that trains, or infers: its micro-batches go through all stages, in the
 * order of a schedule, and the slowest device decides only in part how long that takes.
 * docs/costs.md has the order of each schedule. */
typedef struct popliner_pipeline_step {
    size_t num_micro_batches; /* 0: the request has none, and there is no step */
    uint64_t cycles;          /* from the first pass to the last; 0: unknown */
    double idle_share;        /* of the time of all devices, in which they wait: the bubble */
    /* the schedule; NULL if the step is unknown. Static text */
    const char *order;
    /* why the step is unknown; else NULL. Static text */
    const char *obstacle;
    /* True if the costs do not say what of their time is forward: then it is a third. */
    bool is_third_assumed;
} popliner_pipeline_step;

/* ---- Options ---- */

typedef enum popliner_method {
    /* If each stage has its own IPU: GLPK's integer programs choose the split if they are quick
     * (see POPLINER_PROOF_BOTH_PROGRAMS), and the dynamic program has to find the same values, else
     * the answer is an error of INTERNAL; beyond about half a second, and without GLPK, the dynamic
     * program alone. If stages share IPUs: a search over the cuts. With two stages on each IPU, or
     * equal layers, it proves nearly all answers; with three or more stages that differ it often
     * ends with a gap. */
    POPLINER_METHOD_AUTO,
    POPLINER_METHOD_DYNAMIC_PROGRAMMING, /* alone; not if stages share IPUs, like ILP */
    /* The exact algorithm of PopLiner 1.0.0: for at least 3, then 2, then 1 units per stage, and
     * for a target of 50, 60, ... 100 % of mem_per_tile, fills stages one after another with as
     * many units as keep the peak within the target. The first attempt that places all units in at
     * most num_ipus stages wins. The listener gets each attempt. All other options are ignored,
     * and there are no values, cuts or cycles. Without a success the plan is INFEASIBLE and holds
     * the stages of the last attempt, which may not cover the chain and may be none. */
    POPLINER_METHOD_GREEDY,
    /* GLPK alone: integer programs choose all cuts, one program per objective that keeps the
     * earlier ones optimal, and one that looks for less than the answer. The dynamic program only
     * looks for reasons if nothing fits, so this is a second opinion on it. Many times slower, for
     * chains of up to about a hundred units; larger programs end in INTERNAL. */
    POPLINER_METHOD_ILP,
} popliner_method;

/* True if the library has GLPK, false if it was built with POPLINER_GLPK=OFF. Without GLPK,
 * POPLINER_METHOD_ILP is an error of USAGE; POPLINER_METHOD_AUTO has the same answers. */
bool popliner_solver_has_glpk(void);

/* A rule for the position before a unit. */
typedef enum popliner_cut_rule {
    POPLINER_CUT_FREE,
    POPLINER_CUT_REQUIRED,
    POPLINER_CUT_FORBIDDEN,
} popliner_cut_rule;

/* Returns a weight, such as parameter bytes, of an IPU with these stages (at least 1, ascending).
 * It must not decrease when a stage grows or is added. stages_to_end is undefined. */
typedef uint64_t (*popliner_weight_function)(void *user, const popliner_interval *stages,
                                             size_t num_stages);

/* Names to use in messages instead of the field names, for example "--num-ipus" for num_ipus.
 * Begin with POPLINER_OPTION_NAMES_INIT. The strings are the caller's. NULL: the default in the
 * comment of the member. */
typedef struct popliner_option_names {
    size_t struct_size;
    /* Members of popliner_analysis_options. */
    const char *layer_name_regex;      /* "layer_name_regex" */
    const char *first_layer_regex;     /* "first_layer_regex" */
    const char *layer_name_regex_hint; /* sentences after the advice to change it: "" */
    const char *ipu;                   /* "ipu" */

    /* Members of popliner_solver_options, to change if nothing fits. */
    const char *num_ipus;     /* "num_ipus" */
    const char *mem_per_tile; /* "mem_per_tile" */

    /* Names of constraints by kind: "num_ipus", "device_map", and rules such as "require cut:".
     * Texts read "num_ipus 3", "device_map of 3 stages", "require together:A,B",
     * "require place:A=0" or "require layers:1..". */
    const char *constraints[POPLINER_NUM_CONSTRAINT_KINDS];

    const char *reserve; /* "reserve" */

    /* For popliner_section_text, before the name of a section. */
    const char *section; /* "section" */

    /* Members of popliner_emit_options. */
    const char *modules; /* "modules": of layers, and before and after them */

    /* Members of popliner_solver_options and popliner_replicas_options, by default with their
     * names. */
    const char *method;
    const char *objectives;
    const char *slack_percent;
    const char *time_limit_seconds;
    const char *device_map;
    const char *pairs;
    const char *placements;
    const char *ipu_speeds;
    const char *link_bandwidth;
    const char *ipu_links;
    const char *total_ipus;
} popliner_option_names;

#define POPLINER_OPTION_NAMES_INIT                                                                 \
    {                                                                                              \
        sizeof(popliner_option_names), NULL, NULL, NULL, NULL, NULL, NULL,                         \
            {NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL}, NULL, NULL, NULL, NULL, NULL, NULL,  \
            NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL                                         \
    }

/* Options of a solver. Begin with POPLINER_SOLVER_OPTIONS_INIT. Arrays are the caller's; each may
 * be NULL with its number 0. */
typedef struct popliner_solver_options {
    size_t struct_size;
    popliner_method method;

    /* Objectives in priority order: each is optimised without worsening the earlier ones. No
     * duplicates. Empty: CYCLES for a graph; IPUS, MEMORY, TRAFFIC if neither num_ipus nor a device
     * map is given, but a limit of memory; else MEMORY, TRAFFIC. */
    const popliner_objective *objectives;
    size_t num_objectives;
    double
        /* each optimum may be missed by this percentage (of itself) in favour of the later
         * objectives */
        slack_percent;

    size_t num_ipus;       /* 0: up to POPLINER_USUAL_IPUS; ignored with a device map */
    uint64_t mem_per_tile; /* largest peak of an IPU; or POPLINER_TARGET_BYTES */
    const popliner_ipu_value *ipu_limits;
    size_t num_ipu_limits;

    /* of a stage; POPLINER_USUAL_UNITS: 1, so that no stage is without a layer, unless no unit
     * counts or the method is GREEDY: then 0 */
    size_t min_units;
    size_t max_units; /* of a stage; 0 for any */
    /* Units that count for min_units and max_units: one mark per unit, 0 for those that do not (a
     * chain's head and tail). NULL: those of a table of an analysis or a file, where layers
     * count; all of another table. */
    const uint8_t *counted_units;
    const popliner_cut_rule *cut_rules; /* one per unit (the first is ignored), or NULL */
    /* `unit` and `second_unit` must run on one IPU. Unless stages share IPUs, all units between
     * them are in the same stage. Other members are ignored. */
    const popliner_constraint *pairs;
    size_t num_pairs;
    /* `unit` must run on `ipu`. Other members are ignored. */
    const popliner_constraint *placements;
    size_t num_placements;

    /* The IPU of each stage, in order, which also sets the number of stages; stages on one IPU
     * share its memory. NULL: stage k runs on IPU k. */
    const size_t *device_map;
    size_t num_mapped_stages;

    /* If nothing fits, do not search for reasons: the plan stays empty, with the obstacle
     * UNKNOWN. */
    bool without_reasons;

    /* 0: none. If stages share IPUs, a search without a limit ends after a fixed amount of work,
     * some seconds; with one it may take as long as that. */
    double time_limit_seconds;
    /* Returns true to stop the search. May be NULL; must return. Polled by the thread that called
     * popliner_solve, which also calls the listener and the functions of the costs. */
    bool (*should_stop)(void *user);
    void *should_stop_user;

    const popliner_listener *listener; /* may be NULL */

    /* Limits the weight of each IPU, such as its parameters; NULL: unlimited. Conflicting sets do
     * not contain it. */
    popliner_weight_function ipu_weight;
    void *ipu_weight_user;
    uint64_t max_ipu_weight;

    /* Speeds of IPUs that differ from POPLINER_SPEED_ONE, no duplicates: divides the cycles of a
     * stage there, rounded up. The cycles of an IPU are the sum over its stages. */
    const popliner_ipu_value *ipu_speeds;
    size_t num_ipu_speeds;

    /* The bandwidth of links between IPUs, and the links that differ, no duplicates. A cut takes
     * its bytes divided by the bandwidth of the link between the IPUs of its two stages, rounded up
     * (at most POPLINER_MAX_CYCLES); none if both are on one IPU. Both IPUs are busy for this time,
     * in addition to the cycles of the costs and whatever their speeds. For an analysis, links
     * without a bandwidth have POPLINER_LINK_BYTES_PER_SECOND. */
    popliner_ipu_link link_bandwidth;
    const popliner_ipu_link *ipu_links;
    size_t num_ipu_links;

    /* The reserve, the part of a tile's memory that the limits already keep free: bytes, and a
     * share of the memory, rounded down. Texts use it to report how much memory is enough. */
    uint64_t reserve_bytes;
    uint64_t reserve_percent_hundredths;
    /* The bytes that single IPUs keep free instead, no duplicates. */
    const popliner_ipu_value *ipu_reserves;
    size_t num_ipu_reserves;

    /* With the method AUTO, leave the integer programs out where no stages share IPUs: for many
     * solves, of which none is the answer. */
    bool without_second_proof;

    /* One of the constraints above to ignore, except NUM_IPUS and DEVICE_MAP, such as one of a
     * conflict; NULL: none. For popliner_solve and solves of an analysis. */
    const popliner_constraint *left_out;

    /* Names of options for errors; NULL: those of the analysis, or of the fields. */
    const popliner_option_names *option_names;

    /* The pipeline whose step counts, with its micro-batches (copies.num_micro_batches): for STEP;
     * and if stages share IPUs and CYCLES is an objective, ties go to the shorter step. An analysis
     * takes that of its request. NULL, or no micro-batches: no step is known. */
    const popliner_pipeline *pipeline;
} popliner_solver_options;

/* For mem_per_tile: the memory of a tile of the profile's target; unlimited without a profile. 0
 * is a limit. */
#define POPLINER_TARGET_BYTES UINT64_MAX

#define POPLINER_USUAL_IPUS 16
#define POPLINER_USUAL_UNITS SIZE_MAX

#define POPLINER_SOLVER_OPTIONS_INIT                                                               \
    {                                                                                              \
        sizeof(popliner_solver_options), POPLINER_METHOD_AUTO, NULL, 0, 0, 0,                      \
            POPLINER_TARGET_BYTES, NULL, 0, POPLINER_USUAL_UNITS, 0, NULL, NULL, NULL, 0, NULL, 0, \
            NULL, 0, false, 0, NULL, NULL, NULL, NULL, NULL, UINT64_MAX, NULL, 0, {0, 0, 0, 0},    \
            NULL, 0, 0, 0, NULL, 0, false, NULL, NULL, NULL                                        \
    }

/* Sets objectives, num_ipus and min_units to the usual values if they are not given, as all
 * functions that solve do, for callers who want to know them before. `num_units`: of
 * counted_units, if they are set. The costs are for pipelines of up to `most_stages`; SIZE_MAX: of
 * any. mem_per_tile is not POPLINER_TARGET_BYTES if that stands for a limit. The objectives are
 * static. O(num_units). */
void popliner_solver_options_complete(popliner_solver_options *options, size_t num_units,
                                      size_t most_stages, bool is_graph);

/* Sets *limit_bytes to the memory that remains on an IPU (SIZE_MAX: one without a reserve of its
 * own) after the reserve of the options. False if the reserve exceeds the memory; *limit_bytes is
 * then the size of the reserve. O(num_ipu_reserves). */
bool popliner_reserve_limit(const popliner_solver_options *options, size_t ipu,
                            uint64_t memory_bytes, uint64_t *limit_bytes);

/* Sets *memory_bytes to the smallest memory of such an IPU that leaves limit_bytes after the
 * reserve of the options. False if none up to INT64_MAX does; *memory_bytes is then unchanged. */
bool popliner_reserve_memory(const popliner_solver_options *options, size_t ipu,
                             uint64_t limit_bytes, uint64_t *memory_bytes);

/* Chooses stages that cover the chain, within all limits and constraints, so that
 *
 *   1. the objectives are as small as possible, in priority order (with slack: at most that
 *      percentage above the smallest possible value),
 *   2. among these splits the cuts come as early as possible: the sorted lists of cuts are compared
 *      element by element, and a list is before any longer one that begins with it. The answer
 *      is therefore unique, for any method.
 *
 * If no split is within the limits, the plan is INFEASIBLE and says why. Its stages are then the
 * best effort: the split that is least above the limit of any IPU (then with the earliest cuts)
 * that the other constraints allow; none, if the constraints conflict. If all limits are equal,
 * that is the split with the smallest peak.
 *
 * If the time limit expires, or should_stop returns true, the plan holds the best known split:
 * FEASIBLE with bounds, unless all is proven by then; INFEASIBLE, with the obstacle UNKNOWN and no
 * stages, if none is known yet.
 *
 * GLPK runs on its own threads, one after another, which end before this returns and take no
 * signals. Does not touch the caller's own use of GLPK (objects, hooks, limits).
 *
 * `options` may be NULL. The caller frees *plan. Errors: USAGE (an invalid option, by name, or
 * struct_size), MEMORY (also if no thread can be started), INTERNAL (GLPK failed or its answer is
 * wrong; the process goes on), and those of the shared peaks.
 *
 * Cost: O(n^2) once, to check whether costs ever shrink. If they do not and no stages share an IPU,
 * then O(n) for each value that is tried, about 40 for each objective; times the number of stages
 * within a budget of traffic, or if peaks or limits depend on the position; and times it again if
 * both do. If they shrink, all intervals within the limits instead of n. BALANCE tries some
 * hundreds of values. O(n * stages) memory besides the table. ILP adds GLPK's time, and up to 1
 * GiB. */
popliner_status popliner_solve(const popliner_costs *costs, const popliner_solver_options *options,
                               popliner_plan **plan, popliner_error *error);

/* The format of an integer program. */
typedef enum popliner_program_format {
    POPLINER_PROGRAM_LP, /* CPLEX LP */
    POPLINER_PROGRAM_MPS /* free MPS */
} popliner_program_format;

/* Chooses which device gets which stage, for devices that differ in their limits and speeds: finds
 * a map of different devices with the best split, of all splits and all orders of the devices
 * 0 ... num_ipus - 1, of which some may stay unused. Sets device_map[num_ipus] to the device of
 * each of *num_stages stages; pass both to popliner_solve, which then finds a split with equal
 * values. *num_stages is 0 if no split fits, in any order. *is_proven is false if the search was
 * stopped; then another order may be better, or fit. Exact: a dynamic program over the remaining
 * units and the devices of each kind that are taken, as often as values are tried (about 40 for
 * each objective). Errors: USAGE, also for a device map, placements, ipu_links, slack, a weight,
 * BALANCE, copies that depend on the number of stages, stages that choose what they recompute, and
 * too many kinds; MEMORY. Cost of one: O(n^2 * kinds * product of the numbers of each kind + 1). */
popliner_status popliner_solver_order_devices(const popliner_costs *costs,
                                              const popliner_solver_options *options,
                                              size_t *device_map, size_t *num_stages,
                                              bool *is_proven, popliner_error *error);

/* Writes the integer program of the first objective into the file `path`: one binary variable
 * z_K_I_J per interval I ... J that may be a stage and per distinguished position K (0 if positions
 * are equal), and, unless the objective is a sum, T, the largest value in units that a comment
 * names. The minimum is the value of the objective, for HEADROOM the largest limit less it.
 *
 * `plan` is an answer of popliner_solve for these costs and options; NULL: solves first. The
 * program leaves out intervals that cost more than its first value by themselves, unless it is
 * INFEASIBLE. GLPK writes the file: 15 digits of a number in LP, and at most 12 characters in MPS.
 * Errors: those of popliner_solve, also USAGE without GLPK or if stages share IPUs, INTERNAL for
 * more than 20 million entries, and OUTPUT. */
popliner_status popliner_solver_write(const popliner_costs *costs,
                                      const popliner_solver_options *options,
                                      const popliner_plan *plan, popliner_program_format format,
                                      const char *path, popliner_error *error);

/* Arranges the units of a graph for these options: searches all contiguous partitions of the graph
 * by a dynamic program over its down-sets, and makes the file whose chain has the stages of the
 * best one. Solve info.costs of *arranged with the same options (those that name units in terms of
 * the new chain): popliner_plan.is_graph_proven then says what was proven of the whole graph. All
 * contiguous partitions are those that satisfy the limits, pairs, placements and numbers of units
 * of the options; for a pair, units of one stage.
 *
 * *arranged is NULL, and the chain of the file stands, if there is nothing to search: the file is
 * no graph, or its graph has one order only, or more than 4096 units; or partitions cannot be
 * judged by the units of their stages: rules for cuts, counted units, BALANCE, slack, links,
 * weights, several stages on one IPU, the method GREEDY.
 *
 * The search ends early after half of options->time_limit_seconds, or without a limit after 2e7
 * steps (a second or a few), or beyond 512 MiB of down-sets. Then *arranged has the best partition
 * that is known, and `graph` a bound.
 *
 * The caller frees *arranged, before `file`, to which it refers. Errors: those of popliner_solve.
 */
popliner_status popliner_costs_file_arrange(const popliner_costs_file *file,
                                            const popliner_solver_options *options,
                                            popliner_costs_file **arranged, popliner_error *error);

/* ---- Pareto front ----
 *
 * All Pareto-optimal points of two objectives. A split dominates another one if it is no worse in
 * both objectives and better in one. The Pareto front is the values of the splits that no other
 * split dominates.
 *
 * Threads: points do not change, and any number of threads may read them at once. The table is used
 * as popliner/costs.h says. */

/* Points, each with its split. Owned by the caller that solved, who reads them and changes nothing;
 * free with popliner_pareto_free. Later versions may append members. */
typedef struct popliner_pareto {
    /* Ascending by the first objective, so descending by the second one. A plan is OPTIMAL; or
     * FEASIBLE if it was not proven, and another split may dominate it. Its bounds are those of the
     * splits with less of the second objective than the previous point. */
    const popliner_plan *const *plans; /* [num_points] */
    /* none, and not stopped: popliner_solve says why nothing fits */
    size_t num_points;
    /* True if it is proven that the front has these points and no others. */
    bool is_complete;
    bool is_stopped; /* the time limit expired, or should_stop returned true */
    popliner_objective objectives[2];
} popliner_pareto;

/* Frees the points. NULL is fine. */
void popliner_pareto_free(popliner_pareto *pareto);

/* Finds the Pareto front of the first two objectives over the splits within all limits and
 * constraints. Each point has the split that popliner_solve would choose among those with its
 * values: by the objectives after the first two, then by the earliest cuts. BALANCE is defined by
 * the list of objectives.
 *
 * The options are those of popliner_solve, and the costs of a profile those of
 * popliner_analysis_costs; the time limit is for all points together. If the time limit expires, or
 * should_stop returns true, the points are those that are known; the last of them may be FEASIBLE.
 *
 * Uses the epsilon-constraint method (Haimes, Lasdon and Wismer, 1971): finds the best split by the
 * objectives in priority order, then repeatedly the best one with less of the second objective,
 * until there is none.
 *
 * The caller frees *pareto. Errors: those of popliner_solve; also USAGE for less than two
 * objectives, for slack, and for the method GREEDY. Cost: that of popliner_solve for each point and
 * once more. */
popliner_status popliner_pareto_solve(const popliner_costs *costs,
                                      const popliner_solver_options *options,
                                      popliner_pareto **pareto, popliner_error *error);

/* ---- Stages that choose how they recompute ----
 *
 * Chooses the recomputation of each stage together with the cuts. A file of costs may list several
 * variants of a unit or an interval, which trade memory and stash for cycles. With
 * POPLINER_RECOMPUTE_AUTO each stage (and in it each unit that has variants) chooses one, so that
 * the objectives are optimal over all choices. Other costs have one table per variant. (For a
 * profile, popliner_analysis_solve and popliner_analysis_costs make them.) popliner_solve and
 * popliner_pareto_solve choose for the costs of such a file or profile, and their plans have the
 * choices: no split with any choices is better in the objectives, in priority order, each within
 * the slack of those before. Each stage then makes the choice with the fewest cycles (at speed 1)
 * within its memory limit, and within MEMORY and HEADROOM, with their slack, if these are
 * objectives, so that nothing is recomputed without need. Where stages share IPUs, those of an IPU
 * choose together: the fewest cycles of the IPU, then its smallest peak, then the fewest cycles of
 * its first stage, and so on; of tables, all take the same one. They reject BALANCE and the greedy
 * algorithm with USAGE, and more than 2^22 Pareto-optimal choices of one stage, or of an IPU, with
 * INPUT. options->time_limit_seconds is for the whole search.
 *
 * Threads: answers do not change, and any number of threads may read them at once. The tables are
 * used as popliner/costs.h says. */

/* Solves like popliner_solve with choices, for stages that run in any of several ways. Each way has
 * a table of costs of one chain, with the peaks and cycles of stages in this way, for every
 * position. The cuts are those of costs[0]. Chooses the first of equal ways; the choices of the
 * plan are names[num_ways]. In an INFEASIBLE plan each stage has its least peak over all ways.
 * Errors: USAGE, also if costs[num_ways] are of different lengths, or only some have cycles; those
 * of popliner_solve. */
popliner_status popliner_variants_solve_costs(const popliner_costs *const *costs,
                                              const char *const *names, size_t num_ways,
                                              const popliner_solver_options *options,
                                              popliner_plan **plan, popliner_error *error);

#ifdef __cplusplus
}
#endif

#endif
