/* popliner: choosing the boundaries.
 *
 * The solvers know costs and limits, not profiles: see popliner/costs.h.
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

/* ---- answers ---- */

/* What a split can be good at. Smaller is better for all of them. */
typedef enum popliner_objective {
    POPLINER_OBJECTIVE_MEMORY, /* the largest peak of an IPU, in bytes on its largest tile */
    /* the cycles of the slowest IPU; an IPU with several stages runs them one after another */
    POPLINER_OBJECTIVE_CYCLES,
    POPLINER_OBJECTIVE_TRAFFIC, /* the bytes over all cuts */
    POPLINER_OBJECTIVE_IPUS,    /* how many IPUs are used */
    /* the spread: how far the cycles of the slowest IPU are from those of the fastest, if CYCLES
     * stands before this objective in the list; else the same of the peaks. Everything on one IPU
     * has none, so without a device map a list should not begin with it: see
     * popliner_objectives_complete */
    POPLINER_OBJECTIVE_BALANCE,
    POPLINER_NUM_OBJECTIVES,
} popliner_objective;

/* Makes a list of objectives that begins with BALANCE spread the work over the IPUs that were
 * given, as the command, the Python module and pages do where no device map says how many stages
 * there are: puts what people look at first before it, and takes it out where it comes later. That
 * is CYCLES for costs of a graph and those without memory, else, and for NULL, MEMORY. Any other
 * list is left unchanged. `objectives` has room for POPLINER_NUM_OBJECTIVES, each at most
 * once; returns how many there are now. O(1). */
size_t popliner_objectives_complete(popliner_objective *objectives, size_t num_objectives,
                                    const popliner_costs *costs);

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
    size_t ipu;           /* where it runs */
    uint64_t peak_bytes;  /* of the largest tile of its IPU, with all that runs there */
    uint64_t cycles;      /* its own, at the speed of its IPU and with what its cuts take on their
                            links; 0 if the costs have none */
    uint64_t cut_bytes;   /* over the cut behind it; 0 for the last one */
    uint64_t link_cycles; /* what that takes on its link; 0 where links have no bandwidths */
} popliner_plan_stage;

/* What has shown that nothing is better, or that nothing fits. */
typedef enum popliner_proof {
    POPLINER_PROOF_NONE, /* nothing has: the search was stopped, or does not prove */
    POPLINER_PROOF_DYNAMIC_PROGRAM,
    POPLINER_PROOF_INTEGER_PROGRAM, /* GLPK, within its tolerances */
    POPLINER_PROOF_SEARCH,          /* over the cuts, or a bound that the split has reached */
    POPLINER_PROOF_ENUMERATION,     /* of all splits */
    POPLINER_NUM_PROOFS,
} popliner_proof;

/* The value that was reached for one objective, within the best for those before it, and the bound:
 * no such split has a smaller one. */
typedef struct popliner_plan_value {
    popliner_objective objective;
    uint64_t value;
    uint64_t bound;
    popliner_proof
        proof; /* of the bound; NONE if it was not found out how small the value can be */
} popliner_plan_value;

/* Why nothing fits. */
typedef enum popliner_obstacle {
    POPLINER_OBSTACLE_NONE,
    POPLINER_OBSTACLE_CONSTRAINTS, /* constraints contradict each other, whatever the memory */
    POPLINER_OBSTACLE_UNIT,        /* one unit is too large for any IPU */
    POPLINER_OBSTACLE_CAPACITY,    /* each unit fits, but not all on so many IPUs of that size */
    POPLINER_OBSTACLE_UNKNOWN,     /* stopped before that was found out, or it was not asked for */
    /* one unit is too large for the IPUs that it may be on, though another one would hold it */
    POPLINER_OBSTACLE_PLACE,
} popliner_obstacle;

/* One thing that the solver's options ask for: see there. */
typedef enum popliner_constraint_kind {
    POPLINER_CONSTRAINT_MAX_STAGES,
    POPLINER_CONSTRAINT_DEVICE_MAP, /* that there are as many stages as it has, where it says */
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

/* A change that is enough by itself, all else as it is. */
typedef enum popliner_remedy_kind {
    POPLINER_REMEDY_IPU_LIMIT,   /* `ipu` has a limit of `bytes`, the smallest that works */
    POPLINER_REMEDY_EVERY_LIMIT, /* each limit is larger by `bytes`, the fewest that work */
    /* `constraint` is left out; of MIN_UNITS and MAX_UNITS `number` is the nearest that works */
    POPLINER_REMEDY_CONSTRAINT,
    /* instead of the device map there are max_stages `number`, the fewest that work */
    POPLINER_REMEDY_WITHOUT_MAP,
    /* a run of forbidden cuts without a gap is left out: `constraint` is the first of them, and
     * `last_unit` the unit before the last one. `enough_unit` is the first of these units after
     * which a cut alone is enough; SIZE_MAX if there is none, or more than 64 would have to be
     * tried */
    POPLINER_REMEDY_CUT_RUN,
    POPLINER_NUM_REMEDY_KINDS,
} popliner_remedy_kind;

/* Members that a kind does not name are 0. */
typedef struct popliner_remedy {
    popliner_remedy_kind kind;
    size_t ipu;
    uint64_t bytes;
    popliner_constraint constraint;
    size_t number;
    size_t last_unit;
    size_t enough_unit;
} popliner_remedy;

typedef struct popliner_infeasibility {
    popliner_obstacle obstacle;
    /* CONSTRAINTS: those of which each is needed for the contradiction; none if the costs alone
     * forbid every split (see needs_costs). Owned by the plan. */
    popliner_constraint *constraints;
    size_t num_constraints;
    /* UNIT, PLACE: the first such unit, its peak alone, and the largest limit of an IPU that it may
     * be on. */
    size_t unit;
    uint64_t unit_bytes;
    uint64_t limit_bytes;
    /* The smallest max_stages that works, all else as it is; 0 if none does (with a device map: not
     * looked for; stopped: perhaps not found). */
    size_t enough_stages;
    /* UNIT, PLACE and CAPACITY: the smallest max_stage_bytes that works, all else as it is; 0
     * likewise. */
    uint64_t enough_bytes;

    /* PLACE: the first IPU that would hold the unit. */
    size_t fitting_ipu;
    /* Other remedies, each found by solving with it, limits and all: limits of IPUs where some have
     * limits of their own (not for CONSTRAINTS), then constraints in their order, of which a run of
     * forbidden cuts is one, then the device map. Owned by the plan, like the next. */
    popliner_remedy *remedies;
    size_t num_remedies;
    /* Where no single constraint is a remedy, but several together are: some that are, of which
     * each is needed. */
    popliner_constraint *left_out;
    size_t num_left_out;
    /* False if some were not looked for: more than 16 IPUs, 64 constraints (or cuts of a run), or
     * 20 seconds. */
    bool has_all_remedies;
    /* No max_stage_bytes below this works. It is enough_bytes, unless the search was stopped or
     * stages share IPUs and 20 seconds were not enough to find the best effort; 0 without
     * enough_bytes. */
    uint64_t enough_bytes_bound;
    /* CONSTRAINTS: the costs are a part of the contradiction: were no stage forbidden, alone or
     * with others on its IPU, the constraints would leave a split. */
    bool needs_costs;
} popliner_infeasibility;

/* An answer. The stages follow each other without a gap; unless the plan is INFEASIBLE they cover
 * the whole chain (the best effort of the greedy algorithm may leave a rest). Owned by the caller
 * that solved; free with popliner_plan_free. */
typedef struct popliner_plan popliner_plan;

typedef struct popliner_plan_summary {
    popliner_plan_status status;
    /* The time was up, the caller wanted it to end, or it would have needed GLPK, which is not
     * there: see popliner_solver_has_glpk. Beside an OPTIMAL plan there may then be others that are
     * as good and have earlier cuts. */
    bool is_stopped;
    const popliner_plan_stage *stages; /* [num_stages] */
    size_t num_stages;
    size_t num_ipus;
    /* [num_values]: of the objectives that were asked for, in their order. None with the greedy
     * algorithm, which knows no bounds. Of an INFEASIBLE plan: the best effort's, each bound 0. */
    const popliner_plan_value *values;
    size_t num_values;

    uint64_t peak_bytes; /* the largest peak_bytes of a stage */
    uint64_t cycles;     /* of the slowest IPU */
    uint64_t cut_bytes;  /* sum over the cuts, or UINT64_MAX - 1 if larger */
    uint64_t spread;     /* see POPLINER_OBJECTIVE_BALANCE */

    /* Never NULL. The obstacle is NONE where the stages are within the limits, and of the greedy
     * algorithm, which looks for no reasons. */
    const popliner_infeasibility *infeasibility;

    /* Of an OPTIMAL plan: what proved the last of its values. Of an INFEASIBLE one: what proved
     * that nothing is within the limits. Else NONE. */
    popliner_proof proof;
} popliner_plan_summary;

/* As long as the plan. O(1). */
const popliner_plan_summary *popliner_plan_get_summary(const popliner_plan *plan);

/* NULL is fine. */
void popliner_plan_free(popliner_plan *plan);

/* ---- what is asked ---- */

typedef enum popliner_method {
    /* What is fastest and proves its answer: the dynamic program alone. Where stages share IPUs, a
     * look at each split if there are no more than a million; else GLPK, or, where several IPUs are
     * shared or it has learnt too much for its programs to stay small, an exact search over all
     * stages. For a second opinion solve again by ILP. */
    POPLINER_METHOD_AUTO,
    POPLINER_METHOD_DYNAMIC_PROGRAMMING, /* alone; not where stages share IPUs */
    /* The algorithm of PopLiner 1.0.0, to the letter: for at least 3, then 2, then 1 units per
     * stage, for a target of 50, 60, ... 100 % of max_stage_bytes, stages are filled one after
     * another with as many units as keep the peak within the target; the first attempt that places
     * all units in at most max_stages stages wins. Each attempt is announced to the listener. No
     * other option counts, and there are no values, cuts or cycles. Without a success the plan is
     * INFEASIBLE and holds the stages of the last attempt, which may not cover the chain and may be
     * none. */
    POPLINER_METHOD_GREEDY,
    /* GLPK alone: integer programs choose all boundaries, one program for each objective, within
     * the best for those before it, and one that asks for less than the answer. The dynamic program
     * is not asked: this is a second opinion on it. Only where nothing fits it looks for the
     * reasons. Many times slower, for chains of up to about a hundred units; larger programs end in
     * INTERNAL. */
    POPLINER_METHOD_ILP,
} popliner_method;

/* Whether the library has GLPK: one that was built with POPLINER_GLPK=OFF has not. Then
 * POPLINER_METHOD_ILP is an error of USAGE. POPLINER_METHOD_AUTO proves all answers but some where
 * stages share IPUs, there are more than a million splits, and these have too many places for cuts
 * between their IPUs: such a search ends as if it was stopped, with a warning. */
bool popliner_solver_has_glpk(void);

/* What must be true of the place before a unit. */
typedef enum popliner_cut_rule {
    POPLINER_CUT_FREE,
    POPLINER_CUT_REQUIRED,
    POPLINER_CUT_FORBIDDEN,
} popliner_cut_rule;

/* Two units that must run on the same IPU. Unless IPUs are shared that is one stage, and so all
 * units between them are in it. */
typedef struct popliner_pair {
    size_t first_unit;
    size_t second_unit;
} popliner_pair;

/* A unit that must run on an IPU. */
typedef struct popliner_placement {
    size_t unit;
    size_t ipu;
} popliner_placement;

/* What of the memory of a tile is kept free: some bytes and, in hundredths of a percent, a share of
 * the memory, rounded down. */
typedef struct popliner_reserve {
    uint64_t bytes;
    uint64_t percent_hundredths;
} popliner_reserve;

/* What is left of the memory of a tile. False, with *limit_bytes the bytes that would have to be
 * kept free, if these are more than there are. */
bool popliner_reserve_limit(const popliner_reserve *reserve, uint64_t memory_bytes,
                            uint64_t *limit_bytes);

/* How much of something, such as parameters, an IPU has with these stages (at least 1, ascending)
 * on it: never less when a stage grows or another one comes. Their stages_to_end mean nothing. */
typedef uint64_t (*popliner_weight_function)(void *user, const popliner_interval *stages,
                                             size_t num_stages);

/* What is asked for. Begin with POPLINER_SOLVER_OPTIONS_INIT. Arrays are the caller's; each may be
 * NULL with its number 0. */
typedef struct popliner_solver_options {
    size_t struct_size;
    popliner_method method;

    /* What is best, in order: each is optimised within the optimum of those before it. None stands
     * for MEMORY, TRAFFIC; none twice. */
    const popliner_objective *objectives;
    size_t num_objectives;
    double slack_percent; /* each optimum may be missed by so much for the sake of the next ones */

    size_t max_stages;        /* at least 1; not looked at with a device map */
    uint64_t max_stage_bytes; /* no IPU may have a larger peak; or POPLINER_TARGET_BYTES */
    const popliner_ipu_limit *ipu_limits;
    size_t num_ipu_limits;

    size_t min_units; /* of a stage; the command asks for 1, which rules out a head alone */
    size_t max_units; /* of a stage; 0 for any */
    /* What counts for these two: one mark per unit, 0 for those that do not (a chain's head and
     * tail). NULL: those of the costs, popliner_costs_counted_units. */
    const uint8_t *counted_units;
    const popliner_cut_rule *cut_rules; /* one per unit (the first means nothing), or NULL */
    const popliner_pair *pairs;
    size_t num_pairs;
    const popliner_placement *placements;
    size_t num_placements;

    /* The IPU of each stage, in order: then there are exactly so many stages, and those on the same
     * IPU share its memory. Without it stage k runs on IPU k. */
    const size_t *device_map;
    size_t num_mapped_stages;

    /* When nothing fits, do not look for reasons: the plan stays empty, with the obstacle
     * UNKNOWN. */
    bool without_reasons;

    /* 0 = none. Where stages share IPUs, a quarter of it is the most that the earliest of equally
     * good cuts are looked for. */
    double time_limit_seconds;
    /* Asked now and then whether to stop; may be NULL. Must return. Like the listener and the
     * functions of the costs it is called by the thread that called popliner_solve. */
    bool (*should_stop)(void *user);
    void *should_stop_user;

    const popliner_listener *listener; /* may be NULL */

    /* NULL for none: what no IPU may have more of, such as parameters. Not among the constraints
     * that a contradiction names. */
    popliner_weight_function ipu_weight;
    void *ipu_weight_user;
    uint64_t max_ipu_weight;

    /* IPUs with a speed of their own, none twice: the cycles of a stage there are divided by it,
     * rounded up. Those of an IPU are the sum over its stages. */
    const popliner_ipu_speed *ipu_speeds;
    size_t num_ipu_speeds;

    /* The links between IPUs, and those of them that differ, none twice. A cut takes its bytes over
     * the bandwidth of the link between the IPUs of the two stages beside it, rounded up (at most
     * POPLINER_MAX_CYCLES), and both are busy for so long, beside the cycles of the costs and
     * whatever their speeds. Not where stages share IPUs. Of an analysis, links of which nothing is
     * said have POPLINER_LINK_BYTES_PER_SECOND. */
    popliner_bandwidth link_bandwidth;
    const popliner_ipu_link *ipu_links;
    size_t num_ipu_links;

    /* What the limits are less already: texts tell with it what memory would be enough. */
    popliner_reserve reserve;
} popliner_solver_options;

/* Instead of a limit, of which 0 is one: the memory of a tile of the profile's target, where there
 * is a profile, else none. */
#define POPLINER_TARGET_BYTES UINT64_MAX

#define POPLINER_SOLVER_OPTIONS_INIT                                                               \
    {                                                                                              \
        sizeof(popliner_solver_options), POPLINER_METHOD_AUTO, NULL, 0, 0, 16,                     \
            POPLINER_TARGET_BYTES, NULL, 0, 0, 0, NULL, NULL, NULL, 0, NULL, 0, NULL, 0, false, 0, \
            NULL, NULL, NULL, NULL, NULL, UINT64_MAX, NULL, 0, {0, 0}, NULL, 0, {                  \
            0, 0                                                                                   \
        }                                                                                          \
    }

/* How the users of a program know what the library calls by the names of its fields: some texts
 * lead to an option that may be changed, and a program gives these names so that its users find it.
 * Begin with POPLINER_OPTION_NAMES_INIT. The strings are the caller's. A member that is NULL stands
 * for the default beside it. */
typedef struct popliner_option_names {
    size_t struct_size;
    /* of popliner_analysis_options */
    const char *layer_name_regex;      /* "layer_name_regex" */
    const char *first_layer_regex;     /* "first_layer_regex" */
    const char *layer_name_regex_hint; /* sentences behind the advice to change it: "" */
    const char *ipu;                   /* "ipu" */

    /* of popliner_solver_options, as what to change when nothing fits */
    const char *max_stages;      /* "max_stages" */
    const char *max_stage_bytes; /* "max_stage_bytes" */

    /* Constraints by kind: "max_stages", "device_map", "min_units", "max_units", "required cut
     * after", "forbidden cut after", "pair", "placement". They become texts such as "max_stages 3",
     * "device_map of 3 stages", "pair A and B", "placement A=0". */
    const char *constraints[POPLINER_NUM_CONSTRAINT_KINDS];

    const char *reserve; /* "reserve" */

    /* of popliner_section_text, before the name of a section */
    const char *section; /* "section" */

    /* of popliner_emit_options */
    const char *layer_path;   /* "layer_path" */
    const char *head_modules; /* "head_modules" */
    const char *tail_modules; /* "tail_modules" */
} popliner_option_names;

#define POPLINER_OPTION_NAMES_INIT                                                                 \
    {                                                                                              \
        sizeof(popliner_option_names), NULL, NULL, NULL, NULL, NULL, NULL,                         \
            {NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL}, NULL, NULL, NULL, NULL, NULL         \
    }

/* Chooses stages that cover the chain, within all limits and constraints, so that
 *   1. the objectives are as small as possible, one after another (with slack: at most so much
 *      above the smallest possible),
 *   2. among these splits the cuts come as early as possible: the sorted lists of cuts are compared
 *      element by element, and a list is before any longer one that begins with it.
 * So the answer is unique, whatever the method.
 *
 * When no split is within the limits, the plan is INFEASIBLE and says why. Its stages are then the
 * best effort: the split with the smallest largest peak (then the earliest cuts) that the other
 * constraints allow; none, if they contradict each other.
 *
 * When time is up, or should_stop returns true, the plan holds the best that is known: FEASIBLE
 * with bounds, unless all is proven by then; INFEASIBLE, with the obstacle UNKNOWN and no stages,
 * if nothing is known yet.
 *
 * GLPK runs on threads of its own, one after another, which end before this returns and take no
 * signals. What the caller does with GLPK itself (objects, hooks, limits) is not touched.
 *
 * `options` may be NULL. The caller frees *plan. Errors: USAGE (an option that makes no sense, by
 * name, or struct_size), MEMORY (also if no thread is to be had), INTERNAL (GLPK failed or its
 * answer does not check; the process goes on), and
 * those of the shared peaks.
 *
 * Cost: O(n^2) once, for looking whether costs ever shrink. Where they do not and no stages share
 * an IPU, then O(n) for each value that is tried, about 40 for each objective; times the number of
 * stages within a budget of traffic, or where peaks or limits depend on the place; and times it
 * again where both do. Where they shrink, all intervals within the limits instead of n. BALANCE
 * tries some hundreds of values. O(n * stages) memory besides the table. For ILP also GLPK's time,
 * and up to 1 GiB. */
popliner_status popliner_solve(const popliner_costs *costs, const popliner_solver_options *options,
                               popliner_plan **plan, popliner_error *error);

/* Writes the integer program of the first objective into the file `path`: one binary variable
 * z_K_I_J per interval I ... J that may be a stage and per place K that stages are told apart by (0
 * where all are one), and T, in units that a comment names, whose smallest value is that of the
 * objective. Before that it is solved, by the fastest method: intervals that cost more than the
 * best value are left out, and where stages share IPUs, the program holds what had to be learnt for
 * their sake. A solve that is stopped leaves less out, and a comment says what is known; where IPUs
 * are shared the program may then have too small an optimum, and says so.
 * Coefficients are whole numbers, or have few digits before the point.
 * `plan` is an answer of popliner_solve for these costs and options, which may have been stopped:
 * then nothing is solved again but for what stages that share IPUs need, unless the answer says
 * that nothing fits. NULL: none.
 * Errors: as popliner_solve, also USAGE if BALANCE comes first where stages share IPUs, and
 * OUTPUT. */
typedef enum popliner_program_format {
    POPLINER_PROGRAM_LP, /* CPLEX LP */
    POPLINER_PROGRAM_MPS /* free MPS */
} popliner_program_format;
popliner_status popliner_solver_write(const popliner_costs *costs,
                                      const popliner_solver_options *options,
                                      const popliner_plan *plan, popliner_program_format format,
                                      const char *path, popliner_error *error);

/* ---- All best compromises ---- *
 *
 * All best compromises between two objectives.
 *
 * A split is dominated if another one is no worse in both objectives and better in one. The best
 * compromises are the values of the splits that no other dominates: their Pareto front.
 *
 * Threads: compromises do not change, and any number of threads may read them at once. The table
 * is used as popliner/costs.h says. */

/* Points, each with its split. Owned by the caller that solved; free with popliner_pareto_free. */
typedef struct popliner_pareto popliner_pareto;

typedef struct popliner_pareto_summary {
    /* By the first objective from the smallest value to the largest, so by the second one from the
     * largest to the smallest. A plan is OPTIMAL; or FEASIBLE if it was not proven: something may
     * dominate it. Its bounds are those of the splits with less of the second objective than the
     * point before. */
    const popliner_plan *const *plans; /* [num_points] */
    size_t num_points; /* with none, and not stopped: popliner_solve says why nothing fits */
    /* It is proven that these points are all, and each of them that nothing dominates it. */
    bool is_complete;
    bool is_stopped; /* the time was up, or the caller wanted it to end */
    popliner_objective objectives[2];
} popliner_pareto_summary;

/* As long as the points. O(1). */
const popliner_pareto_summary *popliner_pareto_get_summary(const popliner_pareto *pareto);

/* NULL is fine. */
void popliner_pareto_free(popliner_pareto *pareto);

/* Finds every pair of values of the first two objectives that no split within all limits and
 * constraints dominates, and for each pair the split that popliner_solve would choose among those
 * that have it: by the objectives behind the first two, then by the earliest cuts. BALANCE is what
 * it is in such a list of objectives.
 *
 * The options are those of popliner_solve, and the costs of a profile those of
 * popliner_analysis_costs; the time limit is for all points together. When time is up, or
 * should_stop returns true, the points are those that are known; the last of them may be FEASIBLE.
 *
 * The method is that of a limit on the second objective (the epsilon-constraint method, Haimes,
 * Lasdon and Wismer, 1971): the best split by one objective after the other, then the same with
 * less of the second one, until there is none.
 *
 * The caller frees *pareto. Errors: as popliner_solve; also USAGE for less than two objectives, for
 * slack, and for the method GREEDY. Cost: that of popliner_solve for each point and once more. */
popliner_status popliner_pareto_solve(const popliner_costs *costs,
                                      const popliner_solver_options *options,
                                      popliner_pareto **pareto, popliner_error *error);

/* ---- Stages that choose how they recompute ---- *
 *
 * Stages that choose how they recompute, together with the cuts.
 *
 * A file of costs may list several ways of running a unit or an interval, each with its memory,
 * stash and cycles: less of the one for more of the other. With POPLINER_RECOMPUTE_AUTO each stage
 * (and in it each unit that has variants) chooses, so that memory and cycles are as small as they
 * can be together. Other costs have a table for each way. (Of a profile popliner_analysis_solve
 * makes them.)
 *
 * Threads: answers do not change, and any number of threads may read them at once. The tables
 * are used as popliner/costs.h says. */

/* Owned by the caller; free with popliner_variants_answer_free. */
typedef struct popliner_variants_answer popliner_variants_answer;

/* As popliner_solve, for a file that was read with POPLINER_RECOMPUTE_AUTO: no split with any
 * choices is better in the objectives, one after another. Each stage then makes the choice with
 * the fewest cycles that its limit of memory, and the value of MEMORY if that is an objective,
 * leave; so nothing is recomputed without need. BALANCE, a slack, stages that share an IPU and the
 * greedy algorithm are refused. options->time_limit_seconds is that of the whole search.
 * Errors: USAGE (also for a file that was read with another way of recomputing), INPUT for more
 * than 2^22 compromises of one stage, and those of popliner_solve.
 * Cost: a table and a solve for each number of cycles that is tried, about 40. */
popliner_status popliner_variants_solve(const popliner_costs_file *file,
                                        const popliner_solver_options *options,
                                        popliner_variants_answer **answer, popliner_error *error);

/* The same for stages that may be run in any of several ways, each with a table of costs: of the
 * same chain, with the peaks and cycles that stages have then, wherever they stand. The cuts are
 * those of costs[0]. Of equal ways the first is chosen; texts of the answer are names[num_ways].
 * Of a plan that is INFEASIBLE each stage has the least peak that it can have. Errors: USAGE, also
 * where costs[num_ways] are of different lengths, or only some have cycles; those of
 * popliner_solve. Cost: as above. */
popliner_status popliner_variants_solve_costs(const popliner_costs *const *costs,
                                              const char *const *names, size_t num_ways,
                                              const popliner_solver_options *options,
                                              popliner_variants_answer **answer,
                                              popliner_error *error);

/* Gives the plan away, whose stages have the peaks and cycles of their choices; NULL from the
 * second time on. */
popliner_plan *popliner_variants_take_plan(popliner_variants_answer *answer);

/* The choices of the stages: "none", "full" (all is recomputed, the inputs are kept), the name of
 * an interval's variant, or those of units that are not as they are, "u=NAME,...". One for each
 * stage of the plan; lives as long as the answer. */
const char *const *popliner_variants_texts(const popliner_variants_answer *answer);

/* NULL is fine. */
void popliner_variants_answer_free(popliner_variants_answer *answer);

#ifdef __cplusplus
}
#endif

#endif
