/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "database_image.h"

#include "fuzz.h"

unsigned char *database_image_take(sqlite3 *sqlite, size_t *size) {
    sqlite3_int64 length = 0;
    unsigned char *image = sqlite3_serialize(sqlite, "main", &length, 0);
    FUZZ_CHECK(image != NULL);
    *size = (size_t)length;
    return image;
}

size_t database_image_change(unsigned char *image, size_t size, const uint8_t *record) {
    const size_t place = ((size_t)record[1] | (size_t)record[2] << 8) % size;
    switch (record[0] % 4) {
    case 0:
        image[place] = record[3];
        return size;
    case 1:
        for (size_t i = 0; i < 4 && place + i < size; i++)
            image[place + i] = record[3 + i];
        return size;
    case 2:
        for (size_t i = 0; i < record[5] && place + i < size; i++)
            image[place + i] = image[(((size_t)record[3] | (size_t)record[4] << 8) + i) % size];
        return size;
    default:
        return record[3] % 4 == 0 ? place + 1 : size;
    }
}
