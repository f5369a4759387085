/* The operations and tensors of a model, named as each framework names them.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MK_NETWORK_H
#define MK_NETWORK_H

#include "mkprofile/network_plan.h"

/* Fills plan->tensors and plan->operations in the order of execution: the forward pass, and for
 * training the gradients in reverse order and the updates of the weights. */
void mk_network_build(mk_network_plan *plan);

#endif
