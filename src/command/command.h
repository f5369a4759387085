/* The whole command.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_COMMAND_COMMAND_H
#define PL_COMMAND_COMMAND_H

#include <stdbool.h>

/* Runs the program with its arguments; returns the exit status. It sets limits and handlers of
 * signals for the whole process, and may end it: call it once, in a process of its own. */
int popliner_command(int argc, char **argv);

/* True if the first argument is a model: a GGUF, safetensors or ONNX file, also one that is not
 * there, a config.json, or a folder with one. */
bool command_is_of_model(int argc, char **argv);

/* Runs the Python module that reads models in the place of this program, with the same arguments:
 * python3, or what POPLINER_PYTHON names. Returns the exit status if it cannot be run. */
int command_run_model(int argc, char **argv);

#endif
