/* Progress on a terminal: one line over all phases, as the terminal shows it.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#define _XOPEN_SOURCE 700 /* pseudo-terminals */
#include "test.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#include "command/log.h"

enum { COLUMNS = 120, READ_MOST = 1 << 16 };

/* Everything that was written to a terminal, and what its last line shows now. */
typedef struct screen {
    char written[READ_MOST];
    char shown[4 * COLUMNS + 1];
    size_t num_lines; /* how often the line was written */
    size_t widest;
    double seconds; /* that it took */
} screen;

static void wait_seconds(double seconds) {
    struct timespec time = {(time_t)seconds, (long)((seconds - (double)(time_t)seconds) * 1e9)};
    nanosleep(&time, NULL);
}

static double now_seconds(void) {
    struct timespec now;
    assert_int_equal(clock_gettime(CLOCK_MONOTONIC, &now), 0);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Shows what a terminal does with carriage returns. */
static void replay(screen *s) {
    char cells[COLUMNS][5] = {{0}};
    size_t column = 0;
    s->num_lines = s->widest = 0;
    for (const char *c = s->written; *c != '\0';) {
        size_t bytes = 1;
        while ((c[bytes] & 0xc0) == 0x80)
            bytes++;
        assert_true(column < COLUMNS);
        if (*c == '\r') {
            s->num_lines += c[1] != '\0' && c[1] != ' ';
            column = 0;
        } else {
            memcpy(cells[column], c, bytes);
            cells[column++][bytes] = '\0';
        }
        s->widest = column > s->widest ? column : s->widest;
        c += bytes;
    }
    *s->shown = '\0';
    for (size_t i = 0; i < COLUMNS; i++)
        strcat(s->shown, cells[i][0] == '\0' ? "" : cells[i]);
    for (size_t end = strlen(s->shown); end > 0 && s->shown[end - 1] == ' '; end--)
        s->shown[end - 1] = '\0';
}

/* Runs `work` with a terminal of so many columns as standard error. */
static void on_terminal(screen *s, unsigned short columns, const char *locale, void (*work)(void)) {
    const struct winsize size = {.ws_row = 24, .ws_col = columns};
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    assert_true(master >= 0 && grantpt(master) == 0 && unlockpt(master) == 0);
    int slave = open(ptsname(master), O_RDWR | O_NOCTTY);
    int kept = dup(STDERR_FILENO);
    assert_true(slave >= 0 && kept >= 0 && ioctl(slave, TIOCSWINSZ, &size) == 0);
    unsetenv("LC_ALL");
    unsetenv("LC_CTYPE");
    unsetenv("COLUMNS");
    setenv("LANG", locale, 1);
    setenv("TERM", "xterm", 1);
    fflush(stderr);
    assert_true(dup2(slave, STDERR_FILENO) >= 0);
    const double start_seconds = now_seconds();
    work();
    s->seconds = now_seconds() - start_seconds;
    fflush(stderr);
    dup2(kept, STDERR_FILENO);
    assert_int_equal(fcntl(master, F_SETFL, O_NONBLOCK), 0);
    size_t length = 0;
    ssize_t count;
    while ((count = read(master, s->written + length, sizeof s->written - 1 - length)) > 0)
        length += (size_t)count;
    s->written[length] = '\0';
    close(kept);
    close(slave);
    close(master);
    replay(s);
}

static void expect_shown(const screen *s, const char *shown) {
    if (strcmp(s->shown, shown) != 0)
        fail_msg("shown is\n%s\nand not\n%s", s->shown, shown);
}

/* ---- what is shown of reading ---- */

static void read_a_quarter(void) {
    progress_begin(true);
    progress_reads("reports/one/profile.pop");
    wait_seconds(0.32);
    progress_task("Reading the profile", 500000000, 2000000000);
}

static void shows_what_is_read_and_how_far(void **state) {
    (void)state;
    screen s;
    on_terminal(&s, 140, "C.UTF-8", read_a_quarter);
    expect_shown(&s, "Reading profile.pop 25 %");
}

static void read_long_name(void) {
    progress_begin(true);
    progress_reads("a/bert\n-large-24-layers-\xc3\xbc\x1b[2J.pop");
    wait_seconds(0.32);
    progress_task("Reading the profile", 40000, 80000);
}

static void names_are_shortened_and_printable(void **state) {
    (void)state;
    screen s;
    on_terminal(&s, 60, "C.UTF-8", read_long_name);
    expect_shown(&s, "Reading bert\\n-large-24-layers-ü\\u001b[2J.pop 50 %");
    on_terminal(&s, 40, "C.UTF-8", read_long_name);
    expect_shown(&s, "Reading bert\\n-large-24-layers-ü 50 %");
    assert_true(s.widest < 40);
}

static void read_quickly(void) {
    progress_begin(true);
    progress_reads("profile.pop");
    for (uint64_t i = 0; i < 1000; i++)
        progress_task("Reading the profile", i, 1000);
    progress_erase();
}

static void read_for_nobody(void) {
    progress_begin(false);
    progress_reads("profile.pop");
    wait_seconds(0.35);
    progress_task("Reading the profile", 1, 2);
}

static void shows_nothing_of_what_is_short_or_unwanted(void **state) {
    (void)state;
    screen s;
    on_terminal(&s, 80, "C.UTF-8", read_quickly);
    assert_string_equal(s.written, "");
    on_terminal(&s, 80, "C.UTF-8", read_for_nobody);
    assert_string_equal(s.written, "");
}

/* ---- all phases ---- */

static void tick_for(double seconds) {
    for (int i = 0; i < 100; i++) {
        wait_seconds(seconds / 100);
        progress_tick();
    }
}

static void do_all_phases(void) {
    progress_begin(true);
    progress_reads("old.pop");
    for (uint64_t i = 0; i <= 10; i++) {
        progress_task("Reading the profile", i, 10);
        tick_for(0.1);
    }
    progress_reads("new.pop");
    progress_task("Reading the profile", 10, 10);
    progress_task("Preparing the memory model", 1, 1);
    progress_task("Measuring all stages", 5, 10);
    wait_seconds(0.12);
    progress_solves(0);
    progress_has_solved();
    progress_task("Making the page", 1, 2);
    tick_for(0.12);
}

static void read_and_end(void) {
    read_a_quarter();
    progress_erase();
}

static void one_line_goes_over_all_phases(void **state) {
    (void)state;
    static const char *const labels[] = {"Reading old.pop", "Reading new.pop",
                                         "Preparing the memory model", "Measuring all stages",
                                         "Making the page"};
    enum { NUM_LABELS = sizeof labels / sizeof *labels };
    screen s;
    size_t label = 0;
    int before = 0;
    on_terminal(&s, 60, "C", do_all_phases);
    assert_true(s.num_lines >= 8 && (double)s.num_lines <= 1 + 10 * s.seconds);
    for (const char *at = s.written; (at = strstr(at, " %")) != NULL; at++) {
        const char *digits = at;
        while (digits > s.written && digits[-1] >= '0' && digits[-1] <= '9')
            digits--;
        const char *begin = at;
        while (*begin != '\r')
            begin--;
        size_t own = 0;
        while (own < NUM_LABELS && strncmp(begin + 1, labels[own], strlen(labels[own])) != 0)
            own++;
        assert_true(own >= label && own < NUM_LABELS);            /* in their order */
        assert_true(atoi(digits) >= (own == label ? before : 0)); /* it never falls in a phase */
        before = atoi(digits);
        label = own;
    }
    assert_int_equal(label, NUM_LABELS - 1);
    assert_int_equal(before, 50);
    on_terminal(&s, 60, "C", read_and_end);
    assert_int_equal(s.num_lines, 1);
    expect_shown(&s, "");
}

/* ---- solving ---- */

static void solve_first(void) {
    progress_begin(true);
    progress_solves(0);
    tick_for(0.35);
}

static void solve_for_memory(void) {
    progress_begin(true);
    progress_solves(60);
    progress_task("Solving for memory", 498440, 512308);
    tick_for(0.35);
}

static void solve_for_cycles(void) {
    progress_begin(true);
    progress_solves(0);
    progress_task("Solving for cycles", 100, 103);
    tick_for(0.35);
}

static void solving_shows_the_best_and_the_bound(void **state) {
    (void)state;
    static const struct {
        void (*work)(void);
        unsigned short columns;
        const char *shown;
    } cases[] = {
        {solve_first, 80, "Solving 0 s  Ctrl-C: take the best"},
        {solve_for_memory, 100,
         "Solving 0 of 60 s  best 512,308 bytes, at least 498,440  Ctrl-C: take the best"},
        {solve_for_memory, 60, "Solving 0 of 60 s  best 512,308 bytes, at least 498,440"},
        {solve_for_memory, 40, "Solving 0 of 60 s"},
        {solve_for_cycles, 80,
         "Solving 0 s  best is at most 3.0 % above the bound  Ctrl-C: take the best"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        screen s;
        on_terminal(&s, cases[i].columns, "C.UTF-8", cases[i].work);
        char *seconds = s.shown + strlen("Solving ");
        assert_true(strncmp(s.shown, "Solving ", 8) == 0 && atoi(seconds) <= s.seconds);
        *seconds = '0'; /* a machine with much else to do takes a second or two */
        expect_shown(&s, cases[i].shown);
        assert_true(s.widest < cases[i].columns);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(shows_what_is_read_and_how_far),
        cmocka_unit_test(names_are_shortened_and_printable),
        cmocka_unit_test(shows_nothing_of_what_is_short_or_unwanted),
        cmocka_unit_test(one_line_goes_over_all_phases),
        cmocka_unit_test(solving_shows_the_best_and_the_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
