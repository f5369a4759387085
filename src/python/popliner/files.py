"""Files that are written whole, and names that are safe on a terminal.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

from typing import Union

from ._calling import Path, call, encoded, escaped, file_name, text
from ._library import library


def write_file(path: Path, content: Union[str, bytes]) -> None:
    """Writes a text (as UTF-8) or bytes into a file, such as a plan that a framework takes. The
    file holds what it held before until all is written, and keeps its mode."""
    content = encoded(content, "the content")
    call(library.popliner_file_write, file_name(path), content, len(content))


def printable(name: Union[str, bytes]) -> str:
    """A name that comes from a file, as the library shows it in messages: what a terminal may
    obey is escaped."""
    return escaped(text(name, "the name"))


__all__ = ["printable", "write_file"]
