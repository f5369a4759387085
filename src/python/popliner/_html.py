"""HTML for notebooks. Every text is escaped.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

from html import escape
from typing import Any, Iterable, Sequence, Tuple

#: More rows are cut, and counted.
MAX_ROWS = 100


def cell(value: Any, tag: str = "td") -> str:
    if value is None:
        return f"<{tag}></{tag}>"
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    style = ' style="text-align:right"' if is_number and tag == "td" else ""
    words = getattr(value, "name", None) if hasattr(type(value), "__members__") else None
    return f"<{tag}{style}>{escape(str(value) if words is None else words.lower())}</{tag}>"


def table(title: str, heads: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    rows = list(rows)
    body = "".join("<tr>" + "".join(cell(value) for value in row) + "</tr>"
                   for row in rows[:MAX_ROWS])
    more = len(rows) - MAX_ROWS
    note = f"<p>… and {more} more rows</p>" if more > 0 else ""
    caption = f"<caption>{escape(title)}</caption>" if title else ""
    head = "".join(cell(name, "th") for name in heads)
    return f"<table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>{note}"


def facts(title: str, pairs: Iterable[Tuple[str, Any]]) -> str:
    return table(title, ("", ""), pairs)
