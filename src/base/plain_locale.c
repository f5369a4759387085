/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "base/plain_locale.h"

#include <stdio.h>

pl_plain_locale pl_plain_locale_enter(void) {
    pl_plain_locale locale = {.plain = newlocale(LC_ALL_MASK, "C", (locale_t)0)};
    if (locale.plain != (locale_t)0)
        locale.before = uselocale(locale.plain);
    return locale;
}

void pl_plain_locale_leave(pl_plain_locale *locale) {
    if (locale->plain == (locale_t)0)
        return;
    uselocale(locale->before);
    freelocale(locale->plain);
    *locale = (pl_plain_locale){0};
}

int pl_format(char *text, size_t size, const char *format, va_list arguments) {
    pl_plain_locale locale = pl_plain_locale_enter();
    int length = vsnprintf(text, size, format, arguments);
    pl_plain_locale_leave(&locale);
    return length;
}
