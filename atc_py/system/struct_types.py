"""Types of msgspec made ready for threads."""

from contextlib import suppress
from typing import Any

import msgspec


def ready_for_threads(*types: Any) -> None:
    """Have msgspec read the fields of struct types now, which it else does when it first decodes one.

    Two threads that do so at the same time end the process: one uses what the other has begun.
    A module calls this where it defines or imports the types, for one thread alone imports it.
    """
    for each in types:
        with suppress(msgspec.ValidationError):
            msgspec.convert(None, each)
