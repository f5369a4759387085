/* popliner-manual: writes the manual page and the completion for bash, from the table of options
 * and nothing else. Run when the command is built; not installed.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/option_table.h"
#include "popliner/popliner.h"

/* Calls `print` for each row that is an option. */
static void for_each_option(void (*print)(const option *o)) {
    for (size_t i = 0; i < num_options; i++)
        if (option_table[i].kind != NULL)
            print(&option_table[i]);
}

static bool is_path(const option *o) {
    return o->kind->is_path || o->output != NULL;
}

/* The sign that follows a word, as in "cut:L,..."; '\0' if the word may be all. */
static char mark_after(const kind_word *word) {
    const char mark = word->form == NULL ? '\0' : word->form[strlen(word->name)];
    return mark == ':' || mark == '=' ? mark : '\0';
}

static bool has_words(const option *o) {
    kind_word word;
    return kind_word_at(o->kind, 0, &word);
}

/* True if something may follow a word: then shells add no blank. */
static bool goes_on(const option *o) {
    kind_word word;
    bool found = o->kind->has_members || o->kind == &kind_output;
    for (int i = 0; kind_word_at(o->kind, i, &word); i++)
        found = found || word.form != NULL;
    return found;
}

/* Prints the words, with the sign that follows each, and blanks between them. */
static void print_words(const option *o) {
    kind_word word;
    for (int i = 0; kind_word_at(o->kind, i, &word); i++) {
        printf("%s%s", i == 0 ? "" : " ", word.name);
        if (mark_after(&word) != '\0')
            putchar(mark_after(&word));
    }
    for (size_t i = 0; o->kind == &kind_help && i < num_options; i++)
        if (option_table[i].kind != NULL && strcmp(option_table[i].name, "output") != 0 &&
            strcmp(option_table[i].name, "layers") != 0)
            printf(" %s", option_table[i].name);
}

/* ---- the manual page ---- */

/* Prints text as roff, in lines of its own; of what is filled, ends of lines mean nothing. */
static void print_roff(const char *text) {
    bool begins = true;
    for (; *text != '\0'; text++) {
        if (begins && (*text == '.' || *text == '\''))
            fputs("\\&", stdout);
        begins = *text == '\n';
        if (*text == '\\')
            fputs("\\e", stdout);
        else if (*text == '-')
            fputs("\\-", stdout);
        else if (*text == '\'')
            fputs("\\(aq", stdout);
        else
            putchar(*text);
    }
}

/* Prints the help on all options: its headings are sections, and options are bold. */
static void print_help(void) {
    char *text = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&text, &size);
    if (stream == NULL)
        return;
    help_print(stream, "all");
    (void)fclose(stream); /* memory, which it completes */
    printf(".nf\n");
    for (char *line = strtok(text, "\n"); line != NULL; line = strtok(NULL, "\n")) {
        const bool is_option = strncmp(line, "  -", 3) == 0;
        if (strcmp(line, "Exit status:") == 0) {
            printf(".fi\n.SH EXIT STATUS\n.nf\n");
        } else {
            const bool is_heading = *line != ' ' && line[strlen(line) - 1] == ':';
            printf(is_heading ? ".fi\n.SS " : is_option ? "\\fB" : "");
            print_roff(line);
            printf(is_heading ? "\n.nf\n" : is_option ? "\\fR\n" : "\n");
        }
    }
    printf(".fi\n");
    free(text);
}

static void print_manual(void) {
    printf(".TH POPLINER 1 \"" PL_VERSION_DATE "\" \"popliner %s\" \"User Commands\"\n",
           popliner_version());
    printf(".SH NAME\n"
           "popliner \\- finds where to cut a neural network so that it fits on several IPUs\n"
           ".SH SYNOPSIS\n"
           ".B popliner\n\\fIINPUT\\fR [\\fIDEBUG\\fR] [\\fIoptions\\fR]\n"
           ".SH DESCRIPTION\n"
           "Reads what the Poplar compiler reports of a model that was compiled for one IPU,\n"
           "and chooses the best cuts of it into stages, with proof, by peak memory per tile,\n"
           "cycles, or traffic. Without an option that says what to do, it shows an overview.\n"
           ".TP\n"
           "\\fIINPUT\\fR\n"
           "the profile.pop that Poplar wrote, or the directory that holds it; a stored\n"
           "analysis; or a file of costs (\\-: standard input)\n"
           ".TP\n"
           "\\fIDEBUG\\fR\n"
           "its debug.cbor (default: the one in the same directory, else one directory up)\n"
           ".PP\n"
           "Reports, tables and JSON go to standard output, the log to standard error.\n"
           ".SH OPTIONS\n");
    print_help();
    printf(".SH PROFILES\n");
    print_roff(help_on_profiles);
    printf(
        ".SH EXAMPLES\n"
        ".TP\n"
        "popliner report \\-\\-solve \\-\\-num\\-ipus 4\n"
        "the best split of the profile in the directory \\(oqreport\\(cq over at most four IPUs\n"
        ".TP\n"
        "popliner costs.json \\-\\-solve \\-\\-format json\n"
        "that of your own costs, with its proof\n");
}

/* ---- bash ---- */

static void print_bash_case(const option *o) {
    const bool is_list = o->kind->has_members;
    if (o->value == NULL || o->kind->is_optional)
        return;
    printf("    --%s", o->name);
    if (o->letter != '\0')
        printf("|-%c", o->letter);
    printf(")\n");
    if (is_path(o)) {
        printf("        compopt -o filenames\n        COMPREPLY=($(compgen -f -- \"$word\"))\n");
    } else if (has_words(o)) {
        printf("%s%s        COMPREPLY=($(compgen %s-W '",
               goes_on(o) ? "        compopt -o nospace\n" : "",
               is_list ? "        [[ $word == *,* ]] && taken=${word%,*},\n" : "",
               is_list ? "-P \"$taken\" " : "");
        print_words(o);
        printf("' -- \"%s\"))\n", is_list ? "${word##*,}" : "$word");
    }
    printf("        return ;;\n");
}

static void print_bash_help(const option *o) {
    if (!o->kind->is_optional)
        return;
    printf("    --%s|-%c)\n        [[ $word == -* ]] || COMPREPLY=($(compgen -W '", o->name,
           o->letter);
    print_words(o);
    printf("' -- \"$word\"))\n        [[ $word == -* ]] || return ;;\n");
}

static void print_bash_name(const option *o) {
    if (o->letter != '\0')
        printf(" -%c", o->letter);
    printf(" --%s", o->name);
}

static void print_bash(void) {
    printf("# completion for popliner in bash, and in zsh after bashcompinit\n"
           "type compopt >/dev/null 2>&1 || compopt() { :; }\n"
           "_popliner() {\n"
           "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD - 1]} IFS=$' "
           "\\n' taken=\n"
           "    COMPREPLY=()\n"
           "    # bash takes --option=value apart\n"
           "    if [[ $word == '=' ]]; then\n"
           "        word=\n"
           "    elif [[ $before == '=' && $COMP_CWORD -ge 2 ]]; then\n"
           "        before=${COMP_WORDS[COMP_CWORD - 2]}\n"
           "    fi\n"
           "    case $before in\n");
    for_each_option(print_bash_case);
    for_each_option(print_bash_help);
    printf("    esac\n"
           "    if [[ $word == -* ]]; then\n"
           "        COMPREPLY=($(compgen -W '");
    for_each_option(print_bash_name);
    printf("' -- \"$word\"))\n"
           "    else\n"
           "        compopt -o filenames\n"
           "        COMPREPLY=($(compgen -f -- \"$word\"))\n"
           "    fi\n"
           "}\n"
           "complete -F _popliner popliner\n");
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*print)(void);
    } documents[] = {{"man", print_manual}, {"bash", print_bash}};
    for (size_t i = 0; argc == 3 && i < sizeof documents / sizeof *documents; i++) {
        if (strcmp(argv[1], documents[i].name) != 0)
            continue;
        if (freopen(argv[2], "w", stdout) == NULL) {
            perror(argv[2]);
            return EXIT_FAILURE;
        }
        documents[i].print();
        bool is_written = fflush(stdout) == 0 && !ferror(stdout);
        return is_written ? EXIT_SUCCESS : EXIT_FAILURE;
    }
    fputs("usage: popliner-manual man|bash FILE\n", stderr);
    return 2;
}
