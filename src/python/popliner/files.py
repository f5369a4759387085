"""Files that are written whole, and names that are safe on a terminal.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import ctypes
import re
from typing import List, Union

from . import _declared as c
from ._calling import Path, call, decoded, file_name, text
from ._library import library


def write_file(path: Path, content: Union[str, bytes]) -> None:
    """Writes a text (as UTF-8) or bytes into a file, such as a plan that a framework takes. The
    file holds what it held before until all is written, and keeps its mode."""
    if isinstance(content, str):
        content = content.encode()
    if not isinstance(content, bytes):
        raise TypeError(f"the content is {content!r}, and no text or bytes")
    call(library.popliner_file_write, file_name(path), content, len(content))


def printable(name: Union[str, bytes]) -> str:
    """A name that comes from a file, as the library shows it in messages: what a terminal may
    obey is escaped."""
    room = ctypes.create_string_buffer(c.CONSTANTS["POPLINER_PRINTABLE_SIZE"])
    shown: List[str] = []
    # a character at a time: the library returns the rest of a text as a copy
    for part in re.findall(rb"[ -~]+|[\xc2-\xf4][\x80-\xbf]*|.", text(name, "the name"), re.DOTALL):
        rest = b"" if part[0] in range(32, 127) else part
        shown.append("" if rest else part.decode())
        while rest:
            rest = library.popliner_printable_take(rest, room)
            shown.append(decoded(room.value))
    return "".join(shown)


__all__ = ["printable", "write_file"]
