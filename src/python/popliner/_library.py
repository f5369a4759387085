"""Finds and loads libpopliner, and checks that its structures are those of this module.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import ctypes
import ctypes.util
import os
from typing import Any, Dict, Iterator, Optional, Tuple

from ._declared import FUNCTIONS, STRUCTURES
from ._installed import LIBRARY, VERSION

#: The environment variable that names the library.
VARIABLE = "POPLINER_LIBRARY"


#: What the _INIT macros make, by structure: an address, or None.
INITIAL: Dict[Any, Optional[int]] = {}


def next_to(path: str) -> str:
    """A path of _installed.py, which is relative to the folder of the package."""
    return os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)), path))


def candidates() -> Iterator[Tuple[str, str]]:
    """Where the library may be, and how to call that in a message."""
    named = os.environ.get(VARIABLE)
    if named:
        yield named, VARIABLE
        return
    name = os.path.basename(LIBRARY)
    for path in (os.path.join(os.path.dirname(os.path.abspath(__file__)), name), next_to(LIBRARY)):
        if os.path.exists(path):
            yield path, "next to the package"
    yield name, "the system's loader"


def load() -> Tuple[ctypes.CDLL, str]:
    failures = []
    for path, where in candidates():
        try:
            return ctypes.CDLL(path), path
        except OSError as error:
            failures.append(f"{where}: {error}")
    raise ImportError("libpopliner cannot be loaded (" + "; ".join(failures) + "). Set " + VARIABLE
                      + " to the path of the shared library.")


def declare(library: ctypes.CDLL, path: str) -> None:
    """Tells ctypes of all functions."""
    for name, (result, parameters) in FUNCTIONS.items():
        try:
            function = getattr(library, name)
        except AttributeError:
            raise ImportError(
                f"{path} has no function {name}: it is another version of libpopliner than "
                f"{VERSION}, which this module is of. Set {VARIABLE} to the path of that one."
            ) from None
        function.restype = result
        function.argtypes = parameters


def check(library: ctypes.CDLL, path: str) -> None:
    """Refuses a library whose structures are others than those of this module."""
    version = library.popliner_version().decode()
    mismatch: Optional[str] = None
    if version != VERSION:
        mismatch = f"is version {version}"
    known = dict(STRUCTURES)
    i = 0
    while True:
        bytes_of, initial = ctypes.c_size_t(), ctypes.c_void_p()
        name = library.popliner_structure_at(i, ctypes.byref(bytes_of), ctypes.byref(initial))
        if not name:
            break
        i += 1
        name, size = name.decode(), bytes_of.value
        own = known.pop(name, None)
        if own is None:
            mismatch = mismatch or f"has a structure {name} that this module does not know"
        elif ctypes.sizeof(own) != size:
            mismatch = mismatch or (f"has a structure {name} of {size} bytes, which here has "
                                    f"{ctypes.sizeof(own)}")
        else:
            INITIAL[own] = initial.value
    if known:
        mismatch = mismatch or f"has no structure {min(known)}"
    if mismatch is not None:
        raise ImportError(f"{path} {mismatch}: this module is of libpopliner {VERSION}, and has to "
                          f"be installed together with it.")


library, path = load()
declare(library, path)
check(library, path)

#: The C library's own, to free what the library returns.
libc = ctypes.CDLL(None)
libc.free.restype = None
libc.free.argtypes = [ctypes.c_void_p]


def begin(structure):
    """A structure as its _INIT macro makes it."""
    result = structure()
    ctypes.memmove(ctypes.byref(result), INITIAL[structure], ctypes.sizeof(structure))
    return result
