/* A small profile that has changed: in the arrays that are read from it, in values, rows, columns
 * and tables of the file, or in bytes of the file. It is refused in one sentence, or everything
 * that is asked of it has answers which agree with each other; so have those of the analysis once
 * it was stored and loaded.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "fuzz.h"

#include <stdlib.h>
#include <string.h>

#include <sqlite3.h>

#include "analysis/analysis_data.h"
#include "array_changes.h"
#include "database_image.h"
#include "profile/profile_data.h"
#include "questions.h"
#include "records.h"
#include "table_changes.h"

/* What an input begins with: where the profile is and how it is read, then two questions. */
enum { HEAD_SIZE = 2 + QUESTIONS_SIZE };

/* ---- Arrays --------------------------------------------------------------------------------- */

/* What is read of the profile as it is. */
static popliner_analysis *whole;

static void read_whole(void) {
    popliner_analysis_options options = POPLINER_ANALYSIS_OPTIONS_INIT;
    const char *path = fuzz_path("whole.pop");
    options.num_threads = 1;
    size_t size;
    unsigned char *image = table_changes_make(NULL, 0, &size);
    fuzz_write(path, image, size);
    sqlite3_free(image);
    FUZZ_CHECK(popliner_analysis_read(path, NULL, &options, &whole, NULL) == POPLINER_OK);
}

/* A copy of what is read, with the changes; NULL where it is refused as contradicting itself, as it
 * would be when loaded. */
static popliner_analysis *change_arrays(const uint8_t *records, size_t num_records,
                                        const char *path) {
    changing_array arrays[PL_MAX_FIELDS];
    pl_field fields[PL_MAX_FIELDS];
    popliner_error error = {.message = ""};
    const popliner_analysis_options options = POPLINER_ANALYSIS_OPTIONS_INIT;
    popliner_analysis *made;
    popliner_profile *profile = malloc(sizeof *profile);
    FUZZ_CHECK(profile != NULL && pl_analysis_create(&options, &made, &error) == POPLINER_OK);
    *profile = *whole->read_profile;
    profile->arrays = (pl_arrays){0};
    const size_t num_fields = pl_profile_fields(profile, PL_FIELDS_ALL, NULL, fields);
    for (size_t i = 0; i < num_fields; i++) {
        changing_array *a = &arrays[i];
        *a = (changing_array){.item_size = fields[i].item_size,
                              .num_items = *fields[i].count + fields[i].extra_items,
                              .extra_items = fields[i].extra_items,
                              .group = (size_t)((char *)fields[i].count - (char *)profile)};
        const size_t size = a->num_items * a->item_size;
        a->bytes = malloc(size > 0 ? size : 1);
        FUZZ_CHECK(a->bytes != NULL);
        if (size > 0)
            memcpy(a->bytes, pl_field_items(&fields[i]), size);
    }
    for (size_t i = 0; i < num_records; i++)
        array_change(arrays, num_fields, records + i * RECORD_SIZE, false);
    for (size_t i = 0; i < num_fields; i++) {
        *fields[i].count = arrays[i].num_items - fields[i].extra_items;
        pl_field_set_items(&fields[i], pl_arrays_copy(&profile->arrays, arrays[i].bytes,
                                                      arrays[i].num_items, arrays[i].item_size));
        free(arrays[i].bytes);
    }
    FUZZ_CHECK(!profile->arrays.failed);
    made->option_names = whole->option_names;
    made->num_threads = 1;
    made->read_profile = profile;
    made->profile = profile;
    const popliner_status status = pl_profile_check(profile, path, &error);
    fuzz_check_status(status, &error, 1u << POPLINER_ERROR_INPUT, path);
    if (status != POPLINER_OK) {
        popliner_analysis_free(made);
        return NULL;
    }
    return made;
}

/* ---- All ------------------------------------------------------------------------------------ */

/* Reads the file with all changes; NULL where it is refused. */
static popliner_analysis *read_file(const popliner_analysis_options *options,
                                    const uint8_t *records, size_t num_records, bool is_raw,
                                    const char *path) {
    popliner_analysis *analysis;
    popliner_error error = {.message = ""};
    size_t file_size;
    unsigned char *file = table_changes_make(records, is_raw ? 0 : num_records, &file_size);
    for (size_t i = 0; is_raw && i < num_records; i++)
        file_size = database_image_change(file, file_size, records + i * RECORD_SIZE);
    fuzz_write(path, file, file_size);
    sqlite3_free(file);
    const popliner_status status = popliner_analysis_read(path, NULL, options, &analysis, &error);
    if (status == POPLINER_ERROR_USAGE) /* there is no such IPU */
        fuzz_check_status(status, &error, 1u << POPLINER_ERROR_USAGE, NULL);
    else
        fuzz_check_status(status, &error, 1u << POPLINER_ERROR_INPUT, path);
    return status == POPLINER_OK ? analysis : NULL;
}

/* Where the changes are, of 16 places. */
enum { LAST_OF_ARRAYS = 12, LAST_OF_TABLES = 14 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (whole == NULL)
        read_whole();
    if (size < HEAD_SIZE)
        return 0;
    const size_t num_records = records_count(size, HEAD_SIZE);
    const uint8_t *records = data + HEAD_SIZE;
    const char *path = fuzz_path("profile.pop");
    const unsigned place = data[0] % 16u;
    const bool is_checked = place > LAST_OF_ARRAYS;
    popliner_analysis_options options = POPLINER_ANALYSIS_OPTIONS_INIT;
    options.num_threads = 1;
    if (is_checked) {
        options.ipu = data[1] % 8 == 7 ? data[1] / 8 % 4u : SIZE_MAX;
        options.layer_order = (popliner_layer_order)(data[1] >> 3 & 1);
    }
    popliner_analysis *analysis =
        is_checked ? read_file(&options, records, num_records, place > LAST_OF_TABLES, path)
                   : change_arrays(records, num_records, path);
    if (analysis == NULL)
        return 0;
    const subject s = {analysis, &options, path, is_checked, true};
    questions_ask_all(&s, data + 2, data[0] >> 4);
    popliner_analysis_free(analysis);
    return 0;
}

/* Reading a file takes four times as long as changing arrays, and ten times where its bytes
 * changed: most inputs that were such are tried with arrays. */
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t max_size, unsigned seed) {
    size = records_mutate(data, size, max_size, seed, HEAD_SIZE);
    const unsigned place = size > 0 ? data[0] % 16u : 0;
    if (place > LAST_OF_ARRAYS && (seed >> 5) % (place > LAST_OF_TABLES ? 16 : 4) != 0)
        data[0] = (uint8_t)(data[0] - place + (seed >> 9) % (LAST_OF_ARRAYS + 1u));
    if (size > 0)
        data[0] = questions_fewer(data[0], seed);
    return size;
}
