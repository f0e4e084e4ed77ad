"""How much memory work may take: what the user says, or what the machine has for this process.

Sizes that a file asks for are compared with the limit before anything of them is allocated. What
is bounded are data: constants, inputs, results, scratch. The interpreter and its libraries come on
top, which is why the default leaves a quarter of the machine to them and to others.
"""

import errno
import math
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from functools import lru_cache
from pathlib import Path

from atc_py.diag import BAD_OPTION, MEMORY_LIMIT, AtcError, Place
from atc_py.text import Text, error_text

RAISE_IT = Text("raise --max-memory, or use a machine with more memory")
"""The hint of a refusal that this limit caused."""

RAISE_SYSTEM_LIMITS = Text(
    "raise the limits of the process (`ulimit -v`, `ulimit -u`) or of its control group"
)
"""The hint of a refusal that the system caused."""

_OWN, _OWN_THREAD = 256 * 1024**2, 32 * 1024**2
"""Bytes of addresses that libraries take: at least, and for each thread of BLAS but the first.

With less, loading them fails, or OpenBLAS ends the process; measured with 2 threads.
"""

_UNITS = {"": 1, **{name: 1024**power for power, name in enumerate("KMGT", start=1)}}
_SIZE = re.compile(r"(\d{1,15}(?:\.\d{1,9})?)\s*([KMGT]?)(?:i?B)?", re.ASCII | re.IGNORECASE)
_STEP = 1024

_LEAST = 1024**2
"""Bytes; less would refuse everything, and is a unit that was forgotten."""

_SHARE = 0.75
"""Of the machine's memory that data may take by default."""

_UNKNOWN_MACHINE = 8 * 1024**3
"""Bytes taken for a machine that does not say how many it has."""

_V1_FILE, _V2_FILE = "memory.limit_in_bytes", "memory.max"

_given: ContextVar[int | None] = ContextVar("memory limit", default=None)


def memory_limit() -> int:
    """The bytes that data may take: as `limited_memory` says, or 3/4 of the machine."""
    given = _given.get()
    return int(machine_memory() * _SHARE) if given is None else given


@contextmanager
def limited_memory(size: int | str | None) -> Iterator[None]:
    """Hold what the block does to `size` bytes, or a text such as `4G`; None changes nothing.

    Args:
        size: bytes, or a text such as `4G`.

    Raises:
        AtcError: BAD_OPTION if it is not a size.

    Example:
        >>> import atc_py
        >>> with atc_py.limited_memory("2G"):
        ...     done = atc_py.convert("model.onnx", "model.om")
        >>> with atc_py.limited_memory("a lot"):
        ...     pass
        Traceback (most recent call last):
        atc_py.diag.diagnostic.AtcError: ATC1001: ...
    """
    if size is None:
        yield
        return
    token = _given.set(parse_size(size))
    try:
        yield
    finally:
        _given.reset(token)


@contextmanager
def held_memory(nbytes: int) -> Iterator[None]:
    """Leave the block so much less than the limit: data of that size stay beside what it makes."""
    token = _given.set(max(memory_limit() - nbytes, _LEAST))
    try:
        yield
    finally:
        _given.reset(token)


def require_memory(wanted: int, what: str, place: Place | None = None) -> None:
    """Refuse to hold `wanted` bytes for `what` where the limit is lower.

    Raises:
        AtcError: MEMORY_LIMIT with both sizes.
    """
    limit = memory_limit()
    if wanted > limit:
        text = Text("{what} would take {size}; the limit is {limit}")
        text = text.with_values(what=what, size=format_size(wanted), limit=format_size(limit))
        raise MEMORY_LIMIT.error(text, place=place, help=RAISE_IT)


def require_own_memory(others: int = 0) -> None:
    """Refuse to begin where `ulimit` leaves too little for Python's libraries themselves.

    Raises:
        AtcError: MEMORY_LIMIT with both sizes.
    """
    threads = os.environ.get("OPENBLAS_NUM_THREADS", "")
    count = int(threads) if threads.isascii() and threads.isdigit() else os.cpu_count() or 1
    wanted = _OWN + others + _OWN_THREAD * (max(count, 1) - 1)
    left = min(_process_limits(), default=wanted)
    if left < wanted:
        raise MEMORY_LIMIT.error(
            Text(
                "atc-py and its libraries need about {size} of addresses for {count} threads "
                "of BLAS, `ulimit` leaves {size_2}",
                size=format_size(wanted),
                count=count,
                size_2=format_size(left),
            ),
            help=Text(
                "{raise_system_limits}, or set OPENBLAS_NUM_THREADS=1",
                raise_system_limits=RAISE_SYSTEM_LIMITS,
            ),
        )


def parse_size(size: int | str) -> int:
    """The bytes of a size: a number or a text such as `512M`, `1.5GiB`, `2 GB` (1024).

    Raises:
        AtcError: BAD_OPTION for another text, or for less than 1 MiB.
    """
    found = _SIZE.fullmatch(str(size).strip())
    nbytes = int(float(found[1]) * _UNITS[found[2].upper()]) if found else -1
    if nbytes < _LEAST:
        raise BAD_OPTION.error(
            Text("{size} is not a valid memory size", size=repr(str(size)[:40])),
            help=Text("write bytes, or a number with K, M, G or T, at least 1M: --max-memory 4G"),
        )
    return nbytes


def format_size(nbytes: int) -> str:
    """`1.5 GiB (1610612736 bytes)`: to read, and to compare."""
    size, unit = float(nbytes), 0
    units = ("bytes", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB")
    while size >= _STEP and unit < len(units) - 1:
        size, unit = size / _STEP, unit + 1
    if not unit:
        return f"{nbytes} bytes"
    text = Text("{size} {units} ({nbytes} bytes)")
    return text.with_values(size=f"{size:.1f}", units=units[unit], nbytes=nbytes)


@lru_cache(maxsize=1)
def machine_memory() -> int:
    """The bytes available to this process: least of machine, control group and limits."""
    known = [_physical(), *_group_limits(Path("/proc/self/cgroup"), Path("/sys/fs/cgroup"))]
    known += _process_limits()
    return min((each for each in known if each > 0), default=_UNKNOWN_MACHINE)


def _physical() -> int:
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):
        return 0


def _group_limits(listing: Path, root: Path) -> list[int]:
    """Limits of the control groups that the process is in, and of the groups above them.

    Args:
        listing: lines `number:controllers:path`; version 2 has no controllers.
        root: where the groups are mounted; those of version 1 in the folder `memory`.
    """
    found: list[int] = []
    for line in _text(listing).splitlines():
        _, controllers, path = (*line.split(":", 2), "", "")[:3]
        if controllers and "memory" not in controllers.split(","):
            continue
        top, name = (root / "memory", _V1_FILE) if controllers else (root, _V2_FILE)
        folder = top / path.lstrip("/")
        above = [folder, *folder.parents]
        groups = above[: above.index(top) + 1]
        found += [_number(group / name) for group in groups]
    return [each for each in found if each]


def _process_limits() -> list[int]:
    try:
        import resource
    except ImportError:  # not on Windows
        return []
    kinds = (resource.RLIMIT_AS, resource.RLIMIT_DATA)
    limits = [resource.getrlimit(kind)[0] for kind in kinds]
    return [each for each in limits if each not in {resource.RLIM_INFINITY, 0}]


def _number(path: Path) -> int:
    """The number in a file; 0 for none, for `max`, and for one that stands for no limit."""
    text = _text(path).strip()
    number = int(text) if text.isascii() and text.isdigit() else 0
    return number if number < math.ldexp(1, 60) else 0


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8", errors="replace")
    except OSError:
        return ""


_MAPPED = ("failed to map segment", "cannot allocate memory", "cannot allocate tls")
"""Messages of the loader of shared libraries if it cannot get memory."""


def exhausted(error: BaseException) -> AtcError | None:
    """MEMORY_LIMIT with the resource that ran out; None where the error means otherwise."""
    words = _exhaustion(error)
    return None if words is None else MEMORY_LIMIT.error(words, help=RAISE_SYSTEM_LIMITS)


def _exhaustion(error: BaseException) -> Text | None:
    chain = _causes(error)
    if any(
        isinstance(each, MemoryError) or (isinstance(each, OSError) and each.errno == errno.ENOMEM)
        for each in chain
    ):
        said = error_text(error) if isinstance(error, MemoryError) else ""
        return Text("memory ran out: {said}", said=said) if said else Text("memory ran out")
    if any(
        isinstance(each, ImportError) and any(text in str(each).lower() for text in _MAPPED)
        for each in chain
    ):
        return Text("memory ran out while a library was loaded")
    if any(isinstance(each, RuntimeError) and "start new thread" in str(each) for each in chain):
        return Text("the system refuses to start another thread, or lacks the memory for it")
    return None


def _causes(error: BaseException) -> list[BaseException]:
    causes: list[BaseException] = []
    cause: BaseException | None = error
    while cause is not None and cause not in causes:
        causes.append(cause)
        cause = cause.__cause__ or cause.__context__
    return causes
