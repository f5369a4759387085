/* A model as INPUT, or a log and a plan: python3 runs the module that reads it, with the same
 * arguments.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "command/command.h"

#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "command/values.h"

static bool is_model_name(const char *name) {
    static const char *const ends[] = {".gguf", ".safetensors", ".safetensors.index.json", ".onnx"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (text_ends_with(name, ends[i]))
            return true;
    return false;
}

/* True if a folder has a model, and is no report of Poplar. */
static bool is_model_folder(const char *path) {
    DIR *folder = opendir(path);
    bool has_model = false;
    bool is_report = false;
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;) {
        is_report = is_report || strcmp(entry->d_name, "profile.pop") == 0;
        has_model =
            has_model || strcmp(entry->d_name, "config.json") == 0 || is_model_name(entry->d_name);
    }
    if (folder != NULL)
        closedir(folder);
    return has_model && !is_report;
}

static bool is_against(int argc, char **argv) {
    static const char option[] = "--against";
    bool found = false;
    for (int i = 1; i < argc; i++)
        found = found || strncmp(argv[i], option, sizeof option - 1) == 0;
    return found;
}

/* True for a model: by its name, or by what it begins with. */
static bool is_model(const char *path, const struct stat *info) {
    char beginning[1 << 16];
    if (S_ISDIR(info->st_mode))
        return is_model_folder(path);
    if (!S_ISREG(info->st_mode) || is_model_name(path))
        return S_ISREG(info->st_mode);
    FILE *file = fopen(path, "rb");
    const size_t length = file == NULL ? 0 : fread(beginning, 1, sizeof beginning - 1, file);
    if (file != NULL)
        (void)fclose(file);
    beginning[length] = '\0';
    return strncmp(beginning, "GGUF", 4) == 0 ||
           (strstr(beginning, "--num-layers") != NULL &&
            strstr(beginning, "--hidden-size") != NULL) || /* of Megatron-LM */
           (beginning[strspn(beginning, "\xef\xbb\xbf \t\r\n")] == '{' &&
            strstr(beginning, "\"model_type\"") != NULL && strstr(beginning, "popliner-") == NULL);
}

bool command_is_of_model(int argc, char **argv) {
    struct stat info;
    if (is_against(argc, argv))
        return true;
    int i = 1; /* options may come first, with values that are no files */
    while (i < argc && argv[1][0] == '-' && (argv[i][0] == '-' || stat(argv[i], &info) != 0))
        i++;
    return i < argc &&
           (stat(argv[i], &info) == 0 ? is_model(argv[i], &info) : is_model_name(argv[i]));
}

int command_run_model(int argc, char **argv) {
    static char code[] =
        "import sys\n"
        "sys.path[:] = [it for it in sys.path if it]\n"
        "try:\n"
        "    if any(it.startswith('--against') for it in sys.argv):\n"
        "        from popliner.against import main\n"
        "    else:\n"
        "        from popliner.costs.__main__ import main\n"
        "except ImportError as error:\n"
        "    print(f'popliner: the Python module popliner reads models and logs ({error}), and '\n"
        "          'has the help on models; install it in the environment of python3 (in the '\n"
        "          'source folder: python3 -m pip install .), or set POPLINER_PYTHON to one '\n"
        "          'that has it',\n"
        "          file=sys.stderr)\n"
        "    sys.exit(3)\n"
        "import signal\n"
        "signal.signal(signal.SIGPIPE, signal.SIG_DFL)\n"
        "sys.exit(main())\n";
    static char option[] = "-c";
    static char usual[] = "python3";
    char *python = getenv("POPLINER_PYTHON");
    char **arguments = calloc((size_t)argc + 3, sizeof *arguments);
    if (python == NULL || *python == '\0')
        python = usual;
    if (arguments != NULL) {
        arguments[0] = python;
        arguments[1] = option;
        arguments[2] = code;
        for (int i = 1; i < argc; i++)
            arguments[2 + i] = argv[i];
        execvp(python, arguments);
    }
    fprintf(stderr,
            "popliner: the Python module popliner reads models and logs, but %s cannot be run: "
            "%s\n",
            python, strerror(errno));
    free(arguments);
    return 3;
}
