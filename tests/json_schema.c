/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "json_schema.h"

#include "test.h"

#include <stdio.h>
#include <string.h>

enum { PATH_SIZE = 200 };

/* Where a document is looked at. */
typedef struct checker {
    const json_t *root;
    char *complaint;
} checker;

static bool refuse(const checker *c, const char *path, const char *why, const char *what) {
    snprintf(c->complaint, SCHEMA_COMPLAINT_SIZE, "%s: %s%s", *path == '\0' ? "/" : path, why,
             what);
    return false;
}

static bool accepts(const checker *c, const json_t *schema, const json_t *value, const char *path);

static const json_t *definition(const checker *c, const char *name) {
    const json_t *found = json_object_get(json_object_get(c->root, "$defs"), name);
    if (found == NULL)
        fail_msg("the schema does not define %s", name);
    return found;
}

static bool has_type(const char *type, const json_t *value) {
    static const struct {
        const char *name;
        json_type types[2];
    } types[] = {
        {"object", {JSON_OBJECT, JSON_OBJECT}}, {"array", {JSON_ARRAY, JSON_ARRAY}},
        {"string", {JSON_STRING, JSON_STRING}}, {"integer", {JSON_INTEGER, JSON_INTEGER}},
        {"number", {JSON_INTEGER, JSON_REAL}},  {"boolean", {JSON_TRUE, JSON_FALSE}},
        {"null", {JSON_NULL, JSON_NULL}},
    };
    for (size_t i = 0; i < sizeof types / sizeof *types; i++)
        if (strcmp(types[i].name, type) == 0)
            return json_typeof(value) == types[i].types[0] ||
                   json_typeof(value) == types[i].types[1];
    fail_msg("the schema has the unknown type %s", type);
    return false;
}

static bool is_one_of(const json_t *values, const json_t *value) {
    for (size_t i = 0; i < json_array_size(values); i++)
        if (json_equal(json_array_get(values, i), value))
            return true;
    return false;
}

/* Required keys, those that are described, and what is said of all others. */
static bool accepts_object(const checker *c, const json_t *schema, const json_t *value,
                           const char *path) {
    const json_t *required = json_object_get(schema, "required");
    const json_t *properties = json_object_get(schema, "properties");
    const json_t *others = json_object_get(schema, "additionalProperties");
    const char *key;
    json_t *item;
    for (size_t i = 0; i < json_array_size(required); i++) {
        const char *name = json_string_value(json_array_get(required, i));
        if (properties == NULL || json_object_get(properties, name) == NULL)
            fail_msg("the schema requires %s, and does not describe it", name);
        if (json_object_get(value, name) == NULL)
            return refuse(c, path, "there is no ", name);
    }
    json_object_foreach((json_t *)value, key, item) {
        char at[PATH_SIZE];
        snprintf(at, sizeof at, "%s/%s", path, key);
        const json_t *own = json_object_get(properties, key);
        if (own == NULL && json_is_false(others))
            return refuse(c, at, "must not be there", "");
        own = own == NULL ? others : own;
        if (own == NULL)
            fail_msg("the schema does not say what %s may be", at);
        if (!accepts(c, own, item, at))
            return false;
    }
    return true;
}

static bool accepts_array(const checker *c, const json_t *schema, const json_t *value,
                          const char *path) {
    const json_t *items = json_object_get(schema, "items");
    const json_t *least = json_object_get(schema, "minItems");
    const json_t *most = json_object_get(schema, "maxItems");
    size_t count = json_array_size(value);
    if ((least != NULL && count < (size_t)json_integer_value(least)) ||
        (most != NULL && count > (size_t)json_integer_value(most)))
        return refuse(c, path, "wrong number of items", "");
    if (items == NULL)
        fail_msg("the schema does not say what the items of %s may be", path);
    for (size_t i = 0; i < count; i++) {
        char at[PATH_SIZE];
        snprintf(at, sizeof at, "%s/%zu", path, i);
        if (!accepts(c, items, json_array_get(value, i), at))
            return false;
    }
    return true;
}

static void check_keywords(const json_t *schema) {
    static const char *const known[] = {
        "$schema", "title",   "description", "$defs",    "$ref",
        "anyOf",   "type",    "properties",  "required", "additionalProperties",
        "items",   "minimum", "minItems",    "maxItems", "enum"};
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)schema, key, value) {
        bool is_known = false;
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            is_known = is_known || strcmp(known[i], key) == 0;
        if (!is_known)
            fail_msg("the schema has the unknown keyword %s", key);
    }
}

static bool accepts(const checker *c, const json_t *schema, const json_t *value, const char *path) {
    static const char prefix[] = "#/$defs/";
    if (!json_is_object(schema))
        fail_msg("what the schema says of %s is no object", path);
    check_keywords(schema);
    const char *reference = json_string_value(json_object_get(schema, "$ref"));
    if (reference != NULL) {
        assert_int_equal(strncmp(reference, prefix, strlen(prefix)), 0);
        if (!accepts(c, definition(c, reference + strlen(prefix)), value, path))
            return false;
    }
    const json_t *choices = json_object_get(schema, "anyOf");
    bool is_any = choices == NULL;
    for (size_t i = 0; i < json_array_size(choices) && !is_any; i++)
        is_any = accepts(c, json_array_get(choices, i), value, path);
    if (!is_any)
        return false;
    const char *type = json_string_value(json_object_get(schema, "type"));
    if (type != NULL && !has_type(type, value))
        return refuse(c, path, "is no ", type);
    const json_t *values = json_object_get(schema, "enum");
    if (values != NULL && !is_one_of(values, value))
        return refuse(c, path, "is none of the possible values", "");
    const json_t *least = json_object_get(schema, "minimum");
    if (least != NULL && json_number_value(value) < json_number_value(least))
        return refuse(c, path, "is too small", "");
    if (type != NULL && strcmp(type, "object") == 0)
        return accepts_object(c, schema, value, path);
    if (type != NULL && strcmp(type, "array") == 0)
        return accepts_array(c, schema, value, path);
    return true;
}

bool schema_accepts(const json_t *schema, const char *name, const json_t *document,
                    char *complaint) {
    checker c = {schema, complaint};
    return accepts(&c, name == NULL ? schema : definition(&c, name), document, "");
}
