/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "solving_run.h"

#include <stdlib.h>
#include <string.h>

#include "json_schema.h"

static json_t *parse(const char *text) {
    json_error_t error;
    json_t *document = json_loads(text, JSON_REJECT_DUPLICATES, &error);
    if (document == NULL)
        fail_msg("%s: %.300s", error.text, text);
    return document;
}

json_t *json_at(const json_t *document, const char *const *keys) {
    const json_t *place = document;
    for (size_t i = 0; keys[i] != NULL; i++) {
        place = json_is_array(place) ? json_array_get(place, strtoul(keys[i], NULL, 10))
                                     : json_object_get(place, keys[i]);
        if (place == NULL)
            fail_msg("the document has no %s", keys[i]);
    }
    return (json_t *)place;
}

uint64_t number_of(const json_t *number) {
    assert_true(json_is_integer(number));
    return (uint64_t)json_integer_value(number);
}

static const json_t *certificate_schema(void) {
    static json_t *schema; /* one for the whole program */
    if (schema == NULL) {
        size_t size;
        char *path = test_project_file("docs/certificate.schema.json");
        uint8_t *bytes = test_read_bytes(path, &size);
        schema = json_loadb((const char *)bytes, size, JSON_REJECT_DUPLICATES, NULL);
        assert_non_null(schema);
        free(bytes);
        free(path);
    }
    return schema;
}

bool certificate_schema_accepts(const char *name, const json_t *document, char *complaint) {
    return schema_accepts(certificate_schema(), NULL, document, complaint) &&
           schema_accepts(certificate_schema(), name, document, complaint);
}

json_t *run_json(command_run *r, int status, const char *const *arguments) {
    const char *all[MOST_ASKED + 4];
    size_t count = 0;
    const char *what = "answer";
    char complaint[SCHEMA_COMPLAINT_SIZE];
    for (; arguments[count] != NULL; count++) {
        assert_true(count < MOST_ASKED);
        all[count] = arguments[count];
        if (strcmp(all[count], "--pareto") == 0)
            what = all[count] + 2;
        else if (count > 0 && strstr(all[count], "..") != NULL && *all[count] != '-' &&
                 (strcmp(all[count - 1], "--num-ipus") == 0 ||
                  strcmp(all[count - 1], "--mem-per-tile") == 0))
            what = "sweep";
    }
    all[count++] = "--solve";
    all[count++] = "--format";
    all[count++] = "json";
    all[count] = NULL;
    run_command(r, all);
    if (r->status != status)
        fail_msg("exit status %d instead of %d: %s", r->status, status, r->err);
    assert_is_log(r);
    json_t *document = parse(r->out);
    if (!certificate_schema_accepts(what, document, complaint))
        fail_msg("not as the schema says: %s", complaint);
    return document;
}
