/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "made_profile.h"

#include "test.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>

void make_profile(const char *directory, const char *format, ...) {
    char options[2000];
    char command[4000];
    va_list arguments;
    va_start(arguments, format);
    int length = vsnprintf(options, sizeof options, format, arguments);
    va_end(arguments);
    assert_in_range(length, 0, sizeof options - 1);
    length = snprintf(command, sizeof command, "'%s' --output '%s' --force --quiet %s",
                      MKPROFILE_TOOL, directory, options);
    assert_in_range(length, 0, sizeof command - 1);
    int status = system(command);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}
