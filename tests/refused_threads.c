/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "refused_threads.h"

#include <errno.h>
#include <pthread.h>

bool refuses_threads;

int __real_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*begin)(void *), void *argument);
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*begin)(void *), void *argument);

/* The linker puts this in the place of pthread_create. */
int __wrap_pthread_create(pthread_t *thread, const pthread_attr_t *attributes,
                          void *(*begin)(void *), void *argument) {
    return refuses_threads ? EAGAIN : __real_pthread_create(thread, attributes, begin, argument);
}
