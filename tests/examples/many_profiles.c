/* Splits many profiles at the same time, each in a thread of its own.
 *
 *     many_profiles REPORT...
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

#include <popliner/popliner.h>

/* One report and what came out. */
typedef struct task {
    const char *path;
    pthread_t thread;
    char *line; /* the stages on one line */
    popliner_status status;
    popliner_error error;
} task;

static void *split(void *argument) {
    task *t = argument;
    popliner_analysis *analysis = NULL;
    popliner_certificate *answer = NULL;
    popliner_solver_options solver = POPLINER_SOLVER_OPTIONS_INIT;
    popliner_request request = POPLINER_REQUEST_INIT;
    solver.num_ipus = 2;
    request.solver = &solver;
    t->status = popliner_analysis_read(t->path, NULL, NULL, &analysis, &t->error);
    if (t->status == POPLINER_OK)
        t->status = popliner_analysis_solve(analysis, &request, &answer, &t->error);
    if (t->status == POPLINER_OK)
        t->status =
            popliner_certificate_text(answer, POPLINER_CERTIFICATE_LINE, &t->line, &t->error);
    popliner_certificate_free(answer);
    popliner_analysis_free(analysis);
    return NULL;
}

int main(int argc, char **argv) {
    size_t num_tasks = (size_t)argc - 1;
    size_t num_started = 0;
    size_t num_failed = 0;
    task *tasks = calloc(num_tasks + 1, sizeof *tasks);
    if (tasks == NULL)
        return 1;
    for (; num_started < num_tasks; num_started++) {
        tasks[num_started].path = argv[num_started + 1];
        if (pthread_create(&tasks[num_started].thread, NULL, split, &tasks[num_started]) != 0)
            break;
    }
    for (size_t i = 0; i < num_started; i++) {
        task *t = &tasks[i];
        pthread_join(t->thread, NULL);
        printf("%s: %s\n", t->path, t->status == POPLINER_OK ? t->line : t->error.message);
        num_failed += t->status != POPLINER_OK;
        free(t->line);
    }
    free(tasks);
    return num_started == num_tasks && num_failed == 0 ? 0 : 1;
}
