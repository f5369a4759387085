/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/session.h"

#include <errno.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command/option_table.h"

/* ---- limits ---- */

/* Limits for --solve are often short, since they were made for the solver alone: what it solves has
 * to be read before. */
static const double LEAST_SECONDS_TO_SOLVE = 5;

/* Sanitizers of compilers map more than any limit. */
#if defined __has_feature
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define HAS_SANITIZER 1
#endif
#endif
#if defined __SANITIZE_ADDRESS__ || defined __SANITIZE_THREAD__
#define HAS_SANITIZER 1
#endif
#ifndef HAS_SANITIZER
#define HAS_SANITIZER 0
#endif

static struct {
    double max_seconds; /* of the work; 0: any */
    double worked_seconds;
    double since_seconds; /* when it went on; means nothing in a pause */
    int num_pauses;
    char last_words[160]; /* made ready, as a handler of signals cannot */
} work;

/* The work that is left to do, within its limit. */
static double seconds_left(void) {
    const double last = work.num_pauses > 0 ? 0 : progress_seconds() - work.since_seconds;
    return work.max_seconds - work.worked_seconds - last;
}

/* Ends work that does not poll, a while after its limit. */
static void on_alarm(int number) {
    (void)number;
    const ssize_t written = write(STDERR_FILENO, work.last_words, strlen(work.last_words));
    (void)written; /* if nobody hears it, the end is the same */
    _exit(1);
}

static void set_alarm(void) {
    enum { SECONDS_TO_ANSWER = 3 };    /* after the limit */
    const double most_seconds = 1.0e8; /* what fits any unsigned int */
    const double left = fmin(fmax(seconds_left(), 0), most_seconds);
    if (work.max_seconds > 0)
        alarm((unsigned)left + SECONDS_TO_ANSWER);
}

static void limit_memory(uint64_t max_bytes) {
#ifdef RLIMIT_DATA
    struct rlimit limit;
    if (HAS_SANITIZER || max_bytes == 0 || getrlimit(RLIMIT_DATA, &limit) != 0)
        return;
    if (limit.rlim_cur == RLIM_INFINITY || max_bytes < limit.rlim_cur) {
        limit.rlim_cur = (rlim_t)max_bytes;
        setrlimit(RLIMIT_DATA, &limit);
    }
#else
    (void)max_bytes;
#endif
}

void limits_begin(const options *o) {
    const bool is_short = o->solve && o->time_limit_seconds < LEAST_SECONDS_TO_SOLVE;
    limit_memory(o->reading.max_memory_bytes);
    work.max_seconds =
        o->time_limit_seconds > 0 && is_short ? LEAST_SECONDS_TO_SOLVE : o->time_limit_seconds;
    work.worked_seconds = 0;
    work.since_seconds = progress_seconds();
    /* on a terminal it takes the place of the progress, which may be longer */
    const bool is_terminal = isatty(STDERR_FILENO) == 1;
    snprintf(work.last_words, sizeof work.last_words,
             "%serror: --time-limit: the work was not done after %g s; give it more time%*s\n",
             is_terminal ? "\r" : "", work.max_seconds, is_terminal ? 25 : 0, "");
    signal(SIGALRM, on_alarm);
    set_alarm();
}

/* The time from here on, up to limits_resume, is not that of the work: while something is solved,
 * or whoever reads the output is waited for. May be nested. */
static void limits_pause(void) {
    if (work.num_pauses++ == 0) {
        work.worked_seconds += progress_seconds() - work.since_seconds;
        alarm(0);
    }
}

static void limits_resume(void) {
    if (--work.num_pauses == 0) {
        work.since_seconds = progress_seconds();
        set_alarm();
    }
}

bool limits_are_over(void *user) {
    (void)user;
    progress_tick();
    return work.max_seconds > 0 && seconds_left() <= 0;
}

void limits_name_option(const options *o, popliner_error *error) {
    const popliner_error told = *error;
    if (told.status == POPLINER_ERROR_STOPPED)
        fail(error, told.status, "%s: --time-limit, %g s, is over; give it more time", told.message,
             work.max_seconds);
    else if (told.status == POPLINER_ERROR_MEMORY && o->reading.max_memory_bytes > 0)
        fail(error, told.status, "%s; --max-memory allows %llu bytes", told.message,
             (unsigned long long)o->reading.max_memory_bytes);
}

/* ---- Ctrl-C and SIGTERM ---- */

static const int numbers[] = {SIGINT, SIGTERM};

enum { NUM_SIGNALS = sizeof numbers / sizeof *numbers };

static volatile sig_atomic_t num_interrupts;

/* A terminal, or timeout(1), may send one signal twice: only the third one ends as usual. */
static void on_interrupt(int number) {
    num_interrupts++;
    if (num_interrupts > 2) {
        signal(number, SIG_DFL);
        raise(number);
    }
}

static struct {
    bool are_caught;
    struct sigaction before[NUM_SIGNALS]; /* what the signals did */
} signals;

void solving_begin(session *s) {
    struct sigaction action;
    s->solving_seconds = progress_seconds();
    /* the limit of a range is that of each solve */
    progress_solves(s->options.sweep != NULL ? 0 : s->options.time_limit_seconds);
    if (signals.are_caught)
        return;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_interrupt;
    for (int k = 0; k < NUM_SIGNALS; k++)
        sigaction(numbers[k], &action, &signals.before[k]);
    signals.are_caught = true;
    limits_pause();
}

popliner_status solving_end(session *s, const char *task, popliner_status status) {
    for (int k = 0; signals.are_caught && k < NUM_SIGNALS; k++)
        sigaction(numbers[k], &signals.before[k], NULL);
    if (signals.are_caught) {
        limits_resume();
        progress_has_solved();
    }
    signals.are_caught = false;
    if (status == POPLINER_OK && task != NULL)
        log_took(&s->log, task, progress_seconds() - s->solving_seconds);
    return status;
}

bool solving_should_stop(void *user) {
    (void)user;
    progress_tick();
    return num_interrupts > 0;
}

/* ---- names of options ---- */

const popliner_option_names option_names = {
    .struct_size = sizeof option_names,
    .layer_name_regex = "--layer-name-regex",
    .first_layer_regex = "--inputs-regex-layer-0",
    .layer_name_regex_hint =
        "Use the --operation-breakdown flag to see the names of operations found.",
    .ipu = "--ipu",
    .num_ipus = "--num-ipus",
    .mem_per_tile = "--mem-per-tile",
    .reserve = "--reserve",
    .constraints = {[POPLINER_CONSTRAINT_NUM_IPUS] = "num-ipus",
                    [POPLINER_CONSTRAINT_DEVICE_MAP] = "device-map"},
    .section = "--output",
    .modules = "--modules",
    .method = "--solver",
    .objectives = "--objective",
    .slack_percent = "--slack",
    .time_limit_seconds = "--time-limit",
    .device_map = "--device-map",
    .pairs = "--require together",
    .placements = "--require place",
    .ipu_speeds = "--ipu-speed",
    .link_bandwidth = "--bandwidth",
    .ipu_links = "--bandwidth",
    .total_ipus = "--total-ipus",
};

/* ---- the session ---- */

void session_warn(session *s, const char *format, ...) {
    char text[8000];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    log_message(&s->log, POPLINER_LEVEL_WARNING, "%s", text);
    text_add(&s->warnings, text);
    text_add(&s->warnings, "\n");
}

popliner_status session_finish_printing(popliner_error *error) {
    progress_erase();
    limits_pause(); /* whoever reads it may take his time */
    bool is_out = fflush(stdout) == 0 && !ferror(stdout);
    int fault = errno;
    limits_resume();
    if (is_out)
        return POPLINER_OK;
    return fail(error, POPLINER_ERROR_OUTPUT, "standard output cannot be written: %s",
                strerror(fault));
}

popliner_status session_print(char *text, bool is_ours, popliner_error *error) {
    progress_erase();
    limits_pause();
    if (is_ours || !isatty(STDOUT_FILENO))
        fputs(text, stdout);
    else
        log_printable(text, "\n\t", stdout);
    limits_resume();
    free(text);
    return session_finish_printing(error);
}

/* ---- what the library tells ---- */

static void on_message(void *user, popliner_level level, const char *text) {
    const session *s = user;
    log_whole(&s->log, level, "", text);
}

/* Signals are caught as long as something is solved, and no longer. */
static void on_progress(void *user, const char *task, uint64_t done, uint64_t total) {
    session *s = user;
    if (total == 0 && strcmp(task, "Solving") == 0)
        solving_begin(s);
    else
        progress_task(task, done, total);
}

static void on_step(void *user, const char *task, double seconds) {
    session *s = user;
    solving_end(s, NULL, POPLINER_OK);
    log_took(&s->log, task, seconds);
}

void session_begin(session *s) {
    const options *o = &s->options;
    log_begin(&s->log, o->verbose                    ? POPLINER_LEVEL_DEBUG
                       : o->is_original && !o->quiet ? POPLINER_LEVEL_INFO
                                                     : POPLINER_LEVEL_WARNING);
    s->log.is_original = o->is_original;
    if (o->color != COLOUR_AUTO)
        s->log.is_coloured = o->color == COLOUR_ALWAYS;
    s->listener = (popliner_listener)POPLINER_LISTENER_INIT;
    s->listener.user = s;
    s->listener.message = on_message;
    s->listener.progress = on_progress;
    s->listener.step = on_step;
}

void session_free(session *s) {
    solving_end(s, NULL, POPLINER_OK);
    if (s->other != NULL)
        session_free(s->other);
    free(s->other);
    request_free(&s->request);
    request_free(&s->page_request);
    popliner_certificate_free(s->answer);
    popliner_costs_file_free(s->arranged);
    popliner_costs_file_free(s->read);
    popliner_analysis_free(s->analysis);
    free(s->compiled);
    free(s->report);
    free(s->warnings.text);
}

/* ---- reading ---- */

static popliner_status read_profile(session *s, const popliner_analysis_options *how,
                                    popliner_error *error) {
    const options *o = &s->options;
    char *profile = NULL;
    char *debug = NULL;
    struct stat info;
    /* reading the profile takes long */
    if (o->debug != NULL && stat(o->debug, &info) != 0 && errno == ENOENT)
        return fail(error, POPLINER_ERROR_INPUT, "%.300s: no such file or directory", o->debug);
    popliner_status status =
        popliner_analysis_locate(o->profile, o->debug, &profile, &debug, error);
    if (status == POPLINER_OK)
        status = popliner_analysis_read(profile, debug, how, &s->analysis, error);
    free(profile);
    free(debug);
    return status;
}

/* True if it is not a file, but the name of an option. */
static bool lacks_dashes(const char *name) {
    return name != NULL && option_find(name, strlen(name)) != NULL && access(name, F_OK) != 0;
}

/* Adds to an error which option the file is for. */
static void add_hint(const session *s, popliner_error *error) {
    const char *hint = "";
    if (s->options.profile == s->options.compare)
        return; /* it says itself what it is */
    if (lacks_dashes(s->options.profile) || lacks_dashes(s->options.debug))
        hint = "; options begin with --";
    else if (strstr(error->message, "/; pass ") != NULL) /* it is a folder of reports */
        hint = s->options.solve || s->options.evaluate != NULL
                   ? ", or add --report NAME,... or --report all"
                   : ", or add --report all --solve to split all";
    else if (error->reason == POPLINER_REASON_NO_ANALYSIS)
        hint = "; only files written by --output analysis=FILE can be loaded";
    else if (error->reason == POPLINER_REASON_NO_DEBUG_INFO && s->options.debug != NULL)
        hint = "; for two reports use --compare OTHER, or their directory with --report A,B";
    const popliner_error told = *error;
    fail(error, told.status, "%s%s", told.message, hint);
    error->reason = told.reason;
}

const char *session_devices(const session *s, size_t count) {
    const bool is_ipu = s->analysis != NULL || options_are_together(&s->options);
    return count == 1 ? is_ipu ? "IPU" : "device" : is_ipu ? "IPUs" : "devices";
}

popliner_profile_info session_profile(const session *s) {
    popliner_profile_info info = POPLINER_PROFILE_INFO_INIT;
    popliner_profile_get_info(popliner_analysis_profile(s->analysis), &info, NULL);
    return info;
}

size_t session_num_breaches(const session *s) {
    size_t num_breaches = 0;
    for (uint32_t rest = session_profile(s).breached_relations; rest != 0; rest >>= 1)
        num_breaches += rest & 1;
    return num_breaches;
}

/* With --fail-on contradiction: whether the profile is consistent. */
static popliner_status check_profile(const session *s, popliner_error *error) {
    size_t num_breaches = session_num_breaches(s);
    if (!s->options.fail_on.contradiction || num_breaches == 0)
        return POPLINER_OK;
    return fail(
        error, POPLINER_ERROR_INPUT,
        "%s: is inconsistent in %zu %s (see the warnings), which --fail-on contradiction does "
        "not allow; compile again, or leave out --fail-on contradiction",
        s->options.profile, num_breaches, num_breaches == 1 ? "relation" : "relations");
}

/* Whether what was stored of one IPU is not to be split. */
static popliner_status check_ipu(const session *s, popliner_error *error) {
    const options *o = &s->options;
    const popliner_profile_info info = session_profile(s);
    if (info.ipu == SIZE_MAX || (!o->solve && o->evaluate == NULL))
        return POPLINER_OK;
    return fail_usage(error, "--%s splits the whole model, but %s was stored with --ipu %zu",
                      o->solve ? "solve" : "evaluate", o->profile, info.ipu);
}

popliner_status session_open(session *s, popliner_error *error) {
    const options *o = &s->options;
    popliner_analysis_options how = o->reading;
    const popliner_layer_finding *layers;
    size_t count;
    progress_reads(o->profile);
    how.should_stop = limits_are_over;
    how.listener = &s->listener;
    popliner_status status = o->load_from_file
                                 ? popliner_analysis_load(o->profile, &how, &s->analysis, error)
                                 : read_profile(s, &how, error);
    if (status != POPLINER_OK) {
        add_hint(s, error);
        return status;
    }
    TRY(check_profile(s, error));
    TRY(check_ipu(s, error));
    return popliner_analysis_layers(s->analysis, &layers, &count, error);
}

/* ---- memory ---- */

popliner_memory_model session_memory_model(const session *s, popliner_memory_model otherwise) {
    const int chosen = s->options.memory_model;
    return chosen < 0 ? otherwise : (popliner_memory_model)chosen;
}

popliner_status session_use_report(session *s, const char *directory, const char *name,
                                   popliner_error *error) {
    s->report = path_join(directory, name);
    s->options.profile = s->report;
    return s->report == NULL ? fail_memory(error, "the report") : POPLINER_OK;
}
