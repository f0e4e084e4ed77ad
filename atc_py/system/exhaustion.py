"""Errors that mean that the system has no more memory or threads for this process."""

import errno

from atc_py.diag import MEMORY_LIMIT, AtcError
from atc_py.system.memory_limit import RAISE_SYSTEM_LIMITS
from atc_py.text import Text, error_text

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
    found: list[BaseException] = []
    each: BaseException | None = error
    while each is not None and each not in found:
        found.append(each)
        each = each.__cause__ or each.__context__
    return found
