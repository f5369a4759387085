/* The debug contexts of operations and tensors, in the chains that each framework makes.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef MK_RECORDS_H
#define MK_RECORDS_H

#include "mkprofile/network_plan.h"

/* Makes the chain of an operation and stores its debug ids in it. For one that is replaced, and
 * the first of its function, also the record of its clone there. */
void mk_add_operation_records(mk_network_plan *plan, size_t operation, bool is_first_of_function);

/* Makes the chain of a weight, an optimizer's state or a stream. */
void mk_add_tensor_records(mk_network_plan *plan, size_t tensor);

#endif
