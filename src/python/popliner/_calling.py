"""How the library is called: by one thread at a time, with exceptions of callbacks and Ctrl-C
coming out of the call, and with what it makes owned by an object.

SPDX-License-Identifier: GPL-3.0-or-later
"""

from __future__ import annotations

import ctypes
import functools
import itertools
import logging
import math
import operator
import os
import re
import reprlib
import _signal  # whose functions, unlike those of signal, convert nothing
import signal
import threading
import weakref
from typing import Any, Callable, Dict, Iterable, List, Optional, Set, Tuple, Type, Union

from . import _declared as c
from ._library import begin, libc, library
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


def shown(value: Any) -> str:
    """A value in a message: short, however long or deep it is."""
    try:
        return _repr.repr(value)
    except Exception:  # of its own, or of a number with too many digits
        return f"<{type(value).__name__}>"


_repr = reprlib.Repr()
_repr.maxstring = _repr.maxother = 100


def number(value: Any, what: str, most: int = UINT64_MAX, least: int = 0) -> int:
    """A whole number for the library. ctypes would take any for some other."""
    try:
        result = operator.index(value)
    except TypeError:
        raise TypeError(f"{what} is {shown(value)}, and not a whole number") from None
    if not least <= result <= most:
        raise UsageError(f"{what} is {shown(result)}: it has to be from {least} to {most}")
    return result


def instance(value: Any, kind: Type, what: str) -> Any:
    """An object of a class of the module."""
    if not isinstance(value, kind):
        raise TypeError(f"{what} is {shown(value)}, and no {kind.__name__}")
    return value


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
        result = float("" if isinstance(value, (str, bytes, bytearray)) else value)
    except OverflowError:
        result = math.nan
    except (TypeError, ValueError):
        raise TypeError(f"{what} is {shown(value)}, and not a number") from None
    if math.isnan(result):
        raise UsageError(f"{what} is {shown(value)}: it has to be a number that is not too large")
    return result


def text(value: Any, what: str) -> bytes:
    """A text for the library."""
    value = encoded(value, what)
    if b"\0" in value:
        raise UsageError(f"{what} has a NUL character in it")
    return value


def encoded(value: Any, what: str) -> bytes:
    """Bytes, or a text as UTF-8, which may be one of the system's with other bytes in it."""
    try:
        value = value.encode("utf-8", "surrogateescape") if isinstance(value, str) else value
    except UnicodeEncodeError:
        raise UsageError(f"{what} is {shown(value)}: no UTF-8 has such a surrogate") from None
    if not isinstance(value, bytes):
        raise TypeError(f"{what} is {shown(value)}, and not a text")
    return value


def file_name(value: Path, what: str = "the path") -> bytes:
    try:
        value = os.fsencode(value)
    except UnicodeEncodeError:  # a letter that the locale lacks; names are UTF-8
        value = os.fspath(value)
    except TypeError:
        raise TypeError(f"{what} is {shown(value)}, and not a path") from None
    return text(value, what)


def member(kind: Type, value: Any, what: str) -> int:
    """The number of an enumerator, which may be given by its name: "tf-grouped" for
    TF_GROUPED."""
    if isinstance(value, str):
        name = value.upper().replace("-", "_")
        if name in kind.__members__:
            return int(kind[name])
        known = ", ".join(it.lower().replace("_", "-") for it in kind.__members__)
        raise UsageError(f"{what} is {shown(value)}: expected one of {known}")
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{what} is {shown(value)}, and no {kind.__name__}")
    try:
        return int(kind(value))
    except ValueError:
        raise UsageError(f"{what} is {shown(value)}: there is no such {kind.__name__}") from None


def callback(value: Any, what: str) -> Any:
    """A function, or None."""
    if value is not None and not callable(value):
        raise TypeError(f"{what} is {shown(value)}, and not a function")
    return value


def decoded(value: Optional[bytes]) -> str:
    return "" if value is None else value.decode("utf-8", "replace")


def escaped(given: bytes) -> str:
    """What comes from a file or a caller, with what a terminal may obey escaped."""
    room = ctypes.create_string_buffer(c.CONSTANTS["POPLINER_PRINTABLE_SIZE"])
    result: List[str] = []
    # a character at a time: the library returns the rest of a text as a copy
    for part in re.findall(rb"[ -~]+|[\xc2-\xf4][\x80-\xbf]*|.", given, re.DOTALL):
        rest = b"" if part[0] in range(32, 127) else part
        result.append("" if rest else part.decode())
        while rest:
            rest = library.popliner_printable_take(rest, room)
            result.append(decoded(room.value))
    return "".join(result)


def clean(value: str) -> str:
    """A text without characters that a terminal may obey, and without those that are no UTF-8."""
    try:
        data = value.encode("utf-8", "surrogateescape")  # bytes of a file's name
    except UnicodeEncodeError:
        data = value.encode("utf-8", "surrogatepass")
    return escaped(data.replace(b"\0", b"\\u0000"))


# ---- calls ----


class Call:
    """One call of the library: what was raised while it ran, and who hears of it."""

    __slots__ = ("raised", "listening")

    def __init__(self, listening: Optional["Listening"] = None) -> None:
        self.raised: List[BaseException] = []
        self.listening = listening

    def end(self) -> None:
        """Raises what was raised: each exception once, and in the context of the one before it."""
        if self.raised:
            try:
                raise self.raised.pop(0)
            finally:
                self.end()


def called_back(turn: "Turn", function: Callable[..., Any], failed: Any = None) -> Any:
    """A function for the library that calls `function`, keeps what that raises with the call of
    `turn`, and then returns `failed`, as it does from then on."""

    def callback(*arguments: Any) -> Any:
        it = turn.call
        if it is None or it.raised:
            return failed
        try:
            return function(*arguments)
        except BaseException as exception:
            it.raised.append(exception)
            return failed

    return callback


class Interrupts:
    """What takes the place of all handlers of signals while the library works. It calls them at
    once. What they raise goes on where Python can pass it on, in what a callback calls, and
    otherwise comes out of the call: raised by a callback of ctypes it would be lost."""

    __slots__ = ("before", "raised", "is_over")

    def __init__(self, raised: List[BaseException]) -> None:
        self.before: Dict[int, Any] = {}
        self.raised = raised
        self.is_over = False

    def __call__(self, number: int, frame: Any) -> None:
        handler: Any = self
        while isinstance(handler, Interrupts):  # calls within callbacks
            handler = handler.before[number]
        try:
            handler(number, frame)
        except BaseException as exception:
            if self.is_over or self.is_within_callback(frame):
                raise
            self.raised.append(exception)

    @staticmethod
    def is_within_callback(frame: Any) -> bool:
        """Whether an exception gets to a callback, which keeps it."""
        codes = [it.__code__ for it in (call, Interrupts.__call__)]
        while frame is not None and frame.f_code not in codes:
            frame, code = frame.f_back, frame.f_code
            if code is not CALLBACK and frame is not None and frame.f_code is CALLBACK:
                return True
        return False

    def __enter__(self) -> None:
        if threading.current_thread() is not threading.main_thread():
            return
        try:
            for number in SIGNALS:
                handler = _signal.getsignal(number)
                if isinstance(handler, Interrupts) and handler.is_over:
                    handler = handler.before[number]  # one that an exception has left
                if callable(handler):
                    self.before[number] = handler
                    _signal.signal(number, self)
        except ValueError:  # not in the main interpreter
            return
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_: Any) -> None:
        try:
            for number, handler in self.before.items():
                if _signal.getsignal(number) is self:  # no callback has set another one
                    _signal.signal(number, handler)
        except BaseException:  # of a handler that is back: so have to be the others
            self.__exit__()
            raise
        self.is_over = True


SIGNALS = sorted(map(int, signal.valid_signals()))


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

    def check(self) -> None:
        """Raises if this process, or the call that has the lock, cannot use it."""
        if self.is_lost:
            raise UsageError("this object was in use when this process was forked; make another "
                             "one here, or fork while no thread uses it")

    def check_call(self) -> None:
        """Raises if the thread that has the lock is in a call."""
        if self.call is not None:
            raise UsageError("this object is busy with the call that the callback is part of: use "
                             "it after the call, or another object")

    def take(self, call: Call) -> None:
        """Waits for the lock, for a call."""
        self.check()
        while not self.lock.acquire(timeout=0.1):
            call.end()
        try:
            self.check_call()
            self.call = call
        except UsageError:
            self.lock.release()
            raise

    def leave(self) -> None:
        """Gives the lock back."""
        self.call = None
        self.lock.release()


#: What a call works with: what keeps it alive, and whose turn it has to be.
Used = Union["Handle", Turn]


class Calling:
    """Takes turns, and catches what handlers of signals raise, for as long as the library works.
    Its own methods call deeper than callbacks begin, so whoever comes so far has room for them."""

    __slots__ = ("turns", "taken", "call", "interrupts")

    def __init__(self, used: Iterable[Used], listening: Optional["Listening"] = None) -> None:
        # in one order everywhere, so that no two threads wait for each other
        turns = {it if isinstance(it, Turn) else it.turn for it in used}
        self.turns = sorted(turns, key=id)
        self.taken: List[Turn] = []
        self.call = Call(listening)
        self.interrupts = Interrupts(self.call.raised)

    def __enter__(self) -> None:
        try:
            self.interrupts.__enter__()  # first: from here on no signal interrupts halfway
            for turn in self.turns:
                turn.take(self.call)
                self.taken.append(turn)
        except BaseException:
            self.__exit__()
            raise

    def __exit__(self, *_: Any) -> None:
        while self.taken:
            self.taken.pop().leave()
        try:
            self.interrupts.__exit__()  # first: what is kept after the end is raised by nobody
        finally:
            self.call.end()


def failure(status: int, error: Any) -> BaseException:
    kind = CLASSES.get(status, InternalError)
    return kind(escaped(error.message), Reason(error.reason))


def call(function: Any, *arguments: Any, using: Tuple[Used, ...] = (),
         listening: Optional["Listening"] = None, then: Optional[Callable[[], Any]] = None) -> Any:
    """Calls what returns a status and takes an error last, with the turns of all handles among the
    arguments and those in `using`. `then` reads what was made, before anybody else's turn."""
    error = c.popliner_error()
    result = None
    with Calling([*using, *(it for it in arguments if isinstance(it, Handle))], listening):
        status = function(*arguments, ctypes.byref(error))
        if status == 0 and then is not None:
            result = then()
    if status != 0:
        raise failure(status, error)
    return result


def ask(handle: "Handle", function: Any, *arguments: Any) -> Any:
    """Calls what cannot fail and calls nothing back, or reads what the handle owns."""
    turn = handle.turn
    turn.check()
    with turn.lock:  # of C: no signal gets between it and the release
        turn.check_call()
        return function(*arguments)


def fill(structure: Type, function: Any, handle: "Handle", *arguments: Any,
         then: Optional[Callable[[Any], Any]] = None) -> Any:
    """Calls what fills a structure; O(1), and calls nothing back. `then` reads it: its texts and
    arrays are good for as long as the handle."""
    error = c.popliner_error()
    result = begin(structure)

    def filled() -> Any:
        status = function(*arguments, ctypes.byref(result), ctypes.byref(error))
        if status != 0:
            raise failure(status, error)
        return result if then is None else then(result)

    return ask(handle, filled)


def make_text(function: Any, *arguments: Any, using: Tuple[Used, ...] = ()) -> str:
    """Calls what makes a text."""
    result = ctypes.c_void_p()
    try:
        call(function, *arguments, ctypes.byref(result), using=using)
        return decoded(ctypes.string_at(result.value))
    finally:
        libc.free(result)


# ---- what belongs to somebody ----


def structure_at(pointer: Any, structure: Any) -> Any:
    """The structure that an untyped pointer leads to."""
    return ctypes.cast(pointer, ctypes.POINTER(structure)).contents


class Freeing(weakref.ref):
    """Frees what a handle points to once the handle is gone. All of it is code of C, so no signal
    gets into it, whose exception would be lost as that of any `__del__`."""

    __slots__ = ()
    _as_parameter_ = 0  # of a callback, which the function that frees does not take
    most = 100  # in `freeing`, until those that are gone are taken out


#: Those of all handles, and of some that are gone: kept here, they also work in a cycle.
freeing: Set[Freeing] = set()


def forget_lost() -> None:
    """In a process that was forked: what is half changed cannot be freed."""
    for it in list(freeing):
        handle = it()
        if handle is not None and handle.turn.is_lost:
            freeing.discard(it)


os.register_at_fork(after_in_child=forget_lost)


class Handle:
    """Something that the library made, which is freed with this object, unless `free` is None. It
    keeps alive what it depends on."""

    __slots__ = ("pointer", "kept", "turn", "__weakref__")

    def __init__(self, free: Any, turn: Turn, kept: Any = None) -> None:
        self.pointer = ctypes.c_void_p()
        self.turn = turn
        self.kept = kept
        if free is None:
            return
        if len(freeing) >= Freeing.most:  # half of them may be gone
            freeing.difference_update([it for it in list(freeing) if it() is None])
            Freeing.most = 2 * len(freeing) + 100
        freeing.add(Freeing(self, functools.partial(free, self.pointer)))

    def read(self, structure: Any) -> Any:
        """What the library made, as a structure."""
        return structure_at(self.pointer, structure)

    @property
    def _as_parameter_(self) -> Any:
        return self.pointer


CALLBACK = called_back(Turn(), int).__code__


def make(function: Any, *arguments: Any, free: Any, turn: Turn, using: Tuple[Used, ...] = (),
         kept: Any = None, listening: Optional["Listening"] = None) -> Handle:
    """Calls what makes something."""
    handle = Handle(free, turn, kept)
    call(function, *arguments, ctypes.byref(handle.pointer), using=(turn, *using),
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

    def hears(what: str) -> Any:
        it = turn.call
        return getattr(it.listening if it and it.listening else listening, what)

    def message(_user: Any, level: int, words: bytes) -> None:
        function = hears("message")
        if function is None:
            logger.log(LEVELS[Level(level)], "%s", decoded(words))
        else:
            function(Level(level), decoded(words))

    def progress(_user: Any, task: bytes, done: int, total: int) -> None:
        (hears("progress") or ignored)(decoded(task), done, total)

    def step(_user: Any, task: bytes, seconds: float) -> None:
        (hears("step") or ignored)(decoded(task), seconds)

    result = begin(c.popliner_listener)
    result.message = c.popliner_listener_message(called_back(turn, message))
    result.progress = c.popliner_listener_progress(called_back(turn, progress))
    result.step = c.popliner_listener_step(called_back(turn, step))
    return result


def ignored(*_: Any) -> None:
    """What nobody hears."""


def stop_of(function: Any, kind: Type, turn: Turn) -> Any:
    """What the library asks whether to stop: `function`, which may be None, and whether the call of
    `turn` has to end, because something was raised in it."""
    should_stop = callback(function, "should_stop")
    return kind(called_back(turn, lambda _user: should_stop is not None and bool(should_stop()),
                            True))


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


def listed(values: Any, what: str, most: int = 1 << 20) -> list:
    """What was given as a list or an array, as a list of Python's numbers."""
    if isinstance(values, (str, bytes, bytearray, memoryview, type)):
        raise TypeError(f"{what} is {shown(values)}, and not a list")
    try:
        result = list(itertools.islice(values, most + 1))
    except TypeError:
        raise TypeError(f"{what} is {shown(values)}, and not a list") from None
    if len(result) > most:
        raise UsageError(f"{what} has more than {most} items")
    return values.tolist() if hasattr(values, "tolist") else result
