/* Numbers that do not depend on the locale of the program around the library: a decimal point is a
 * point.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_BASE_PLAIN_LOCALE_H
#define PL_BASE_PLAIN_LOCALE_H

#include <locale.h>
#include <stdarg.h>
#include <stddef.h>

/* The locale "C" for other libraries that read or write numbers, for this thread, from
 * pl_plain_locale_enter to pl_plain_locale_leave. The caller's functions must not be called in
 * between. */
typedef struct pl_plain_locale {
    locale_t plain; /* 0 if it is not available; then nothing changes */
    locale_t before;
} pl_plain_locale;
pl_plain_locale pl_plain_locale_enter(void);
void pl_plain_locale_leave(pl_plain_locale *locale);

/* vsnprintf in the locale "C". */
int pl_format(char *text, size_t size, const char *format, va_list arguments);

#endif
