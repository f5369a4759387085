/* The whole command.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COMMAND_COMMAND_H
#define PL_COMMAND_COMMAND_H

/* Runs the program with its arguments; returns the exit status. It sets limits and handlers of
 * signals for the whole process, and may end it: call it once, in a process of its own. */
int popliner_command(int argc, char **argv);

#endif
