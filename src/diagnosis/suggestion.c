/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "diagnosis/suggestion.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/failure.h"
#include "base/growth.h"
#include "base/names.h"
#include "model/layers_data.h"
#include "model/operations_data.h"

/* A word with what stands between it and its number: "h/" or "layer_._". */
typedef struct stem {
    size_t num_numbers;     /* different ones */
    size_t first_operation; /* where it was first seen */
} stem;

typedef struct stems {
    pl_names names;    /* of the stems */
    pl_names numbered; /* of stem and number together */
    stem *items;       /* by number of the name */
    size_t capacity;
} stems;

static bool add_stem(stems *all, const char *bytes, size_t stem_length, size_t length,
                     size_t operation) {
    char *text = pl_copy_string(bytes, length);
    if (text == NULL)
        return false;
    size_t numbers_before = all->numbered.count;
    size_t stems_before = all->names.count;
    bool memory = pl_names_number(&all->numbered, text) != SIZE_MAX;
    text[stem_length] = '\0';
    size_t place = memory ? pl_names_number(&all->names, text) : SIZE_MAX;
    free(text);
    if (place == SIZE_MAX || !pl_grow(&all->items, &all->capacity, place + 1, sizeof *all->items))
        return false;
    if (all->names.count > stems_before)
        all->items[place] = (stem){.first_operation = operation};
    all->items[place].num_numbers += all->numbered.count > numbers_before;
    return true;
}

/* Without the locale, in which other bytes may be letters. */
static bool is_digit(char c) {
    return c >= '0' && c <= '9';
}

static bool is_letter(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* Every "word, up to three of / _ . -, digits" at the beginning of a path's component. */
static bool add_stems(stems *all, const char *name, size_t operation) {
    for (size_t i = 0; name[i] != '\0'; i++) {
        if ((i > 0 && strchr("/.", name[i - 1]) == NULL) || !is_letter(name[i]))
            continue;
        size_t word = i;
        while (is_letter(name[word]))
            word++;
        size_t number = word;
        while (number - word < 3 && name[number] != '\0' && strchr("/_.-", name[number]) != NULL)
            number++;
        size_t end = number;
        while (is_digit(name[end]))
            end++;
        if (end > number && !is_letter(name[end]) && !is_digit(name[end]) &&
            !add_stem(all, name + i, number - i, end - i, operation))
            return false;
    }
    return true;
}

popliner_status pl_suggest_regex(const popliner_operations *operations,
                                 const popliner_layers *layers, pl_suggestion *suggestion,
                                 popliner_error *error) {
    stems all = {.capacity = 0};
    bool memory = true;
    size_t best = SIZE_MAX;
    *suggestion = (pl_suggestion){.num_layers = 0};
    for (size_t i = 0; memory && i < popliner_operations_count(operations); i++) {
        const popliner_operation *operation = pl_operation_at(operations, i);
        if (pl_layers_unit_of(layers, i) == 0 && !operation->is_tensor)
            memory = add_stems(&all, operation->name, i);
    }
    for (size_t i = 0; i < all.names.count; i++) {
        if (all.items[i].num_numbers > 1 &&
            (best == SIZE_MAX || all.items[i].num_numbers > all.items[best].num_numbers))
            best = i;
    }
    if (memory && best != SIZE_MAX) {
        pl_text text = {0};
        pl_text_add(&text, "(?:^|[/.])");
        for (const char *c = all.names.items[best]; *c != '\0'; c++)
            pl_text_format(&text, *c == '.' ? "\\%c" : "%c", *c);
        pl_text_add(&text, "(\\d+)");
        memory = !text.failed;
        if (memory && text.length < sizeof suggestion->regex) {
            memcpy(suggestion->regex, text.data, text.length + 1);
            suggestion->num_layers = all.items[best].num_numbers;
            snprintf(suggestion->example, sizeof suggestion->example, "%s",
                     pl_operation_at(operations, all.items[best].first_operation)->name);
        }
        free(text.data);
    }
    pl_names_free(&all.names);
    pl_names_free(&all.numbered);
    free(all.items);
    return memory ? POPLINER_OK : pl_fail_memory(error, "a suggestion");
}
