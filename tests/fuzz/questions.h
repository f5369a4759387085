/* What can be asked of an analysis, and what has to be true of the answers.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#ifndef PL_TESTS_FUZZ_QUESTIONS_H
#define PL_TESTS_FUZZ_QUESTIONS_H

#include <stdbool.h>
#include <stdint.h>

#include "popliner/analysis.h"

/* Two questions in so many bytes of an input. */
enum { QUESTIONS_SIZE = 8 };

/* What is asked about. */
typedef struct subject {
    popliner_analysis *analysis;
    const popliner_analysis_options *options; /* that it was made with */
    const char *path;                         /* of the file that it comes from */
    bool is_checked;  /* the profile was compared with itself as it is now */
    bool is_measured; /* stages that were stored are those of the profile */
} subject;

/* Asks one of the questions, or both, or both and stores the analysis, as `how` from 0 to 15 tells;
 * ends the process where an answer contradicts itself, another one, or that of the analysis once it
 * was stored and loaded. Where a question is refused there has to be a sentence, which names the
 * path if it is due to the file. */
void questions_ask_all(const subject *s, const uint8_t *bytes, uint8_t how);

/* A byte of an input, whose upper half is `how`. Two questions, and storing the analysis, take most
 * of the time: seven of eight bytes that say so are changed to say that one question is asked. */
uint8_t questions_fewer(uint8_t byte, unsigned seed);

#endif
