"""Failures of the library as exceptions.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

from typing import Dict, Type

from .enums import Reason, Status


class Error(Exception):
    """A failure of the library. The subclass says who can fix it.

    `status` is what kind of failure it is (that of `popliner/error.h`, and the class), `message`
    one sentence that names the file, table, row or option and, where there is one, the remedy.
    `reason` tells failures apart to which a program may want to add what its user can do."""

    status: Status = Status.INTERNAL

    def __init__(self, message: str = "", reason: Reason = Reason.OTHER) -> None:
        from ._calling import clean  # which raises these
        self.message = clean(message)
        super().__init__(self.message)
        self.reason = reason

    def __reduce__(self):
        return type(self), (self.message, self.reason)


class UsageError(Error, ValueError):
    """The request is invalid."""

    status = Status.USAGE


class InputError(Error):
    """A file cannot be read, is damaged or is not supported."""

    status = Status.INPUT


class OutputError(Error):
    """A file cannot be written."""

    status = Status.OUTPUT


class OutOfMemoryError(Error, MemoryError):
    """The machine has not enough memory, or max_memory_bytes is less."""

    status = Status.MEMORY


class InternalError(Error):
    """A mistake of the library or of one below it."""

    status = Status.INTERNAL


class StoppedError(Error):
    """What should_stop has ended."""

    status = Status.STOPPED


CLASSES: Dict[Status, Type[Error]] = {
    kind.status: kind
    for kind in (UsageError, InputError, OutputError, OutOfMemoryError, InternalError,
                 StoppedError)
}
