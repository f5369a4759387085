/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "show/report_parts.h"

#include <stdlib.h>
#include <string.h>

#include "base/failure.h"

popliner_status pl_report_finish(pl_text *text, popliner_status status, char **result,
                                 popliner_error *error) {
    if (status == POPLINER_OK && text->failed)
        status = pl_fail_memory(error, "a report");
    *result = NULL;
    if (status == POPLINER_OK)
        *result = text->data;
    else
        free(text->data);
    return status;
}

json_t *pl_report_json_text(const char *text) {
    json_t *json = json_string(text);
    char *ascii = json == NULL ? pl_copy_string(text, strlen(text)) : NULL;
    if (ascii != NULL) {
        for (char *c = ascii; *c != '\0'; c++)
            *c = (unsigned char)*c < 0x80 ? *c : '?';
        json = json_string(ascii);
        free(ascii);
    }
    return json;
}

popliner_status pl_report_json(const json_t *document, pl_text *text, popliner_error *error) {
    char *dump = json_dumps(document, JSON_INDENT(4) | JSON_PRESERVE_ORDER | JSON_ENSURE_ASCII);
    if (dump == NULL)
        return pl_fail_memory(error, "a report");
    pl_text_add(text, dump);
    pl_text_add(text, "\n");
    free(dump);
    return POPLINER_OK;
}

double pl_report_percent(uint64_t bytes, uint64_t truth_bytes) {
    if (truth_bytes == 0)
        return bytes == 0 ? 0 : 100;
    return 100 * ((double)bytes - (double)truth_bytes) / (double)truth_bytes;
}
