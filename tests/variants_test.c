/* Choosing how stages recompute together with the cuts, against every split with every choice.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "plain_options.h"
#include "test.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "popliner/solver.h"
#include "test_data.h"

enum { MOST_UNITS = 5, MOST_VARIANTS = 3, MOST_OPTIONS = 256, TEXT_SIZE = 1 << 14 };

typedef struct amounts {
    uint64_t memory;
    uint64_t stash;
    uint64_t cycles;
} amounts;

/* What a file says. */
typedef struct made_file {
    size_t num_units;
    bool has_full;                   /* each unit has inputs */
    size_t num_variants[MOST_UNITS]; /* the first is as it is */
    amounts variants[MOST_UNITS][MOST_VARIANTS];
    uint64_t inputs[MOST_UNITS];
    uint64_t recompute[MOST_UNITS];
    uint64_t cut_cycles[MOST_UNITS + 1];
    uint64_t cuts[MOST_UNITS];
    uint64_t shared_bytes;
    unsigned shared_units; /* bits */
    uint64_t capacity;
    char text[TEXT_SIZE];
    size_t length;
} made_file;

static void put(made_file *m, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int count = vsnprintf(m->text + m->length, TEXT_SIZE - m->length, format, arguments);
    va_end(arguments);
    assert_true(count >= 0 && (size_t)count < TEXT_SIZE - m->length);
    m->length += (size_t)count;
}

static void put_amounts(made_file *m, amounts a) {
    put(m, "\"memory\": %u, \"stash\": %u, \"cycles\": %u", (unsigned)a.memory, (unsigned)a.stash,
        (unsigned)a.cycles);
}

/* The numbers of a unit, and their text. */
static void draw_unit(made_file *m, uint64_t *random, size_t u) {
    size_t count = 1 + test_below(random, MOST_VARIANTS);
    m->num_variants[u] = count;
    for (size_t k = 0; k < count; k++)
        m->variants[u][k] =
            (amounts){test_below(random, 6), test_below(random, 6), test_below(random, 8)};
    m->inputs[u] = m->has_full ? test_below(random, 5) : 0;
    m->recompute[u] = test_below(random, 5);
    put_amounts(m, m->variants[u][0]);
    if (m->has_full)
        put(m, ", \"inputs\": %u", (unsigned)m->inputs[u]);
    put(m, ", \"recompute_cycles\": %u, \"variants\": [", (unsigned)m->recompute[u]);
    for (size_t k = 1; k < count; k++) {
        put(m, "%s{\"name\": \"v%zu\", ", k > 1 ? ", " : "", k);
        put_amounts(m, m->variants[u][k]);
        put(m, "}");
    }
    put(m, "]}");
}

static void draw_file(made_file *m, uint64_t *random) {
    *m = (made_file){.num_units = 1 + test_below(random, MOST_UNITS)};
    size_t n = m->num_units;
    m->has_full = test_below(random, 2) == 0;
    m->capacity = test_below(random, 4) == 0 ? 5 + test_below(random, 40) : UINT64_MAX;
    put(m, "{\"format\": \"popliner-costs\", \"version\": 1, ");
    if (m->capacity != UINT64_MAX)
        put(m, "\"regions\": [{\"name\": \"r\", \"capacity\": %u}], ", (unsigned)m->capacity);
    /* the last units may be alike, with their cuts */
    const size_t tail = test_below(random, 2) == 0 ? test_below(random, n) : n;
    uint64_t of_tail = *random;
    put(m, "\"units\": [");
    for (size_t u = 0; u < n; u++) {
        uint64_t again = of_tail;
        put(m, "%s{\"name\": \"u%zu\", ", u > 0 ? ", " : "", u);
        draw_unit(m, u > tail ? &again : random, u);
        if (u < tail)
            of_tail = *random;
    }
    put(m, "], \"cuts\": [");
    for (size_t u = 1; u < n; u++) {
        m->cuts[u] = test_below(random, 4);
        put(m, "%s%u", u > 1 ? ", " : "", (unsigned)m->cuts[u]);
    }
    put(m, "]");
    if (n > 1) {
        put(m, ", \"cut_cycles\": [");
        for (size_t u = 1; u < n; u++) {
            m->cut_cycles[u] = u > tail ? m->cut_cycles[u - 1] : test_below(random, 3);
            put(m, "%s%u", u > 1 ? ", " : "", (unsigned)m->cut_cycles[u]);
        }
        put(m, "]");
    }
    if (n > 1 && tail == n) {
        m->shared_units = 1 + (unsigned)test_below(random, (1u << n) - 1);
        m->shared_bytes = test_below(random, 5);
        put(m, ", \"shared\": [{\"memory\": %u, \"units\": [", (unsigned)m->shared_bytes);
        bool is_first = true;
        for (size_t u = 0; u < n; u++)
            if ((m->shared_units >> u & 1) != 0) {
                put(m, "%s\"u%zu\"", is_first ? "" : ", ", u);
                is_first = false;
            }
        put(m, "]}]");
    }
    put(m, "}");
}

/* ---- every choice --------------------------------------------------------------------------- */

typedef struct option {
    uint64_t peak;
    uint64_t cycles;
    char text[64];
} option;

/* All that a stage may choose, above no capacity. */
static size_t list_options(const made_file *m, size_t first, size_t last, size_t copies,
                           size_t num_under_way, option *options) {
    size_t count = 0;
    option own[MOST_OPTIONS];
    size_t num_own = 0;
    size_t num_ways = 1;
    option base = {0, m->cut_cycles[first] + m->cut_cycles[last + 1], ""};
    option full = base;
    for (size_t u = first; u <= last; u++) {
        num_ways *= m->num_variants[u];
        full.peak += m->variants[u][0].memory + num_under_way * m->variants[u][0].stash;
        full.cycles += m->variants[u][0].cycles + m->recompute[u];
    }
    base.peak =
        (m->shared_units >> first & ((2u << (last - first)) - 1)) != 0 ? m->shared_bytes : 0;
    full.peak += base.peak + (copies - num_under_way) * m->inputs[first];
    strcpy(full.text, "full");
    for (size_t way = 0; way < num_ways; way++) {
        option next = base;
        size_t rest = way;
        for (size_t u = first; u <= last; u++) {
            size_t k = rest % m->num_variants[u];
            const amounts *a = &m->variants[u][k];
            rest /= m->num_variants[u];
            next.peak += a->memory + copies * a->stash;
            next.cycles += a->cycles;
            size_t length = strlen(next.text);
            if (k > 0)
                snprintf(next.text + length, 64 - length, "%su%zu=v%zu", length > 0 ? "," : "", u,
                         k);
        }
        if (next.text[0] == '\0')
            strcpy(next.text, "none");
        own[num_own++] = next;
    }
    if (m->has_full)
        own[num_own++] = full;
    for (size_t i = 0; i < num_own; i++)
        if (own[i].peak <= m->capacity)
            options[count++] = own[i];
    return count;
}

/* What is asked. */
typedef struct question {
    const made_file *m;
    popliner_solver_options options;
    popliner_objective objectives[4];
    popliner_ipu_value limits[2];
    popliner_ipu_value speed;
    popliner_ipu_link link;
    const popliner_pipeline *pipeline;
    uint64_t below; /* the second objective of a point of a front; 0: any */
} question;

static uint64_t up(uint64_t amount, uint64_t of, uint64_t by) {
    return (amount * of + by - 1) / by;
}

/* What the cut before a unit takes between the IPU of a stage and that of the one before. */
static uint64_t link_cycles(const question *q, size_t stage, size_t unit) {
    popliner_ipu_link bandwidth = q->options.link_bandwidth;
    if (unit == 0 || unit == q->m->num_units)
        return 0;
    if (q->options.num_ipu_links > 0 && q->link.first_ipu + 1 == stage)
        bandwidth = q->link;
    return bandwidth.bytes == 0 ? 0 : up(q->m->cuts[unit], bandwidth.cycles, bandwidth.bytes);
}

/* Cycles on the IPU of a stage, with its links. */
static uint64_t busy(const question *q, size_t stage, size_t first, size_t last, uint64_t cycles) {
    bool is_own = q->options.num_ipu_speeds > 0 && q->speed.ipu == stage;
    return up(cycles, 1000000, is_own ? q->speed.value : 1000000) + link_cycles(q, stage, first) +
           link_cycles(q, stage + 1, last + 1);
}

static uint64_t limit_of(const question *q, size_t ipu) {
    uint64_t limit = q->options.mem_per_tile;
    for (size_t i = 0; i < q->options.num_ipu_limits; i++)
        if (q->options.ipu_limits[i].ipu == ipu)
            limit = q->options.ipu_limits[i].value;
    return limit;
}

typedef struct values {
    bool exists;
    uint64_t of[POPLINER_NUM_OBJECTIVES];
} values;

static size_t copies_at(const question *q, size_t to_end) {
    return popliner_copies_at(&q->pipeline->copies, to_end);
}

/* The options of all stages, made once for a question. */
static struct {
    option options[MOST_OPTIONS];
    size_t count;
} tables[MOST_UNITS][MOST_UNITS][MOST_UNITS + 1];

static void fill_tables(const question *q) {
    for (size_t first = 0; first < q->m->num_units; first++)
        for (size_t last = first; last < q->m->num_units; last++)
            for (size_t to_end = 1; to_end <= q->m->num_units; to_end++)
                tables[first][last][to_end].count =
                    list_options(q->m, first, last, copies_at(q, to_end), q->pipeline->copies.more,
                                 tables[first][last][to_end].options);
}

/* A split, with no stage above max_peak: the fewest cycles of the slowest stage. */
static values value_of(const question *q, unsigned begins, uint64_t max_peak) {
    size_t n = q->m->num_units;
    size_t num_stages = 1;
    size_t stage = 0;
    values v = {.exists = true};
    for (size_t u = 1; u < n; u++)
        num_stages += begins >> u & 1;
    v.exists = num_stages <= q->options.num_ipus;
    for (size_t first = 0, next; v.exists && first < n; first = next, stage++) {
        uint64_t least = UINT64_MAX;
        for (next = first + 1; next < n && (begins >> next & 1) == 0;)
            next++;
        const option *options = tables[first][next - 1][num_stages - stage].options;
        size_t count = tables[first][next - 1][num_stages - stage].count;
        for (size_t i = 0; i < count; i++)
            if (options[i].peak <= max_peak && options[i].peak <= limit_of(q, stage) &&
                busy(q, stage, first, next - 1, options[i].cycles) < least)
                least = busy(q, stage, first, next - 1, options[i].cycles);
        v.exists = least < UINT64_MAX;
        if (least > v.of[POPLINER_OBJECTIVE_CYCLES])
            v.of[POPLINER_OBJECTIVE_CYCLES] = least;
        v.of[POPLINER_OBJECTIVE_TRAFFIC] += first > 0 ? q->m->cuts[first] : 0;
    }
    v.of[POPLINER_OBJECTIVE_MEMORY] = max_peak;
    v.of[POPLINER_OBJECTIVE_IPUS] = num_stages;
    return v;
}

/* The least value of each objective within the values and the slack of those before, and the
 * largest value that it may have. */
typedef struct truth {
    bool exists;
    uint64_t least[4];
    uint64_t most[4];
} truth;

/* The largest peak that a stage may have is tried from 0 on: bytes are few. */
static truth best_of_all(const question *q) {
    enum { MOST_BYTES = 240 };
    static values all[MOST_BYTES << MOST_UNITS];
    size_t count = 0;
    fill_tables(q);
    for (unsigned begins = 0; begins < 1u << q->m->num_units; begins += 2)
        for (uint64_t peak = 0; peak < MOST_BYTES; peak++) {
            values own = value_of(q, begins, peak);
            if (own.exists && (q->below == 0 || own.of[q->objectives[1]] < q->below))
                all[count++] = own;
        }
    truth t = {.exists = count > 0};
    for (size_t i = 0; i < q->options.num_objectives; i++) {
        popliner_objective objective = q->options.objectives[i];
        size_t kept = 0;
        t.least[i] = UINT64_MAX;
        for (size_t k = 0; k < count; k++)
            if (all[k].of[objective] < t.least[i])
                t.least[i] = all[k].of[objective];
        bool has_slack = t.exists && i + 1 < q->options.num_objectives;
        t.most[i] =
            t.least[i] + (has_slack ? t.least[i] * (uint64_t)q->options.slack_percent / 100 : 0);
        for (size_t k = 0; k < count; k++)
            if (all[k].of[objective] <= t.most[i])
                all[kept++] = all[k];
        count = kept;
    }
    return t;
}

/* ---- against them --------------------------------------------------------------------------- */

static void draw_question(question *q, uint64_t *random) {
    static const popliner_objective all[] = {POPLINER_OBJECTIVE_MEMORY, POPLINER_OBJECTIVE_CYCLES,
                                             POPLINER_OBJECTIVE_TRAFFIC, POPLINER_OBJECTIVE_IPUS};
    memcpy(q->objectives, all, sizeof all);
    for (size_t i = 3; i > 0; i--) {
        size_t k = test_below(random, i + 1);
        popliner_objective kept = q->objectives[i];
        q->objectives[i] = q->objectives[k];
        q->objectives[k] = kept;
    }
    q->options = (popliner_solver_options)PLAIN_SOLVER_OPTIONS;
    q->options.objectives = q->objectives;
    q->options.num_objectives = 1 + test_below(random, 4);
    q->options.num_ipus = 1 + test_below(random, MOST_UNITS);
    if (test_below(random, 3) == 0 && popliner_solver_has_glpk())
        q->options.method = POPLINER_METHOD_ILP;
    if (test_below(random, 2) == 0)
        q->options.mem_per_tile = 5 + test_below(random, 50);
    if (test_below(random, 4) == 0) {
        q->limits[0] = (popliner_ipu_value){test_below(random, 3), 5 + test_below(random, 50)};
        q->options.ipu_limits = q->limits;
        q->options.num_ipu_limits = 1;
    }
    if (test_below(random, 4) == 0)
        q->options.slack_percent = 10.0 * (double)(1 + test_below(random, 5));
    if (test_below(random, 4) == 0) {
        q->speed =
            (popliner_ipu_value){test_below(random, 3), 250000 * (1 + test_below(random, 8))};
        q->options.ipu_speeds = &q->speed;
        q->options.num_ipu_speeds = 1;
    }
    if (test_below(random, 4) == 0) {
        size_t ipu = test_below(random, 3);
        q->link = (popliner_ipu_link){ipu, ipu + 1, 1, 1 + test_below(random, 5)};
        q->options.ipu_links = &q->link;
        q->options.num_ipu_links = 1;
        q->options.link_bandwidth = (popliner_ipu_link){.bytes = 1 + test_below(random, 3),
                                                        .cycles = 1 + test_below(random, 4)};
    }
}

static void check_plan(const question *q, const popliner_plan *plan, const char *const *texts,
                       const truth *t) {
    uint64_t most_bytes = 0;
    uint64_t most_cycles = 0;
    assert_int_equal(plan->status, POPLINER_PLAN_OPTIMAL);
    for (size_t i = 0; i < q->options.num_objectives; i++) {
        const popliner_plan_value *value = &plan->values[i];
        assert_in_range(value->value, t->least[i], t->most[i]);
        assert_int_equal(value->bound, t->least[i]);
        if (value->objective == POPLINER_OBJECTIVE_MEMORY)
            assert_int_equal(value->value, plan->peak_bytes);
        if (value->objective == POPLINER_OBJECTIVE_CYCLES)
            assert_int_equal(value->value, plan->cycles);
    }
    for (size_t i = 0; i < plan->num_stages; i++) {
        const popliner_plan_stage *stage = &plan->stages[i];
        option options[MOST_OPTIONS];
        size_t count =
            list_options(q->m, stage->first_unit, stage->last_unit,
                         copies_at(q, plan->num_stages - i), q->pipeline->copies.more, options);
        bool is_there = false;
        for (size_t k = 0; k < count; k++)
            is_there = is_there || (strcmp(options[k].text, texts[i]) == 0 &&
                                    options[k].peak == stage->peak_bytes &&
                                    busy(q, i, stage->first_unit, stage->last_unit,
                                         options[k].cycles) == stage->cycles);
        assert_true(is_there);
        assert_true(stage->peak_bytes <= limit_of(q, i));
        most_bytes = stage->peak_bytes > most_bytes ? stage->peak_bytes : most_bytes;
        most_cycles = stage->cycles > most_cycles ? stage->cycles : most_cycles;
    }
    assert_int_equal(plan->peak_bytes, most_bytes);
    assert_int_equal(plan->cycles, most_cycles);
}

/* Where nothing fits: the fewest IPUs with which something does, for the same limits. */
static void check_enough_ipus(const question *q, const popliner_plan *plan) {
    const popliner_infeasibility *why = &plan->infeasibility;
    question other = *q;
    size_t enough = 0;
    for (size_t count = 1; enough == 0 && count <= q->m->num_units; count++) {
        other.options.num_ipus = count;
        enough = best_of_all(&other).exists ? count : 0;
    }
    if (why->enough_stages != enough)
        fail_msg("%zu are enough, not %zu (0: none) of %zu: %s", enough, why->enough_stages,
                 q->options.num_ipus, q->m->text);
}

/* The points of a front are the best answers, each with less of the second objective. Returns their
 * number. */
static size_t check_front(question *q, const popliner_costs *costs) {
    popliner_pareto *front = NULL;
    popliner_error error = {.message = ""};
    q->options.slack_percent = 0;
    if (popliner_pareto_solve(costs, &q->options, &front, &error) != POPLINER_OK)
        fail_msg("%s", error.message);
    const size_t count = front->num_points;
    assert_true(front->is_complete);
    for (size_t i = 0; i <= count; i++) {
        const truth t = best_of_all(q);
        assert_int_equal(t.exists, i < count);
        if (!t.exists)
            break;
        check_plan(q, front->plans[i], (const char *const *)front->plans[i]->choices, &t);
        q->below = t.least[1];
        assert_true(q->below > 0 || i + 1 == count);
        if (q->below == 0)
            break;
    }
    popliner_pareto_free(front);
    return count;
}

static void every_split_with_every_choice(void **state) {
    (void)state;
    static const char *const copies[] = {"0,1,...", "1,2,...", "0", "2", "1f1b+1"};
    size_t num_instances = test_chosen(2500, 7000, 20000);
    size_t num_solved = 0;
    size_t num_chosen = 0;
    size_t num_enough = 0;
    size_t num_points = 0;
    for (uint64_t seed = 1; seed <= num_instances; seed++) {
        static made_file m;
        uint64_t random = seed * 7919;
        draw_file(&m, &random);
        popliner_pipeline pipeline = {.recompute = POPLINER_RECOMPUTE_AUTO, .max_stages = SIZE_MAX};
        question q = {.m = &m, .pipeline = &pipeline};
        popliner_costs_file *file = NULL;
        popliner_plan *plan = NULL;
        popliner_error error = {.message = ""};
        draw_question(&q, &random);
        assert_int_equal(
            popliner_copies_parse(copies[test_below(&random, 5)], &pipeline.copies, &error),
            POPLINER_OK);
        if (popliner_costs_file_read("made", m.text, m.length, &pipeline, &file, &error) !=
                POPLINER_OK ||
            popliner_solve(file->costs, &q.options, &plan, &error) != POPLINER_OK)
            fail_msg("%s\n%s", error.message, m.text);
        const truth best = best_of_all(&q);
        bool fits = plan->status != POPLINER_PLAN_INFEASIBLE;
        if (fits != best.exists)
            fail_msg("%s: %s", fits ? "fits" : "does not fit", m.text);
        if (fits) {
            const char *const *texts = (const char *const *)plan->choices;
            check_plan(&q, plan, texts, &best);
            num_solved++;
            for (size_t i = 0; i < plan->num_stages; i++)
                num_chosen += strcmp(texts[i], "none") != 0;
        } else {
            check_enough_ipus(&q, plan);
            num_enough += plan->infeasibility.enough_stages > 0;
        }
        popliner_plan_free(plan);
        if (q.options.num_objectives > 1 && seed % 4 == 0)
            num_points += check_front(&q, file->costs);
        popliner_costs_file_free(file);
    }
    assert_true(num_points > num_instances / 4);
    assert_true(num_solved > num_instances / 2);
    assert_true(num_chosen > num_instances / 4);
    assert_true(num_enough > num_instances / 100);
}

/* ---- by hand -------------------------------------------------------------------------------- */

/* Writes 12 equal layers, which may store less and take longer. Returns the length of the text. */
static size_t write_layers(char text[TEXT_SIZE]) {
    size_t length = (size_t)snprintf(text, TEXT_SIZE, "%s",
                                     "{\"format\": \"popliner-costs\", \"version\": 1, "
                                     "\"units\": [");
    for (size_t u = 0; u < 12; u++)
        length += (size_t)snprintf(text + length, TEXT_SIZE - length,
                                   "%s{\"name\": \"l%zu\", \"memory\": 10, \"cycles\": 20, "
                                   "\"stash\": 4, \"variants\": [{\"name\": \"some\", "
                                   "\"stash\": 1, \"cycles\": 23}]}",
                                   u > 0 ? ", " : "", u);
    return length + (size_t)snprintf(text + length, TEXT_SIZE - length, "]}");
}

/* Many equal layers: of each stage as many recompute as its place in the pipeline asks for. 12
 * layers of 10 bytes with a stash of 4, or of 1 for 3 more cycles, on three IPUs with y copies of a
 * stage y from the end and 4 layers each: 40 + 3 * 16 = 88, 72 and 56 bytes. Of 60 bytes the first
 * stage has 20 for 3 copies: 16 - 3 k of the stash at most 6 layers' worth, k = 4: 40 + 3 * 4 = 52;
 * k = 3: 40 + 3 * 7 = 61. The second has 20 for 2: k = 2: 40 + 2 * 10. */
static void layers_choose_one_by_one(void **state) {
    (void)state;
    static char text[TEXT_SIZE];
    const size_t length = write_layers(text);
    popliner_pipeline pipeline = {.recompute = POPLINER_RECOMPUTE_AUTO, .max_stages = 3};
    popliner_solver_options o = PLAIN_SOLVER_OPTIONS;
    const popliner_objective objectives[] = {POPLINER_OBJECTIVE_CYCLES};
    popliner_costs_file *file = NULL;
    popliner_plan *plan = NULL;
    assert_int_equal(popliner_copies_parse("1,2,...", &pipeline.copies, NULL), POPLINER_OK);
    assert_int_equal(popliner_costs_file_read("made", text, length, &pipeline, &file, NULL),
                     POPLINER_OK);
    o.objectives = objectives;
    o.num_objectives = 1;
    o.num_ipus = 3;
    o.mem_per_tile = 60;
    o.min_units = 4;
    assert_int_equal(popliner_solve(file->costs, &o, &plan, NULL), POPLINER_OK);
    static const uint64_t cycles[] = {92, 86, 80};
    static const uint64_t bytes[] = {52, 60, 56};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(plan->stages[i].cycles, cycles[i]);
        assert_int_equal(plan->stages[i].peak_bytes, bytes[i]);
    }
    assert_string_equal(plan->choices[2], "none");
    popliner_plan_free(plan);
    popliner_costs_file_free(file);
    /* a file that was read with another recomputation has nothing to choose from */
    pipeline.recompute = POPLINER_RECOMPUTE_FULL;
    assert_int_equal(popliner_costs_file_read("made", text, length, &pipeline, &file, NULL),
                     POPLINER_OK);
    o.mem_per_tile = UINT64_MAX;
    assert_int_equal(popliner_solve(file->costs, &o, &plan, NULL), POPLINER_OK);
    assert_null(plan->choices);
    popliner_plan_free(plan);
    popliner_costs_file_free(file);
}

/* The first and the last third of 12 layers are on one IPU, with 2 and 0 copies and no other cuts:
 * as they are, they need 80 + 4 * 4 * 2 = 112 bytes and 160 cycles. Each layer of the first third
 * that keeps less saves 3 * 2 bytes for 3 cycles: two are needed for 100 bytes. The other IPU needs
 * 40 + 4 * 4 = 56 bytes. */
static void stages_on_one_ipu_choose_together(void **state) {
    (void)state;
    static char text[TEXT_SIZE];
    const size_t length = write_layers(text);
    const popliner_pipeline pipeline = {.schedule = POPLINER_SCHEDULE_TF_INTERLEAVED,
                                        .recompute = POPLINER_RECOMPUTE_AUTO,
                                        .max_stages = 3};
    const popliner_objective objectives[] = {POPLINER_OBJECTIVE_CYCLES, POPLINER_OBJECTIVE_MEMORY};
    const size_t map[] = {0, 1, 0};
    popliner_solver_options o = PLAIN_SOLVER_OPTIONS;
    popliner_costs_file *file = NULL;
    popliner_plan *plan = NULL;
    assert_int_equal(popliner_costs_file_read("made", text, length, &pipeline, &file, NULL),
                     POPLINER_OK);
    o.objectives = objectives;
    o.num_objectives = 1;
    o.device_map = map;
    o.num_mapped_stages = 3;
    o.mem_per_tile = 100;
    o.min_units = o.max_units = 4;
    assert_int_equal(popliner_solve(file->costs, &o, &plan, NULL), POPLINER_OK);
    assert_int_equal(plan->status, POPLINER_PLAN_OPTIMAL);
    assert_int_equal(plan->cycles, 166);
    assert_int_equal(plan->stages[0].cycles, 86);
    assert_int_equal(plan->stages[2].cycles, 80);
    assert_int_equal(plan->stages[0].peak_bytes, 100);
    assert_int_equal(plan->stages[1].peak_bytes, 56);
    assert_int_equal(plan->stages[2].peak_bytes, 100);
    assert_string_equal(plan->choices[1], "none");
    assert_string_equal(plan->choices[2], "none");
    popliner_plan_free(plan);
    o.num_objectives = 2; /* 166 cycles are not needed for fewer bytes, nor allowed */
    o.mem_per_tile = 87;
    assert_int_equal(popliner_solve(file->costs, &o, &plan, NULL), POPLINER_OK);
    assert_int_equal(plan->status, POPLINER_PLAN_INFEASIBLE);
    assert_int_equal(plan->peak_bytes, 80 + 4 * 2);
    popliner_plan_free(plan);
    popliner_costs_file_free(file);
}

typedef struct patience {
    size_t calls;
    size_t most;
} patience;

static bool stop_after(void *user) {
    patience *p = user;
    return ++p->calls > p->most;
}

/* Whenever it is stopped, what is told is true: a plan within the limits, and a bound. */
static void the_search_can_be_stopped(void **state) {
    (void)state;
    static made_file m;
    uint64_t random = 3;
    do
        draw_file(&m, &random);
    while (m.num_units < MOST_UNITS || m.capacity != UINT64_MAX);
    popliner_pipeline pipeline = {.recompute = POPLINER_RECOMPUTE_AUTO, .max_stages = SIZE_MAX};
    popliner_costs_file *file = NULL;
    assert_int_equal(popliner_copies_parse("1,2,...", &pipeline.copies, NULL), POPLINER_OK);
    assert_int_equal(popliner_costs_file_read("made", m.text, m.length, &pipeline, &file, NULL),
                     POPLINER_OK);
    question q = {.m = &m, .pipeline = &pipeline, .options = PLAIN_SOLVER_OPTIONS};
    q.objectives[0] = POPLINER_OBJECTIVE_CYCLES;
    q.options.objectives = q.objectives;
    q.options.num_objectives = 1;
    q.options.num_ipus = 3;
    const truth best = best_of_all(&q);
    bool was_stopped[2] = {false, false}; /* without a plan, with one */
    bool is_proven = false;
    for (size_t most = 0; !is_proven; most++) {
        patience p = {0, most};
        popliner_plan *plan = NULL;
        q.options.should_stop = stop_after;
        q.options.should_stop_user = &p;
        assert_int_equal(popliner_solve(file->costs, &q.options, &plan, NULL), POPLINER_OK);
        is_proven = plan->status == POPLINER_PLAN_OPTIMAL;
        assert_true(plan->is_stopped || is_proven);
        if (plan->status == POPLINER_PLAN_INFEASIBLE) {
            was_stopped[0] = true;
            assert_int_equal(plan->infeasibility.obstacle, POPLINER_OBSTACLE_UNKNOWN);
        } else {
            const popliner_plan_value *value = &plan->values[0];
            was_stopped[1] = was_stopped[1] || !is_proven;
            assert_true(value->bound <= best.least[0]);
            assert_true(value->value >= best.least[0]);
            assert_int_equal(value->value, plan->cycles);
        }
        popliner_plan_free(plan);
    }
    assert_true(was_stopped[0]);
    assert_true(was_stopped[1]);
    popliner_costs_file_free(file);
}

/* Nor is it forgotten that nothing fits, when time is up while it is looked for why. */
static void looking_for_reasons_can_be_stopped(void **state) {
    (void)state;
    static const char text[] = "{\"format\": \"popliner-costs\", \"version\": 1, \"units\": ["
                               "{\"name\": \"a\", \"memory\": 40, \"stash\": 10, \"inputs\": 4},"
                               "{\"name\": \"b\", \"memory\": 90, \"stash\": 20, \"inputs\": 4},"
                               "{\"name\": \"c\", \"memory\": 80, \"stash\": 20, \"inputs\": 4}]}";
    popliner_pipeline pipeline = {.schedule = POPLINER_SCHEDULE_POPART,
                                  .recompute = POPLINER_RECOMPUTE_AUTO,
                                  .max_stages = SIZE_MAX};
    popliner_costs_file *file = NULL;
    assert_int_equal(
        popliner_costs_file_read("made", text, sizeof text - 1, &pipeline, &file, NULL),
        POPLINER_OK);
    popliner_solver_options o = PLAIN_SOLVER_OPTIONS;
    o.num_ipus = 2;
    o.mem_per_tile = 110;
    bool was_proven = false;
    bool is_done = false;
    for (size_t most = 0; !is_done; most++) {
        patience p = {0, most};
        popliner_plan *plan = NULL;
        o.should_stop = stop_after;
        o.should_stop_user = &p;
        assert_int_equal(popliner_solve(file->costs, &o, &plan, NULL), POPLINER_OK);
        is_done = !plan->is_stopped;
        assert_int_equal(plan->status, POPLINER_PLAN_INFEASIBLE);
        if (is_done)
            assert_int_equal(plan->infeasibility.enough_stages, 3);
        assert_false(was_proven && plan->proof == POPLINER_PROOF_NONE);
        was_proven = was_proven || (!is_done && plan->proof != POPLINER_PROOF_NONE);
        popliner_plan_free(plan);
    }
    assert_true(was_proven);
    popliner_costs_file_free(file);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_split_with_every_choice),
        cmocka_unit_test(layers_choose_one_by_one),
        cmocka_unit_test(stages_on_one_ipu_choose_together),
        cmocka_unit_test(the_search_can_be_stopped),
        cmocka_unit_test(looking_for_reasons_can_be_stopped),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
