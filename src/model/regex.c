/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "model/regex.h"

#include <stdlib.h>
#include <string.h>

#define PCRE2_CODE_UNIT_WIDTH 8
#include <pcre2.h>

#include "base/failure.h"
#include "base/text.h"

/* A name of a few hundred characters needs a few hundred steps of a sane pattern; this limit keeps
 * a pathological one ("(a+)+$") within some milliseconds per name. */
enum { MAX_STEPS = 1000000 };

struct pl_regex {
    char *option;
    pcre2_code *code;
    pcre2_match_context *context;
    pcre2_match_data *data;
    pl_text result; /* of the current match */
};

popliner_status pl_regex_compile(const char *pattern, const char *option, pl_regex **result,
                                 popliner_error *error) {
    int code = 0;
    PCRE2_SIZE offset = 0;
    popliner_status status = POPLINER_OK;
    *result = NULL;
    pl_regex *regex = calloc(1, sizeof *regex);
    if (regex == NULL)
        return pl_fail_memory(error, "a regular expression");
    regex->option = strdup(option);
    regex->context = pcre2_match_context_create(NULL);
    regex->code =
        pcre2_compile((PCRE2_SPTR)pattern, PCRE2_ZERO_TERMINATED,
                      PCRE2_UTF | PCRE2_UCP | PCRE2_MATCH_INVALID_UTF, &code, &offset, NULL);
    if (regex->code != NULL)
        regex->data = pcre2_match_data_create_from_pattern(regex->code, NULL);
    if (regex->code == NULL && code != PCRE2_ERROR_HEAP_FAILED) {
        PCRE2_UCHAR8 reason[200] = "unknown error";
        pcre2_get_error_message(code, reason, sizeof reason);
        status = pl_fail(error, POPLINER_ERROR_USAGE, "%s: invalid pattern '%s': %s at offset %zu",
                         option, pattern, (const char *)reason, (size_t)offset);
    } else if (regex->option == NULL || regex->context == NULL || regex->data == NULL) {
        status = pl_fail_memory(error, "a regular expression");
    }
    if (status != POPLINER_OK) {
        pl_regex_free(regex);
        return status;
    }
    /* without a JIT for the machine the interpreter gives equal results, more slowly */
    pcre2_jit_compile(regex->code, PCRE2_JIT_COMPLETE);
    pcre2_set_match_limit(regex->context, MAX_STEPS);
    *result = regex;
    return POPLINER_OK;
}

void pl_regex_free(pl_regex *regex) {
    if (regex == NULL)
        return;
    pcre2_match_data_free(regex->data);
    pcre2_match_context_free(regex->context);
    pcre2_code_free(regex->code);
    free(regex->result.data);
    free(regex->option);
    free(regex);
}

/* Matches once from `start` on, and sets *matches. */
static popliner_status match(pl_regex *regex, const char *text, size_t length, size_t start,
                             uint32_t flags, bool *matches, popliner_error *error) {
    int code = pcre2_match(regex->code, (PCRE2_SPTR)text, length, start, flags, regex->data,
                           regex->context);
    /* compiled code has only a small stack; the interpreter can handle a long text */
    if (code == PCRE2_ERROR_JIT_STACKLIMIT)
        code = pcre2_match(regex->code, (PCRE2_SPTR)text, length, start, flags | PCRE2_NO_JIT,
                           regex->data, regex->context);
    *matches = code >= 0;
    if (code >= 0 || code == PCRE2_ERROR_NOMATCH)
        return POPLINER_OK;
    if (code == PCRE2_ERROR_NOMEMORY)
        return pl_fail_memory(error, "a regular expression");
    PCRE2_UCHAR8 reason[200] = "unknown error";
    pcre2_get_error_message(code, reason, sizeof reason);
    return pl_fail(error, POPLINER_ERROR_USAGE,
                   "%s: matching the name '%.200s' failed: %s; use a simpler pattern",
                   regex->option, text, (const char *)reason);
}

/* Returns the text of the current match: its groups, or all of it. */
static const char *read_result(pl_regex *regex, const char *text) {
    const PCRE2_SIZE *bounds = pcre2_get_ovector_pointer(regex->data);
    uint32_t pairs = pcre2_get_ovector_count(regex->data);
    regex->result.length = 0;
    pl_text_append(&regex->result, "", 0);
    for (uint32_t group = pairs > 1 ? 1 : 0; group < pairs; group++) {
        PCRE2_SIZE from = bounds[2 * (size_t)group];
        PCRE2_SIZE to = bounds[2 * group + 1];
        if (from != PCRE2_UNSET && from < to)
            pl_text_append(&regex->result, text + from, to - from);
    }
    return regex->result.failed ? NULL : regex->result.data;
}

popliner_status pl_regex_find_all(pl_regex *regex, const char *text, size_t length,
                                  pl_regex_result result, void *user, popliner_error *error) {
    size_t start = 0;
    /* the last match was empty: the next one must not be, at this position */
    bool after_empty = false;
    while (start <= length) {
        bool matches = false;
        uint32_t flags = after_empty ? PCRE2_NOTEMPTY_ATSTART | PCRE2_ANCHORED : 0;
        PL_TRY(match(regex, text, length, start, flags, &matches, error));
        const PCRE2_SIZE *bounds = pcre2_get_ovector_pointer(regex->data);
        /* a \K in a look-around can let a match end before its start, which makes no progress */
        const bool no_further = matches && bounds[1] <= start;
        if (matches && !(after_empty && no_further)) {
            const char *found = read_result(regex, text);
            if (found == NULL || !result(user, found))
                return pl_fail_memory(error, "a regular expression");
            after_empty = no_further || bounds[0] >= bounds[1];
            start = no_further ? start : bounds[1];
        } else if (after_empty) { /* skips one character */
            start++;
            while (start < length && pl_is_within_character(text[start]))
                start++;
            after_empty = false;
        } else {
            return POPLINER_OK;
        }
    }
    return POPLINER_OK;
}

popliner_status pl_regex_matches(pl_regex *regex, const char *text, size_t length, bool *matches,
                                 size_t *begin, popliner_error *error) {
    PL_TRY(match(regex, text, length, 0, 0, matches, error));
    const PCRE2_SIZE *bounds = pcre2_get_ovector_pointer(regex->data);
    if (*matches && begin != NULL)
        *begin = bounds[0] < bounds[1] ? bounds[0] : bounds[1]; /* after a \K in a look-around */
    return POPLINER_OK;
}

bool pl_regex_has_groups(const pl_regex *regex) {
    return pcre2_get_ovector_count(regex->data) > 1;
}
