"""What the library writes in several formats.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import json
from typing import Any

from ._calling import Owner
from .enums import Format


class Written(Owner):
    """What has rows, and a text of them in each format."""

    def _text(self, format: Format) -> str:
        raise NotImplementedError

    def tsv(self) -> str:
        """A row for each, columns separated by tabs."""
        return self._text(Format.TSV)

    def csv(self) -> str:
        """A row for each, columns separated by commas."""
        return self._text(Format.CSV)

    def json_text(self) -> str:
        """What the command prints with --format json."""
        return self._text(Format.JSON)

    def json(self) -> Any:
        """The same as an object."""
        return json.loads(self.json_text())
