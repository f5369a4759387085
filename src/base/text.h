/* Texts from files: decoding characters, and writing texts for programs and for people.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_BASE_TEXT_H
#define PL_BASE_TEXT_H

#include "base/growth.h"
#include "popliner/error.h"

/* ---- Characters ------------------------------------------------------------------------------ */

/* Decodes the first character of a non-empty NUL-terminated text and returns its length, 1 to 4
 * bytes. 0 for invalid UTF-8 (including overlong forms, surrogates and characters above U+10FFFF):
 * skip one byte then. */
size_t pl_utf8_decode(const char *text, uint32_t *character);

/* True for a character that a terminal may obey instead of showing it: C0, DEL, C1, line and
 * paragraph separators, and changes of the text's direction. */
bool pl_utf8_is_control(uint32_t character);

/* Returns the length of the first character of a non-empty text, 1 where it is none, and sets how
 * many columns of a terminal it takes: 0 for those that combine, 2 for wide ones. */
size_t pl_utf8_width(const char *text, size_t *width);

/* ---- For programs ---------------------------------------------------------------------------- */

/* U+FFFD. */
#define PL_REPLACEMENT "\xef\xbf\xbd"

/* Returns what a text has in place of a character; NULL: the character itself. `room` is for it. */
enum { PL_STAND_IN_SIZE = 8 };
typedef const char *pl_stand_in(uint32_t character, char room[PL_STAND_IN_SIZE]);

/* Appends a text, or what stands in for its characters; U+FFFD for bytes that are not valid
 * UTF-8. */
void pl_text_add_instead(pl_text *text, const char *value, pl_stand_in *stand_in);

/* Appends a text as a JSON string, in quotes. Escapes characters that a terminal would obey;
 * replaces invalid bytes. */
void pl_quote_json(pl_text *text, const char *value);

/* Returns the first i of which name_at(i) is this name; SIZE_MAX if none is before NULL. */
size_t pl_find_name(const char *(*name_at)(size_t i), const char *name);

/* ---- For people ------------------------------------------------------------------------------ */

/* Makes a finished text what popliner_printable_take shows of it, except for the characters
 * of `kept`. */
void pl_text_make_printable(pl_text *text, const char *kept);

/* Sets *result to the text, unless memory ran short or `status` is a failure; then frees it.
 * Returns the status. */
popliner_status pl_text_finish(pl_text *text, popliner_status status, char **result,
                               popliner_error *error);

/* ---- Numbers for people ---------------------------------------------------------------------- */

/* "638,976": PL_GROUPED is that for %s, until the end of its full expression. */
typedef struct pl_grouped {
    char text[28];
} pl_grouped;
pl_grouped pl_group_digits(uint64_t number);
#define PL_GROUPED(number) (pl_group_digits(number).text)

/* "15.56 M" and the unit; below 1000 "15", or "15.00" where numbers are not whole. */
void pl_text_add_short(pl_text *text, double number, bool is_whole, const char *unit);

/* "12.6", "0.108", "1,235": three significant digits, or the whole number. */
void pl_text_add_significant(pl_text *text, double number);

void pl_text_add_size(pl_text *text, double bytes); /* "16 KiB" */

/* Adds a name of the compiler in words: "hostExchangeCode" as "host exchange code". */
void pl_text_add_words(pl_text *text, const char *name);

/* Adds `bytes` as a share of `limit`: "80 %". What is below the limit has at most 99, what is above
 * at least 101. */
void pl_text_add_percent(pl_text *text, uint64_t bytes, uint64_t limit);

/* True for the second and later bytes of a UTF-8 character. */
static inline bool pl_is_within_character(char byte) {
    return ((unsigned char)byte & 0xc0) == 0x80;
}

/* How many bytes all names with a digit begin and end with, but for digits. */
typedef struct pl_shared_ends {
    size_t begin;
    size_t end;
    const uint8_t *is_counted; /* the names that count; NULL: all */
} pl_shared_ends;

/* Finds them; 0 if fewer than two names have a digit, or those are short. `is_counted` is
 * kept, not copied. O(bytes of the names). */
pl_shared_ends pl_names_shared_ends(const char *const *names, const uint8_t *is_counted,
                                    size_t count);

/* Adds the name of this number, without these if it has a digit and counts. */
void pl_text_add_own_name(pl_text *text, const pl_shared_ends *ends, const char *const *names,
                          size_t number);

/* Compares texts with their runs of digits as numbers: layer2 comes before layer10. */
int pl_compare_naturally(const char *a, const char *b);

#endif
