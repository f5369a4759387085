/* popliner: results as text, in the formats of PopLiner 1.0.0.
 *
 * Every function writes one NUL-terminated UTF-8 text, with its last line end, which the caller
 * frees with free(); *text is NULL after an error. Columns are separated by tabs or commas; nothing
 * is quoted, as in PopLiner 1.0.0. All functions can fail with MEMORY.
 *
 * Threads: as in popliner/analysis.h: while one thread works with an analysis, others wait.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef POPLINER_REPORT_H
#define POPLINER_REPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "popliner/analysis.h"
#include "popliner/certificate.h"
#include "popliner/diagnosis.h"
#include "popliner/error.h"
#include "popliner/operations.h"
#include "popliner/profile.h"
#include "popliner/replicas.h"
#include "popliner/solver.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The format of a report. */
typedef enum popliner_format {
    POPLINER_FORMAT_TSV,
    POPLINER_FORMAT_CSV,
    POPLINER_FORMAT_JSON,
} popliner_format;

/* The tables of PopLiner 1.0.0, to the byte: as TSV, or as CSV. Sections also have JSON. */
typedef enum popliner_table {
    /* The total of all operations as one stage in PopLiner's memory model, then always-live and not
     * always-live bytes on the first ten tiles, as the compiler counts them. */
    POPLINER_TABLE_MEMORY_TOTALS,
    /* One row per operation, an empty line before each change of layer. Bytes are sums over the
     * tiles, measured once per debug context: an outlined operation has those of its first row. The
     * full memory model adds a column: the label of the unit that counts the operation, which for
     * an operation in no layer, or in a guessed one, is where it was placed. */
    POPLINER_TABLE_OPERATIONS,
    /* One row per unit of the chain, and an empty line after them. The full memory model adds a
     * column: unattributed memory. */
    POPLINER_TABLE_LAYERS,
    /* The numbers of POPLINER_SECTION_PAIRS as square tables with the names of the layers: bytes
     * of variables that both layers touch, and of those that one passes to the other. */
    POPLINER_TABLE_AFFINITY,
    POPLINER_TABLE_COMMUNICATION,
} popliner_table;

/* Writes one table. `model` is that of operations and layers; the other tables ignore it. Loads
 * what a loaded analysis lacks. Errors: also USAGE for an unknown table or format, or a format that
 * the table does not have; those of popliner_analysis_chain. Cost: measures a stage for each row of
 * operations and layers; measures pairs of layers for the first of their tables. */
popliner_status popliner_report_table(popliner_analysis *analysis, popliner_table table,
                                      popliner_memory_model model, popliner_format format,
                                      char **text, popliner_error *error);

/* Writes a diagnosis as rows like those of the section DIAGNOSIS, which is that of all layers; as
 * JSON an object with them and those of MISSING and CHECKS (docs/diagnosis.md).
 * popliner_screen_diagnosis is for reading. Errors: USAGE for the format TEXT; MEMORY. */
popliner_status popliner_report_diagnosis(const popliner_diagnosis *diagnosis,
                                          popliner_format format, char **text,
                                          popliner_error *error);

/* The best splits for several values of one parameter. Begin with POPLINER_SWEEP_INIT. */
typedef struct popliner_sweep {
    size_t struct_size;
    const char *what; /* the parameter: the head of the column of values */
    const uint64_t *values;
    const popliner_plan *const *plans; /* one for each value; ignored if there are replicas */
    size_t num_values;
    const popliner_replicas *const *replicas; /* one for each value; NULL: plans */
    bool is_of_memory; /* values are memories of a tile, of which the options keep a reserve free */
} popliner_sweep;

#define POPLINER_SWEEP_INIT                                                                        \
    { sizeof(popliner_sweep), NULL, NULL, NULL, 0, NULL, false }

/* Several splits. Begin with POPLINER_SPLIT_TABLE_INIT; what follows `replicas` is for
 * popliner_screen_splits. */
typedef struct popliner_split_table {
    size_t struct_size;
    /* One of these. */
    const popliner_sweep *sweep;
    const popliner_pareto *pareto;
    const popliner_replicas *replicas;
    bool is_of_ipus; /* the devices are IPUs */
    /* Row (value, point or candidate) with a `>`; SIZE_MAX: the first that fits, or the best. */
    size_t marked_row;
    const char *more;   /* where rows after the 40th are; NULL: not said */
    popliner_need need; /* that the memory of the plans is */
    /* Judges a split of stages: limit_bytes (POPLINER_TARGET_BYTES: as requested) are those of each
     * IPU without its own, num_micro_batches (0: as requested) those of each pipeline. NULL:
     * whether it fits is what its plan says. */
    popliner_status (*judge)(void *user, const popliner_plan *plan, uint64_t limit_bytes,
                             uint64_t num_micro_batches, popliner_verdict *verdict,
                             popliner_error *error);
    void *judge_user;
} popliner_split_table;

#define POPLINER_SPLIT_TABLE_INIT                                                                  \
    {                                                                                              \
        sizeof(popliner_split_table), NULL, NULL, NULL, false, SIZE_MAX, NULL,                     \
            POPLINER_NEED_EXPECTED, NULL, NULL                                                     \
    }

/* Writes a row or an object for each value, point or candidate, with status, objectives and their
 * bounds, IPUs used, and split. With replicas it has the best number of them with its times and
 * throughput (micro-batches in a unit of time). A front as JSON also has the two objectives, and
 * whether it is complete. `names` has the names of units and numbers, and the objectives that were
 * requested; its plan is ignored. Errors: USAGE (struct_size); MEMORY. */
popliner_status popliner_report_splits(const popliner_split_table *table,
                                       const popliner_certificate_input *names,
                                       popliner_format format, char **text, popliner_error *error);

/* One split of several profiles of a model, such as its training and its inference. Begin with
 * POPLINER_TOGETHER_INIT. */
typedef struct popliner_together {
    size_t struct_size;
    const char *const *names; /* [num_reports] */
    const bool *are_training; /* [num_reports]: as popliner_analysis_is_training sets it */
    /* [num_reports]: from popliner_analysis_evaluate, with equal cuts and equal limits. NULL if
     * there is no split. */
    const popliner_certificate *const *evaluations;
    size_t num_reports;
    /* [num_stages]: the first and the last unit of each stage, by name: reports may have different
     * units outside layers, such as a tail. */
    const char *const *first_units;
    const char *const *last_units;
    size_t num_stages;                  /* 0 if there is no split */
    const popliner_certificate *answer; /* of solving for all reports; NULL: the split was given */
} popliner_together;

#define POPLINER_TOGETHER_INIT                                                                     \
    { sizeof(popliner_together), NULL, NULL, NULL, 0, NULL, NULL, 0, NULL }

/* Writes a row for each stage: its limit, the peak memory in each report, and whether it fits. As
 * JSON one object, as docs/reports.schema.json describes it: also each report's stages as in
 * POPLINER_CERTIFICATE_JSON, and the answer. The caller frees *text. Errors: USAGE (struct_size;
 * evaluations with another number of stages, or without a profile), MEMORY. O(stages * reports). */
popliner_status popliner_report_together(const popliner_together *together, popliner_format format,
                                         char **text, popliner_error *error);

/* ---- Sections ----
 *
 * A profile, and a plan, as plain tables for other programs. Each section is one table with a value
 * in every cell. Its columns are the same for every profile, except that TILES has one for each
 * category of memory. docs/sections.md describes them; docs/sections.schema.json is the schema of
 * their JSON. */

typedef enum popliner_section {
    POPLINER_SECTION_SUMMARY,    /* versions, device, counts, options of the engine */
    POPLINER_SECTION_PLAN,       /* a row for each stage of a certificate */
    POPLINER_SECTION_TILES,      /* each tile, with the bytes of each category */
    POPLINER_SECTION_CATEGORIES, /* each category of memory */
    POPLINER_SECTION_LIVENESS,   /* each liveness step */
    POPLINER_SECTION_VARIABLES,  /* each unlowered variable, by category */
    POPLINER_SECTION_OPERATIONS, /* each operation */
    POPLINER_SECTION_PROGRAMS,   /* each program, with its parent */
    POPLINER_SECTION_LAYERS,     /* each unit of the chain */
    POPLINER_SECTION_PAIRS,      /* each two layers */
    POPLINER_SECTION_EXECUTION,  /* each executed step, on each IPU; none if nothing ran */
    POPLINER_SECTION_CHECKS,     /* each relation that is checked */
    POPLINER_SECTION_VERTICES,   /* each vertex type */
    POPLINER_SECTION_EXCHANGES,  /* each program that exchanges */
    POPLINER_SECTION_ADVICE,     /* what is conspicuous in memory, with figures */
    POPLINER_SECTION_DIAGNOSIS,  /* attributed memory, see popliner/diagnosis.h */
    POPLINER_SECTION_MISSING,    /* unattributed memory, and the reasons */
    POPLINER_SECTION_ADDRESSES,  /* each lowered variable; pages do not have it */
    POPLINER_NUM_SECTIONS,
} popliner_section;

/* Writes a section with its last line end; the caller frees *text with free(): as CSV by RFC 4180,
 * as TSV, or as JSON with an object for each row. `certificate` is for PLAN, and must be one of
 * `analysis`; for the others it may be NULL. `model` assigns operations to units in LIVENESS,
 * VARIABLES, OPERATIONS, PROGRAMS, LAYERS, EXECUTION, EXCHANGES and ADVICE; DIAGNOSIS and MISSING
 * are of this model. Loads what a loaded analysis lacks. Errors: USAGE for an unknown section,
 * format or model, or for PLAN without a certificate of `analysis`; INPUT if a loaded file is
 * damaged; MEMORY. Cost: OPERATIONS and LAYERS measure a stage for each row; PAIRS are measured
 * once, and so is what DIAGNOSIS and MISSING share; the others are a few passes over their items,
 * LIVENESS, VARIABLES and ADDRESSES over the lowered variables. */
popliner_status popliner_section_text(popliner_analysis *analysis, popliner_section section,
                                      popliner_memory_model model,
                                      const popliner_certificate *certificate,
                                      popliner_format format, char **text, popliner_error *error);

/* ---- Plots ----
 *
 * Plots of bytes for a terminal, made of characters. */

typedef enum popliner_plot {
    POPLINER_PLOT_TILES,    /* live bytes on each tile, as the compiler counts them */
    POPLINER_PLOT_LIVENESS, /* bytes that are live at each step, and the units of the chain */
    POPLINER_PLOT_PLAN,     /* the memory of each stage of a certificate, and its limit */
} popliner_plot;

/* The size and style of a plot. Begin with POPLINER_PLOT_OPTIONS_INIT. */
typedef struct popliner_plot_options {
    size_t struct_size;
    size_t width;    /* of a line, in characters; from 40 to 1000 */
    size_t height;   /* of the drawing, without axes and captions, in lines; from 4 to 200 */
    bool is_ascii;   /* false: blocks of Unicode in UTF-8 */
    bool has_colour; /* by the escape sequences of ECMA-48 */

    /* For LIVENESS: a tile, or POPLINER_ALL_TILES for their sum, and whether always-live bytes
     * are drawn below. */
    size_t tile;
    bool has_always_live;

    /* Answers show whole names of layers, also what all of them begin or end with. */
    bool has_whole_names;
} popliner_plot_options;

#define POPLINER_PLOT_OPTIONS_INIT                                                                 \
    { sizeof(popliner_plot_options), 80, 16, false, false, POPLINER_ALL_TILES, false, false }

/* Draws a plot with its last line end; the caller frees *text with free(). `model` is for the units
 * of LIVENESS; `certificate` is for PLAN, else NULL. `options` may be NULL. With more tiles or
 * steps than columns, each column shows the maximum of several. Loads what a loaded analysis lacks.
 * Errors: USAGE for an unknown plot, model or tile, a size out of range, or for PLAN without a
 * certificate of `analysis`; INPUT if a loaded file is damaged; MEMORY. Cost: LIVENESS takes a pass
 * over the variables. */
popliner_status popliner_plot_text(popliner_analysis *analysis, popliner_plot plot,
                                   popliner_memory_model model,
                                   const popliner_certificate *certificate,
                                   const popliner_plot_options *options, char **text,
                                   popliner_error *error);

/* ---- Traces ----
 *
 * Programs, cycles and memory over the steps of a profile, as a trace for Perfetto
 * (ui.perfetto.dev) and Chrome's about:tracing. */

/* Writes one JSON object in the Trace Event Format, with its last line end; the caller frees *text
 * with free(). docs/trace.md describes the contents: the tree of programs, the units of the chain
 * in this memory model, live memory; the stages of `certificate`, unless that is NULL (with one,
 * the units are those of the certificate); and executed steps on each IPU. Loads what a loaded
 * analysis lacks. Errors: USAGE for an unknown model, or a certificate of something else; INPUT if
 * a loaded file is damaged; MEMORY. Cost: a pass over the variables for each stage, and O(steps *
 * stages); some 200 bytes for each step. */
popliner_status popliner_trace_text(popliner_analysis *analysis, popliner_memory_model model,
                                    const popliner_certificate *certificate, char **text,
                                    popliner_error *error);

/* ---- Documents in JSON ----
 *
 * What functions write as JSON, for programs that want single members of it: the schemas are in
 * docs/. A path has names of members and numbers of items, from 0: "stages.0.need_bytes".
 *
 * Threads: any number may read a document at once. */
typedef struct popliner_document popliner_document;

/* Parses a text in JSON. The caller frees *document. Errors: INPUT for another text, with line and
 * column; MEMORY. O(bytes). */
popliner_status popliner_document_parse(const char *json, popliner_document **document,
                                        popliner_error *error);

/* Sets *value to a number, or to 1 for true and 0 for false; false if there is none. O(path). */
bool popliner_document_number(const popliner_document *document, const char *path, double *value);

/* Returns a text, which the document owns; NULL if there is none. O(path). */
const char *popliner_document_text(const popliner_document *document, const char *path);

/* Returns the number of items of a list, or of members of an object; 0 if there is none.
 * O(path). */
size_t popliner_document_count(const popliner_document *document, const char *path);

/* Frees the document. NULL is fine. */
void popliner_document_free(popliner_document *document);

#ifdef __cplusplus
}
#endif

#endif
