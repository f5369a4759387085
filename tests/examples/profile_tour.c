/* Prints of a profile what Graphcore's tutorial on libpva does: compute sets, tiles, the version of
 * Poplar, the cycles of the first executed step, and which compute sets have several vertices.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <inttypes.h>
#include <stdio.h>

#include <popliner/popliner.h>

/* Prints the name of a program if it has more than one vertex. */
static popliner_status print_vertices(void *user, size_t number, popliner_program_type type) {
    const popliner_profile *profile = user;
    popliner_program program = POPLINER_PROGRAM_INIT;
    popliner_compute_set set = POPLINER_COMPUTE_SET_INIT;
    (void)type;
    popliner_status status =
        popliner_profile_get(profile, POPLINER_ITEM_PROGRAM, number, &program, NULL);
    if (status == POPLINER_OK)
        status = popliner_profile_get(profile, POPLINER_ITEM_COMPUTE_SET, program.compute_set, &set,
                                      NULL);
    if (status == POPLINER_OK && set.num_vertices > 1)
        printf("%s: %" PRIu64 " vertices\n", program.name, set.num_vertices);
    return status;
}

static popliner_status tour(const popliner_profile *profile, popliner_error *error) {
    popliner_profile_info info = POPLINER_PROFILE_INFO_INIT;
    popliner_execution_step step = POPLINER_EXECUTION_STEP_INIT;
    popliner_status status = popliner_profile_get_info(profile, &info, error);
    if (status != POPLINER_OK)
        return status;
    printf("Number of compute sets: %zu\n", info.num_compute_sets);
    printf("Number of tiles: %zu\n", info.num_tiles);
    printf("Version of Poplar: %s\n", info.poplar_version);
    if (popliner_profile_get(profile, POPLINER_ITEM_EXECUTION_STEP, 0, &step, NULL) == POPLINER_OK)
        printf("Cycles of the first step: %" PRIu64 "\n", step.cycles);
    else
        printf("Cycles of the first step: none\n");
    return popliner_profile_visit(profile, POPLINER_PROGRAM_ON_TILE_EXECUTE, print_vertices,
                                  (void *)profile, error);
}

int main(int argc, char **argv) {
    popliner_analysis *analysis = NULL;
    popliner_error error;
    if (argc != 2) {
        fprintf(stderr, "Usage: profile_tour profile.pop\n");
        return 2;
    }
    popliner_status status = popliner_analysis_read(argv[1], NULL, NULL, &analysis, &error);
    if (status == POPLINER_OK)
        status = tour(popliner_analysis_profile(analysis), &error);
    if (status != POPLINER_OK)
        fprintf(stderr, "profile_tour: %s\n", error.message);
    popliner_analysis_free(analysis);
    return (int)status;
}
