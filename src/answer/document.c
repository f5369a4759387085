/* Documents in JSON, for programs: members by path.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <ctype.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "popliner/report.h"

struct popliner_document {
    json_t *root;
};

popliner_status popliner_document_parse(const char *json, popliner_document **document,
                                        popliner_error *error) {
    json_error_t failure;
    *document = calloc(1, sizeof **document);
    if (*document == NULL)
        return pl_fail_memory(error, "the document");
    (*document)->root = json_loads(json, JSON_REJECT_DUPLICATES, &failure);
    if ((*document)->root != NULL)
        return POPLINER_OK;
    popliner_document_free(*document);
    *document = NULL;
    if (json_error_code(&failure) == json_error_out_of_memory)
        return pl_fail_memory(error, "the document");
    return pl_fail(error, POPLINER_ERROR_INPUT, "no JSON: %s (line %d, column %d)", failure.text,
                   failure.line, failure.column);
}

/* The item at a path; NULL if there is none. */
static const json_t *item_at(const popliner_document *document, const char *path) {
    const json_t *item = document->root;
    while (item != NULL && *path != '\0') {
        const size_t length = strcspn(path, ".");
        if (json_is_object(item))
            item = json_object_getn(item, path, length);
        else if (json_is_array(item) && isdigit((unsigned char)*path))
            item = json_array_get(item, strtoul(path, NULL, 10));
        else
            item = NULL;
        path += length + (path[length] == '.');
    }
    return item;
}

bool popliner_document_number(const popliner_document *document, const char *path, double *value) {
    const json_t *item = item_at(document, path);
    if (!json_is_number(item) && !json_is_boolean(item))
        return false;
    *value = json_is_boolean(item) ? json_is_true(item) : json_number_value(item);
    return true;
}

const char *popliner_document_text(const popliner_document *document, const char *path) {
    return json_string_value(item_at(document, path));
}

size_t popliner_document_count(const popliner_document *document, const char *path) {
    const json_t *item = item_at(document, path);
    return json_is_array(item) ? json_array_size(item) : json_object_size(item);
}

void popliner_document_free(popliner_document *document) {
    if (document == NULL)
        return;
    json_decref(document->root);
    free(document);
}
