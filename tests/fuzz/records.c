/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "records.h"

#include <string.h>

#include "fuzz.h"

static unsigned next_random(unsigned *state) {
    *state = *state * 1664525u + 1013904223u;
    return *state >> 8;
}

static size_t count_all(size_t size, size_t head_size) {
    return size > head_size ? (size - head_size) / RECORD_SIZE : 0;
}

size_t records_count(size_t size, size_t head_size) {
    const size_t count = count_all(size, head_size);
    return count < MAX_RECORDS ? count : MAX_RECORDS;
}

size_t records_mutate(uint8_t *data, size_t size, size_t max_size, unsigned seed,
                      size_t head_size) {
    unsigned random = seed;
    const size_t count = count_all(size, head_size);
    const unsigned choice = next_random(&random) % 8;
    uint8_t *records = data + head_size;
    if (size < head_size || choice == 0)
        return LLVMFuzzerMutate(data, size, max_size);
    if (choice == 1) {
        LLVMFuzzerMutate(data, head_size, head_size);
        return size;
    }
    const bool has_room = count < MAX_RECORDS && head_size + (count + 1) * RECORD_SIZE <= max_size;
    if (count == 0 || (choice == 2 && has_room)) { /* a new one */
        if (!has_room)
            return size;
        uint8_t *made = records + count * RECORD_SIZE;
        for (size_t i = 0; i < RECORD_SIZE; i++)
            made[i] = (uint8_t)next_random(&random);
        return head_size + (count + 1) * RECORD_SIZE;
    }
    const size_t place = next_random(&random) % count;
    uint8_t *record = records + place * RECORD_SIZE;
    switch (choice) {
    case 3:
        memmove(record, record + RECORD_SIZE, (count - place - 1) * RECORD_SIZE);
        return head_size + (count - 1) * RECORD_SIZE;
    case 4: /* one more like it, for the row or item behind */
        if (!has_room)
            break;
        memmove(record + RECORD_SIZE, record, (count - place) * RECORD_SIZE);
        record[RECORD_SIZE + 2]++;
        return head_size + (count + 1) * RECORD_SIZE;
    case 5: {
        uint8_t other[RECORD_SIZE];
        uint8_t *from = records + next_random(&random) % count * RECORD_SIZE;
        memcpy(other, from, RECORD_SIZE);
        memcpy(from, record, RECORD_SIZE);
        memcpy(record, other, RECORD_SIZE);
        break;
    }
    case 6:
        LLVMFuzzerMutate(record, RECORD_SIZE, RECORD_SIZE);
        break;
    default:
        record[next_random(&random) % RECORD_SIZE] = (uint8_t)next_random(&random);
        break;
    }
    return size;
}

int64_t records_number(const uint8_t *record) {
    static const int64_t borders[] = {
        0,         1,          2,          UINT8_MAX,       UINT8_MAX + 1,
        INT16_MAX, UINT16_MAX, INT32_MAX,  UINT32_MAX,      INT64_MAX,
        INT64_MIN, -1,         1 << 24,    1 << 30,         (int64_t)1 << 40,
        638976,    1472,       1000000000, (int64_t)1 << 62};
    const uint8_t *bytes = record + 3;
    const int64_t small = (int64_t)bytes[1] | (int64_t)bytes[2] << 8;
    const int64_t number = small | (int64_t)bytes[3] << 16 | (int64_t)bytes[4] << 24;
    switch (bytes[0] % 8) {
    case 0:
        return (int64_t)((uint64_t)borders[bytes[1] % (sizeof borders / sizeof *borders)] +
                         (uint64_t)((int)bytes[2] % 3 - 1));
    case 1:
        return number;
    case 2:
        return (int64_t)((uint64_t)number << bytes[0] / 8);
    case 3:
        return small;
    default:
        return bytes[1] % 32;
    }
}
