/* Prints what each stage of the best split of a file of costs needs, by members of its document.
 *
 *     stage_needs COSTS NUM_DEVICES
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <stdlib.h>

#include <popliner/popliner.h>

static void print_stages(const popliner_document *answer) {
    const size_t count = popliner_document_count(answer, "stages");
    printf("%s\n", popliner_document_text(answer, "status"));
    for (size_t i = 0; i < count; i++) {
        char path[40];
        double need_bytes = 0;
        double fits = 0;
        snprintf(path, sizeof path, "stages.%zu.need_bytes", i);
        popliner_document_number(answer, path, &need_bytes);
        snprintf(path, sizeof path, "stages.%zu.fits", i);
        popliner_document_number(answer, path, &fits);
        snprintf(path, sizeof path, "stages.%zu.unit_from", i);
        printf("stage %zu from %s: %.0f bytes, %s\n", i, popliner_document_text(answer, path),
               need_bytes, fits != 0 ? "fits" : "does not fit");
    }
}

int main(int argc, char **argv) {
    popliner_costs_file *file = NULL;
    popliner_certificate *answer = NULL;
    popliner_document *document = NULL;
    char *json = NULL;
    popliner_error error;
    if (argc != 3) {
        fprintf(stderr, "usage: stage_needs COSTS NUM_DEVICES\n");
        return 2;
    }
    popliner_solver_options solver = POPLINER_SOLVER_OPTIONS_INIT;
    popliner_certificate_input input = POPLINER_CERTIFICATE_INPUT_INIT;
    const popliner_pipeline pipeline = {.max_stages = 1, .copies = POPLINER_COPIES_UNSET};
    solver.num_ipus = strtoul(argv[2], NULL, 10);

    popliner_status status = popliner_costs_file_read(argv[1], NULL, 0, &pipeline, &file, &error);
    if (status == POPLINER_OK) {
        input.costs = file->costs;
        input.unit_names = file->unit_names;
        input.options = &solver;
        status = popliner_solve(file->costs, &solver, &input.plan, &error);
    }
    if (status == POPLINER_OK)
        status = popliner_certificate_create(&input, &answer, &error);
    if (status == POPLINER_OK)
        status = popliner_certificate_text(answer, POPLINER_CERTIFICATE_JSON, &json, &error);
    if (status == POPLINER_OK)
        status = popliner_document_parse(json, &document, &error);
    if (status == POPLINER_OK)
        print_stages(document);
    else
        fprintf(stderr, "stage_needs: %s\n", error.message);

    free(json);
    popliner_document_free(document);
    popliner_certificate_free(answer);
    popliner_costs_file_free(file);
    return status == POPLINER_OK ? 0 : 1;
}
