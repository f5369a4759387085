/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/trace_events.h"

static void begin_event(pl_json *json, const char *phase, const char *name, size_t process,
                        size_t thread) {
    pl_put_line(json);
    pl_put_open(json, NULL, '{');
    pl_put_text(json, "ph", phase);
    pl_put_text(json, "name", name);
    pl_put_number(json, "pid", process);
    if (thread != 0)
        pl_put_number(json, "tid", thread);
}

/* Ends the event and its arguments. */
void pl_trace_end_slice(pl_json *json) {
    pl_put_close(json);
    pl_put_close(json);
}

void pl_trace_name(pl_json *json, size_t process, size_t thread, const char *name) {
    begin_event(json, "M", thread == 0 ? "process_name" : "thread_name", process, thread);
    pl_put_open(json, "args", '{');
    pl_put_text(json, "name", name);
    pl_trace_end_slice(json);
    if (thread != 0)
        return;
    begin_event(json, "M", "process_sort_index", process, 0);
    pl_put_open(json, "args", '{');
    pl_put_number(json, "sort_index", process);
    pl_trace_end_slice(json);
}

void pl_trace_begin_slice(pl_json *json, size_t process, size_t thread, uint64_t start,
                          uint64_t end, const char *name) {
    begin_event(json, "X", name, process, thread);
    pl_put_number(json, "ts", start);
    pl_put_number(json, "dur", end - start);
    pl_put_open(json, "args", '{');
}

void pl_trace_counter(pl_json *json, size_t process, const char *name, uint64_t time,
                      const char *key, uint64_t value) {
    begin_event(json, "C", name, process, 0);
    pl_put_number(json, "ts", time);
    pl_put_open(json, "args", '{');
    pl_put_number(json, key, value);
    pl_trace_end_slice(json);
}
