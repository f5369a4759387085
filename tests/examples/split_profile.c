/* Splits a profile over some IPUs and prints where to cut.
 *
 *     split_profile REPORT NUM_IPUS
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <stdlib.h>

#include <popliner/popliner.h>

int main(int argc, char **argv) {
    popliner_analysis *analysis = NULL;
    popliner_certificate *answer = NULL;
    char *line = NULL;
    char *text = NULL;
    popliner_error error;
    if (argc != 3) {
        fprintf(stderr, "usage: split_profile REPORT NUM_IPUS\n");
        return 2;
    }
    popliner_solver_options solver = POPLINER_SOLVER_OPTIONS_INIT;
    solver.num_ipus = strtoul(argv[2], NULL, 10);
    popliner_request request = POPLINER_REQUEST_INIT;
    request.solver = &solver;

    popliner_status status = popliner_analysis_read(argv[1], NULL, NULL, &analysis, &error);
    if (status == POPLINER_OK)
        status = popliner_analysis_solve(analysis, &request, &answer, &error);
    if (status == POPLINER_OK)
        status = popliner_certificate_text(answer, POPLINER_CERTIFICATE_LINE, &line, &error);
    if (status == POPLINER_OK)
        status = popliner_certificate_text(answer, POPLINER_CERTIFICATE_TEXT, &text, &error);
    if (status == POPLINER_OK)
        printf("%s\n%s", line, text);
    else
        fprintf(stderr, "split_profile: %s\n", error.message);

    free(line);
    free(text);
    popliner_certificate_free(answer);
    popliner_analysis_free(analysis);
    return status == POPLINER_OK ? 0 : 1;
}
