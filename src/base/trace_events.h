/* Events of the Trace Event Format, which Perfetto and Chrome show.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_BASE_TRACE_EVENTS_H
#define PL_BASE_TRACE_EVENTS_H

#include "base/json_writer.h"

/* Each event is written into the open list "traceEvents", on a line of its own. Times of the format
 * are in microseconds. They are whole: Perfetto multiplies fractions as binary floating point and
 * cuts off the rest; then a slice may begin before the one before it ends, and is dropped. */

/* Names a process, or a thread of it (0: the process). Viewers show processes in the order of their
 * numbers. */
void pl_trace_name(pl_json *json, size_t process, size_t thread, const char *name);

/* Begins a slice; what the caller adds to its "args", then pl_trace_end_slice. */
void pl_trace_begin_slice(pl_json *json, size_t process, size_t thread, uint64_t start,
                          uint64_t end, const char *name);
void pl_trace_end_slice(pl_json *json);

/* A counter of a process has this value from `time` on. */
void pl_trace_counter(pl_json *json, size_t process, const char *name, uint64_t time,
                      const char *key, uint64_t value);

#endif
