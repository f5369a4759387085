"""Lists of numbers as a profile keeps them: what profile_relations.py reads, written
(docs/profile-format.md, section 5).

SPDX-License-Identifier: GPL-3.0-or-later
"""


def varint(number):
    groups = [number & 0x7F | 0x80]
    while number := number >> 7:
        groups.append(number & 0x7F)
    return bytes(reversed(groups))


def as_list(numbers):
    return b"".join(varint(number) for number in numbers)


def as_runs(numbers):
    return varint(len(numbers) << 1 | 1) + as_list(numbers) if numbers else b""
