/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "mkprofile/network_planning.h"

#include "base/failure.h"
#include "mkprofile/faults.h"
#include "mkprofile/liveness.h"
#include "mkprofile/lowering.h"
#include "mkprofile/network.h"
#include "mkprofile/part.h"
#include "mkprofile/pipeline.h"

popliner_status mk_network_plan_make(mk_network_plan *plan, popliner_error *error) {
    mk_network_build(plan);
    if (!plan->is_out_of_memory)
        mk_take_part(plan);
    if (!plan->is_out_of_memory)
        mk_make_pipeline(plan);
    if (!plan->is_out_of_memory)
        mk_lower(plan);
    popliner_status status = POPLINER_OK;
    if (!plan->is_out_of_memory)
        status = mk_plant_faults(plan, error);
    if (plan->is_out_of_memory)
        return pl_fail_memory(error, "the plan of the profile");
    if (status == POPLINER_OK)
        status = mk_make_classes(plan, error);
    return status;
}
