/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/terminal.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/ioctl.h>
#include <unistd.h>

/* The value of a variable of the environment; NULL also if it is empty. */
static const char *variable(const char *name) {
    const char *value = getenv(name);
    return value == NULL || *value == '\0' ? NULL : value;
}

/* The first of these is the locale of characters (POSIX.1-2017, 8.2). */
static bool is_utf8(void) {
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    const char *locale = NULL;
    for (size_t i = 0; locale == NULL && i < sizeof names / sizeof *names; i++)
        locale = variable(names[i]);
    const char *encoding = locale == NULL ? NULL : strchr(locale, '.');
    return encoding != NULL &&
           (strncasecmp(encoding, ".UTF-8", 6) == 0 || strncasecmp(encoding, ".utf8", 5) == 0);
}

static size_t find_width(int file) {
    enum { USUAL = 80, MIN = 40, MAX = 1000 };
    struct winsize size;
    size_t width = USUAL;
    const char *columns = variable("COLUMNS");
    if (columns != NULL && strtoul(columns, NULL, 10) > 0)
        width = (size_t)strtoul(columns, NULL, 10);
    else if (ioctl(file, TIOCGWINSZ, &size) == 0 && size.ws_col > 0)
        width = size.ws_col;
    return width < MIN ? MIN : width > MAX ? MAX : width;
}

terminal terminal_of(int file) {
    const char *name = variable("TERM");
    const bool is_dumb = name != NULL && strcmp(name, "dumb") == 0;
    const bool is_terminal = isatty(file) == 1;
    return (terminal){
        .is_terminal = is_terminal,
        .is_ascii = is_dumb || !is_utf8(),
        .has_colour = is_terminal && name != NULL && !is_dumb && variable("NO_COLOR") == NULL,
        .width = find_width(file),
    };
}
