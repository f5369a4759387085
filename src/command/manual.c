/* popliner-manual: writes the manual page and the completions of shells, from the table of options
 * and nothing else. Run when the command is built; not installed.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "command/options.h"
#include "popliner/popliner.h"

/* Whether the value is a file or a directory. */
static bool is_path(const option_described *o) {
    static const char *const paths[] = {"FILE", "DIR", "OTHER"};
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++)
        if (o->value != NULL && strcmp(o->value, paths[i]) == 0)
            return true;
    return false;
}

/* Whether there is a value that is a list of the choices, separated by ','. */
static bool is_list(const option_described *o) {
    return o->value != NULL && (strstr(o->value, "LIST") != NULL ||
                                strncmp(o->value, "NAME,", 5) == 0 || strcmp(o->value, "A,B") == 0);
}

/* What follows one of the choices: "=" where more has to come, as in SECTION=FILE; nothing where it
 * may, as in FORMAT[=FILE]. */
static const char *mark_behind(const option_described *o) {
    const char *mark = strchr(o->value, '=');
    return mark == NULL || (mark > o->value && mark[-1] == '[') ? "" : "=";
}

/* Prints the choices, with what follows each, and blanks between them. */
static void print_words(const option_described *o) {
    for (const char *choices = o->choices; *choices != '\0'; choices++)
        if (*choices == '|')
            printf("%s ", mark_behind(o));
        else
            putchar(*choices);
    fputs(mark_behind(o), stdout);
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

static void print_roff_option(const option_described *o) {
    printf(".TP\n");
    if (o->letter != '\0')
        printf("\\fB\\-%c\\fR, ", o->letter);
    printf("\\fB\\-\\-");
    print_roff(o->name);
    printf("\\fR");
    if (o->value != NULL) {
        printf(" \\fI");
        print_roff(o->value);
        printf("\\fR");
    }
    printf("\n");
    print_roff(o->help);
    printf("\n");
}

static void print_manual(void) {
    option_described o;
    printf(".TH POPLINER 1 \"" PL_VERSION_DATE "\" \"popliner %s\" \"User Commands\"\n",
           popliner_version());
    printf(".SH NAME\n"
           "popliner \\- says where to cut a neural network so that it fits on several IPUs\n"
           ".SH SYNOPSIS\n"
           ".B popliner\n[\\fIoptions\\fR] \\fIINPUT\\fR [\\fIDEBUG\\fR]\n"
           ".SH DESCRIPTION\n"
           "Reads what the Poplar compiler reports of a model that was compiled for one IPU,\n"
           "and chooses the best cuts of it into stages, with proof, by the memory of the\n"
           "largest tile, cycles, or traffic.\n"
           ".TP\n"
           "\\fIINPUT\\fR\n"
           "the profile.pop that Poplar wrote, or the directory that holds it; a stored\n"
           "analysis; or a file of costs (\\-: standard input)\n"
           ".TP\n"
           "\\fIDEBUG\\fR\n"
           "its debug.cbor (default: beside the profile, else one directory up)\n"
           ".PP\n"
           "Tables and JSON go to standard output, the log to standard error.\n"
           ".SH OPTIONS\n");
    for (size_t i = 0; options_describe(i, &o) != NULL; i++)
        if (o.is_heading) {
            printf(".SS ");
            print_roff(o.name);
            printf("\n");
        } else {
            print_roff_option(&o);
        }
    printf(".SH NOTES\n");
    print_roff(options_about_profiles);
    printf(".SH EXIT STATUS\n");
    print_roff(options_about_exit);
    printf(".SH EXAMPLES\n"
           ".TP\n"
           "popliner \\-\\-solve \\-\\-num\\-ipus 4 report\n"
           "the best split of the profile in the folder \\(oqreport\\(cq over at most four IPUs\n"
           ".TP\n"
           "popliner costs.json \\-\\-solve \\-\\-format json\n"
           "the same for costs of your own, with the proof\n");
}

/* ---- bash ---- */

static void print_bash_cases(void) {
    option_described o;
    for (size_t i = 0; options_describe(i, &o) != NULL; i++) {
        if (o.is_heading || o.value == NULL)
            continue;
        printf("    --%s)\n", o.name);
        if (*o.choices != '\0') {
            const bool goes_on = is_list(&o) || *mark_behind(&o) != '\0';
            printf("%s%s        COMPREPLY=($(compgen %s-W '",
                   goes_on ? "        compopt -o nospace\n" : "",
                   is_list(&o) ? "        [[ $word == *,* ]] && taken=${word%,*},\n" : "",
                   is_list(&o) ? "-P \"$taken\" " : "");
            print_words(&o);
            printf("' -- \"%s\"))\n", is_list(&o) ? "${word##*,}" : "$word");
        } else if (is_path(&o)) {
            printf(
                "        compopt -o filenames\n        COMPREPLY=($(compgen -f -- \"$word\"))\n");
        }
        printf("        return ;;\n");
    }
}

static void print_bash(void) {
    option_described o;
    printf("# bash completion for popliner\n"
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
    print_bash_cases();
    printf("    esac\n"
           "    if [[ $word == -* ]]; then\n"
           "        COMPREPLY=($(compgen -W '");
    for (size_t i = 0; options_describe(i, &o) != NULL; i++)
        if (!o.is_heading) {
            if (o.letter != '\0')
                printf(" -%c", o.letter);
            printf(" --%s", o.name);
        }
    printf("' -- \"$word\"))\n"
           "    else\n"
           "        compopt -o filenames\n"
           "        COMPREPLY=($(compgen -f -- \"$word\"))\n"
           "    fi\n"
           "}\n"
           "complete -F _popliner popliner\n");
}

/* ---- zsh and fish ---- */

/* The help as far as its first clause, in one line. `escaped` get a backslash; a ' becomes `quote`.
 */
static void print_summary(const option_described *o, const char *escaped, const char *quote) {
    size_t length = strcspn(o->help, ";:(");
    while (length > 0 && strchr(" \n", o->help[length - 1]) != NULL)
        length--;
    for (size_t i = 0; i < length; i++) {
        char c = o->help[i];
        if (strchr(escaped, c) != NULL)
            putchar('\\');
        if (c == '\'')
            fputs(quote, stdout);
        else
            putchar(c == '\n' ? ' ' : c);
    }
}

/* A text in single quotes, for zsh's _arguments. */
static void print_zsh(const char *text) {
    for (; *text != '\0'; text++) {
        if (strchr("[]:\\", *text) != NULL)
            putchar('\\');
        if (*text == '\'')
            fputs("'\\''", stdout);
        else
            putchar(*text);
    }
}

static void print_zsh_all(void) {
    option_described o;
    printf("#compdef popliner\n\n_arguments -s");
    for (size_t i = 0; options_describe(i, &o) != NULL; i++) {
        if (o.is_heading)
            continue;
        printf(" \\\n  ");
        const char *mark = o.value == NULL ? "" : "=";
        if (o.letter == '\0')
            printf("'%s--%s%s[", o.is_repeated ? "*" : "", o.name, mark);
        else if (o.is_repeated)
            printf("'*'{-%c+,--%s%s}'[", o.letter, o.name, mark);
        else
            printf("'(-%c --%s)'{-%c%s,--%s%s}'[", o.letter, o.name, o.letter,
                   o.value == NULL ? "" : "+", o.name, mark);
        print_summary(&o, "[]\\", "'\\''");
        printf("]");
        if (o.value != NULL) {
            printf(":");
            print_zsh(*o.choices != '\0' && strchr(o.value, '|') != NULL ? o.name : o.value);
            printf(":");
            if (*o.choices != '\0') {
                printf(is_list(&o) ? "_sequence compadd - " : "(");
                print_words(&o);
                printf(is_list(&o) ? "" : ")");
            } else if (is_path(&o)) {
                printf("_files");
            }
        }
        printf("'");
    }
    printf(" \\\n  '1:INPUT:_files' \\\n  '2:DEBUG:_files'\n");
}

static void print_fish(void) {
    option_described o;
    printf("# fish completion for popliner\n");
    for (size_t i = 0; options_describe(i, &o) != NULL; i++) {
        if (o.is_heading)
            continue;
        printf("complete -c popliner -l %s", o.name);
        if (o.letter != '\0')
            printf(" -s %c", o.letter);
        if (is_path(&o))
            printf(" -r -F");
        else if (o.value != NULL)
            printf(" -x");
        if (*o.choices != '\0') {
            printf(is_list(&o) ? " -a '(__fish_append , " : " -a '");
            print_words(&o);
            printf(is_list(&o) ? ")'" : "'");
        }
        printf(" -d '");
        print_summary(&o, "\\", "\\'");
        printf("'\n");
    }
}

int main(int argc, char **argv) {
    static const struct {
        const char *name;
        void (*print)(void);
    } documents[] = {
        {"man", print_manual}, {"bash", print_bash}, {"zsh", print_zsh_all}, {"fish", print_fish}};
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
    fputs("usage: popliner-manual man|bash|zsh|fish FILE\n", stderr);
    return 2;
}
