"""How the library is called: by one thread at a time, with exceptions of callbacks and Ctrl-C
coming out of the call, and with what it makes owned by an object.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import ctypes
import logging
import operator
import os
import signal
import threading
from typing import Any, Callable, List, Optional, Tuple, Type, Union

from . import _declared as c
from ._library import begin, libc
from .enums import Level, Reason, Status
from .errors import CLASSES, InternalError, UsageError

#: What the library says, unless a function is given that takes it.
logger = logging.getLogger("popliner")

SIZE_MAX = ctypes.c_size_t(-1).value
UINT64_MAX = 2**64 - 1
ERROR_INTERNAL = int(Status.INTERNAL)

LEVELS = {
    Level.DEBUG: logging.DEBUG,
    Level.INFO: logging.INFO,
    Level.WARNING: logging.WARNING,
    Level.ERROR: logging.ERROR,
}

Path = Union[str, bytes, "os.PathLike[str]", "os.PathLike[bytes]"]
MessageFunction = Callable[[Level, str], Any]
ProgressFunction = Callable[[str, int, int], Any]
StepFunction = Callable[[str, float], Any]


# ---- values ----


def number(value: Any, what: str, most: int = UINT64_MAX, least: int = 0) -> int:
    """A whole number for the library. ctypes would take any for some other."""
    try:
        result = operator.index(value)
    except TypeError:
        raise TypeError(f"{what} is {value!r}, and not a whole number") from None
    if not least <= result <= most:
        raise UsageError(f"{what} is {result}: it has to be from {least} to {most}")
    return result


def size(value: Any, what: str) -> int:
    return number(value, what, SIZE_MAX)


def screen(width: int, is_ascii: bool, has_colour: bool, height: Optional[int] = None,
           tile: Optional[int] = None, has_always_live: bool = False) -> Any:
    """What a text for people may have, as an argument of the library."""
    options = begin(c.popliner_plot_options)
    if tile is not None:
        options.tile = size(tile, "tile")
    options.has_always_live = bool(has_always_live)
    options.width = size(width, "width")
    if height is not None:
        options.height = size(height, "height")
    options.is_ascii = bool(is_ascii)
    options.has_colour = bool(has_colour)
    return ctypes.byref(options)


def real(value: Any, what: str) -> float:
    try:
        return float(operator.index(value)) if not isinstance(value, float) else value
    except TypeError:
        pass
    try:
        return float(value.__float__())
    except AttributeError:
        raise TypeError(f"{what} is {value!r}, and not a number") from None


def text(value: Any, what: str) -> bytes:
    """A text for the library."""
    if isinstance(value, str):
        value = value.encode("utf-8", "surrogateescape")
    if not isinstance(value, bytes):
        raise TypeError(f"{what} is {value!r}, and not a text")
    if b"\0" in value:
        raise UsageError(f"{what} has a NUL character in it")
    return value


def file_name(value: Path, what: str = "the path") -> bytes:
    return text(os.fsencode(value), what)


def member(kind: Type, value: Any, what: str) -> int:
    """The number of an enumerator, which may be given by its name: "tf-grouped" for
    TF_GROUPED."""
    if isinstance(value, str):
        name = value.upper().replace("-", "_")
        if name in kind.__members__:
            return int(kind[name])
        known = ", ".join(it.lower().replace("_", "-") for it in kind.__members__)
        raise UsageError(f"{what} is {value!r}: expected one of {known}")
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{what} is {value!r}, and no {kind.__name__}")
    try:
        return int(kind(value))
    except ValueError:
        raise UsageError(f"{what} is {value!r}: there is no such {kind.__name__}") from None


def callback(value: Any, what: str) -> Any:
    """A function, or None."""
    if value is not None and not callable(value):
        raise TypeError(f"{what} is {value!r}, and not a function")
    return value


def decoded(value: Optional[bytes]) -> str:
    return "" if value is None else value.decode("utf-8", "replace")


# ---- calls ----


class Call:
    """One call of the library: what was raised while it ran, and who hears of it."""

    __slots__ = ("raised", "listening")

    def __init__(self, listening: Optional["Listening"] = None) -> None:
        self.raised: Optional[BaseException] = None
        self.listening = listening

    def keep(self, exception: BaseException) -> None:
        if self.raised is None:
            self.raised = exception


class Interrupts:
    """What takes the place of the handler of Ctrl-C during a call. It calls that handler at once,
    and what it raises comes out of the call: raised inside a callback of ctypes it would be lost.
    """

    __slots__ = ("calls", "original")

    def __init__(self, call: Call, before: Any) -> None:
        is_nested = isinstance(before, Interrupts)
        self.calls: List[Call] = [*before.calls, call] if is_nested else [call]
        self.original = before.original if is_nested else before

    def __call__(self, signal_number: int, frame: Any) -> None:
        try:
            self.original(signal_number, frame)
        except BaseException as exception:
            for call in self.calls:
                call.keep(exception)


class Turn:
    """Who calls with a handle, and with all that belongs to it: one thread at a time, others wait.
    A callback cannot call with the handle whose call it is part of."""

    __slots__ = ("lock", "call", "process")

    def __init__(self) -> None:
        self.lock = threading.RLock()  # what tells that a thread comes twice is the call
        self.call: Optional[Call] = None
        self.process = os.getpid()  # that has used it last

    @property
    def is_lost(self) -> bool:
        """True in a process that was forked while a thread had the turn, which is not there."""
        if self.process == os.getpid():
            return False
        if not self.lock.acquire(blocking=False):
            return True
        self.process = os.getpid()
        self.lock.release()
        return False

    def take(self, timeout: float = -1) -> bool:
        """Waits for the lock. False if the time is up."""
        if self.is_lost:
            raise UsageError("this object was in use when this process was forked; make another "
                             "one here, or fork while no thread uses it")
        if not self.lock.acquire(timeout=timeout):
            return False
        if self.call is not None:
            self.lock.release()
            raise UsageError("this object is busy with the call that the callback is part of: use "
                             "it after the call, or another object")
        return True

    def leave(self) -> None:
        """Gives the lock back."""
        self.call = None
        self.lock.release()

    def __enter__(self) -> None:
        self.take()

    def __exit__(self, *_: Any) -> None:
        self.leave()


class Calling:
    """Takes turns, and catches Ctrl-C, for as long as the library works. Its own methods call
    deeper than callbacks begin, so whoever comes so far has room for them."""

    __slots__ = ("turns", "taken", "call", "interrupts", "before")

    def __init__(self, turns: Tuple[Turn, ...], listening: Optional["Listening"] = None) -> None:
        # in one order everywhere, so that no two threads wait for each other
        self.turns = sorted(set(turns), key=id)
        self.taken: List[Turn] = []
        self.call = Call(listening)
        self.interrupts: Optional[Interrupts] = None
        self.before: Any = None

    def __enter__(self) -> Call:
        try:
            self.catch()  # first: from here on Ctrl-C interrupts nothing halfway
            for turn in self.turns:
                self.take(turn)
        except BaseException:
            self.__exit__()
            raise
        return self.call

    def take(self, turn: Turn) -> None:
        while not turn.take(timeout=0.1):
            if self.call.raised is not None:
                raise self.call.raised
        turn.call = self.call
        self.taken.append(turn)

    def catch(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        before = signal.getsignal(signal.SIGINT)
        if not callable(before):
            return
        self.before = before
        self.interrupts = Interrupts(self.call, before)
        try:
            signal.signal(signal.SIGINT, self.interrupts)
        except ValueError:  # not in the main interpreter
            self.interrupts = None

    def __exit__(self, *_: Any) -> None:
        while self.taken:
            self.taken.pop().leave()
        # unless a callback has set another handler
        if self.interrupts is not None and signal.getsignal(signal.SIGINT) is self.interrupts:
            signal.signal(signal.SIGINT, self.before)


def failure(status: int, error: Any) -> BaseException:
    kind = CLASSES.get(status, InternalError)
    return kind(decoded(error.message), Reason(error.reason))


def call(function: Any, *arguments: Any, turns: Tuple[Turn, ...] = (),
         listening: Optional["Listening"] = None) -> None:
    """Calls what returns a status and takes an error last."""
    error = c.popliner_error()
    with Calling(turns, listening) as it:
        status = function(*arguments, ctypes.byref(error))
    raised, it.raised = it.raised, None
    if raised is not None:
        try:
            raise raised
        finally:
            del raised  # it refers to this frame
    if status != 0:
        raise failure(status, error)


def ask(turn: Turn, function: Any, *arguments: Any) -> Any:
    """Calls what cannot fail and calls nothing back."""
    with turn:
        return function(*arguments)


def fill(turn: Turn, structure: Type, function: Any, *arguments: Any) -> Any:
    """Calls what fills a structure; O(1), and calls nothing back."""
    error = c.popliner_error()
    result = begin(structure)
    with turn:
        status = function(*arguments, ctypes.byref(result), ctypes.byref(error))
    if status != 0:
        raise failure(status, error)
    return result


def make_text(function: Any, *arguments: Any, turns: Tuple[Turn, ...] = ()) -> str:
    """Calls what makes a text."""
    result = ctypes.c_void_p()
    try:
        call(function, *arguments, ctypes.byref(result), turns=turns)
        return decoded(ctypes.string_at(result.value))
    finally:
        libc.free(result)


# ---- what belongs to somebody ----


def structure_at(pointer: Any, structure: Any) -> Any:
    """The structure that an untyped pointer leads to."""
    return ctypes.cast(pointer, ctypes.POINTER(structure)).contents


class Handle:
    """Something that the library made, which is freed with this object. It keeps alive what it
    depends on."""

    __slots__ = ("pointer", "free", "kept", "turn", "__weakref__")

    def __init__(self, free: Any, turn: Turn, kept: Any = None) -> None:
        self.pointer = ctypes.c_void_p()
        self.free = free
        self.turn = turn
        self.kept = kept

    def read(self, structure: Any) -> Any:
        """What the library made, as a structure."""
        return structure_at(self.pointer, structure)

    def __del__(self) -> None:
        # taken away first: other threads go on while it is freed
        pointer, self.pointer = self.pointer, ctypes.c_void_p()
        if pointer and not self.turn.is_lost:  # what is half changed cannot be freed
            self.free(pointer)


def make(function: Any, *arguments: Any, free: Any, turn: Turn, turns: Tuple[Turn, ...] = (),
         kept: Any = None, listening: Optional["Listening"] = None) -> Handle:
    """Calls what makes something."""
    handle = Handle(free, turn, kept)
    call(function, *arguments, ctypes.byref(handle.pointer), turns=(turn, *turns),
         listening=listening)
    return handle


class Owner:
    """An object with a handle. close() lets go of it; so does the end of a with statement, or
    nothing referring to it any more."""

    _handle: Optional[Handle] = None

    def close(self) -> None:
        """Frees what the library holds for this object, as soon as nothing that was made with it
        needs it any more. The object cannot be used after that; closing it again does nothing."""
        self._handle = None

    @property
    def closed(self) -> bool:
        """Whether it was closed."""
        return self._handle is None

    def __enter__(self):
        self._held()
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __copy__(self):
        raise TypeError(f"a {type(self).__name__} cannot be copied")

    def __deepcopy__(self, memo: Any):
        self.__copy__()

    def __reduce__(self):
        raise TypeError(f"a {type(self).__name__} cannot be pickled; save what you need of it")

    def _held(self) -> Handle:
        handle = self._handle
        if handle is None:
            raise UsageError(f"this {type(self).__name__} is closed")
        return handle


# ---- listening ----


class Listening:
    """Functions that want to hear what the library does; each may be None. Messages that nobody
    takes go to the logger "popliner"."""

    __slots__ = ("message", "progress", "step")

    def __init__(self, message: Optional[MessageFunction] = None,
                 progress: Optional[ProgressFunction] = None,
                 step: Optional[StepFunction] = None) -> None:
        self.message = callback(message, "message")
        self.progress = callback(progress, "progress")
        self.step = callback(step, "step")

    def or_else(self, other: "Listening") -> "Listening":
        """With what this one does not hear going to another."""
        return Listening(self.message or other.message, self.progress or other.progress,
                         self.step or other.step)


def listener_of(listening: Listening, turn: Turn) -> Any:
    """A structure for the library whose functions call those of `listening`, or of the call of
    `turn`, and keep with that what they raise."""

    def tell(what: str, arguments: Callable[[], Tuple[Any, ...]]) -> None:
        it = turn.call
        if it is None or it.raised is not None:
            return
        try:
            heard = listening if it.listening is None else it.listening
            function = getattr(heard, what)
            if function is not None:
                function(*arguments())
            elif what == "message":
                level, words = arguments()
                logger.log(LEVELS[level], "%s", words)
        except BaseException as exception:
            it.keep(exception)

    def message(_user: Any, level: int, words: bytes) -> None:
        tell("message", lambda: (Level(level), decoded(words)))

    def progress(_user: Any, task: bytes, done: int, total: int) -> None:
        tell("progress", lambda: (decoded(task), done, total))

    def step(_user: Any, task: bytes, seconds: float) -> None:
        tell("step", lambda: (decoded(task), seconds))

    result = begin(c.popliner_listener)
    result.message = c.popliner_listener_message(message)
    result.progress = c.popliner_listener_progress(progress)
    result.step = c.popliner_listener_step(step)
    return result


def stop_of(function: Any, kind: Type, turn: Turn) -> Any:
    """What the library asks whether to stop: `function`, which may be None, and whether the call of
    `turn` has to end, because something was raised in it."""
    should_stop = callback(function, "should_stop")

    def stop(_user: Any) -> bool:
        it = turn.call
        try:
            if it is None or it.raised is not None:
                return True
            return should_stop is not None and bool(should_stop())
        except BaseException as exception:
            it.keep(exception)
            return True

    return kind(stop)


# ---- arrays ----


def numpy() -> Any:
    """NumPy where it is there, else None."""
    global _numpy
    if _numpy is False:
        try:
            import numpy as found
        except ImportError:
            found = None
        _numpy = found
    return _numpy


_numpy: Any = False


def array_of(values: Any, count: int) -> Any:
    """A copy of `count` numbers of C as an array: NumPy's if it is there, else one of the
    standard library."""
    import array

    item = values._type_
    code = {8: "q", 4: "i", 1: "b"}[ctypes.sizeof(item)]
    is_signed = item in (ctypes.c_int64, ctypes.c_int)
    result = array.array(code if is_signed else code.upper())
    if count > 0:
        result.frombytes(ctypes.string_at(values, count * ctypes.sizeof(item)))
    found = numpy()
    return result if found is None else found.array(result)


def table_of(values: Any, columns: int) -> Any:
    """Numbers of C in rows: NumPy's view of them if it is there, else lists."""
    found = numpy()
    if found is not None:
        return found.frombuffer(values, dtype=found.uint64).reshape(-1, columns)
    return [list(values[i:i + columns]) for i in range(0, len(values), columns)]


def numbers_in(values: Any, shape: Any) -> Any:
    """The address of whole numbers that lie in memory as C's uint64, row by row, in an object that
    keeps them; None if they do not, and have to be converted one by one."""
    found = numpy()
    if found is not None and isinstance(values, found.ndarray):
        if values.shape != shape or values.dtype.kind not in "iu" or \
                (values.dtype.kind == "i" and (found.triu(values) < 0).any()):
            return None
        values = found.ascontiguousarray(values, dtype=found.uint64)
        return values.ctypes.data_as(ctypes.POINTER(ctypes.c_uint64))
    try:
        view = memoryview(values)
    except TypeError:
        return None
    if view.shape != shape or view.format not in ("Q", "L", "=Q", "<Q") or view.itemsize != 8 or \
            not view.c_contiguous:
        return None
    kind = ctypes.c_uint64 * (view.nbytes // 8)
    return kind.from_buffer_copy(view) if view.readonly else kind.from_buffer(view)


def member_of(items: Any, name: str) -> Any:
    """A member of all structures of an array of C: NumPy's view if it is there, else a list."""
    found = numpy()
    if found is None:
        return [getattr(item, name) for item in items]
    structure = items._type_
    place = getattr(structure, name)
    kind = dict(structure._fields_)[name]
    return found.ndarray((len(items),), found.dtype(kind), items, place.offset,
                         (ctypes.sizeof(structure),))


def listed(values: Any, what: str) -> list:
    """What was given as a list or an array, as a list of Python's numbers."""
    if hasattr(values, "tolist"):
        values = values.tolist()
    if isinstance(values, (str, bytes)):
        raise TypeError(f"{what} is {values!r}, and not a list")
    try:
        return list(values)
    except TypeError:
        raise TypeError(f"{what} is {values!r}, and not a list") from None
