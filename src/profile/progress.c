/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "profile/progress.h"

#include <sys/stat.h>

#include "base/failure.h"

uint64_t pl_file_bytes(const char *path) {
    struct stat info;
    return path != NULL && stat(path, &info) == 0 ? (uint64_t)info.st_size : 0;
}

void pl_reading_progress_tell(const pl_reading_progress *p) {
    const double pieces =
        p->num_pieces == 0 ? 0 : (double)atomic_load(&p->pieces_done) / (double)p->num_pieces;
    const double percent = p->percent + p->next_percent * pieces;
    pl_progress(p->listener, "Reading the profile",
                p->debug_done + (uint64_t)((double)p->profile_bytes / 100 * percent),
                p->debug_bytes + p->profile_bytes);
}

void pl_reading_progress_next(pl_reading_progress *p, unsigned percent) {
    p->percent += p->next_percent;
    p->next_percent = percent - p->percent;
    p->num_pieces = 0;
    atomic_store(&p->pieces_done, 0);
    if (p->percent > 0) /* before that, nothing is read */
        pl_reading_progress_tell(p);
}

static void on_message(void *user, popliner_level level, const char *text) {
    const pl_reading_progress *p = user;
    pl_tell(p->listener, level, "%s", text);
}

static void on_debug_progress(void *user, const char *task, uint64_t done, uint64_t total) {
    pl_reading_progress *p = user;
    (void)task;
    p->debug_done = done < total ? done : p->debug_bytes;
    pl_reading_progress_tell(p);
}

popliner_listener pl_reading_progress_of_debug(pl_reading_progress *progress) {
    popliner_listener listener = POPLINER_LISTENER_INIT;
    listener.user = progress;
    listener.message = on_message;
    listener.progress = on_debug_progress;
    return listener;
}
