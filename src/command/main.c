/* The program.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/command.h"

int main(int argc, char **argv) {
    return command_is_of_model(argc, argv) ? command_run_model(argc, argv)
                                           : popliner_command(argc, argv);
}
