/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "diagnosis/program_types.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"

popliner_status pl_diagnose_program_types(const pl_explained *explained, popliner_diagnosis *d,
                                          popliner_error *error) {
    const popliner_profile *p = explained->profile;
    size_t capacity = 0;
    for (uint32_t program = 0; program < p->num_programs; program++) {
        const char *type = pl_profile_string(p, p->program_type_name[program]);
        size_t place = 0;
        while (place < d->num_program_types && strcmp(d->programs[place].type, type) != 0)
            place++;
        if (place == d->num_program_types) {
            if (!pl_grow(&d->programs, &capacity, place + 1, sizeof *d->programs))
                return pl_fail_memory(error, "the diagnosis");
            d->programs[d->num_program_types++] = (popliner_diagnosis_programs){.type = type};
        }
        popliner_diagnosis_programs *group = &d->programs[place];
        group->num_all++;
        if (explained->program_seen[program]) {
            group->num_seen++;
            continue;
        }
        size_t num_missing = group->num_all - group->num_seen;
        uint32_t *missing = realloc((uint32_t *)group->missing, num_missing * sizeof *missing);
        if (missing == NULL)
            return pl_fail_memory(error, "the diagnosis");
        group->missing = missing;
        missing[num_missing - 1] = program;
    }
    return POPLINER_OK;
}
