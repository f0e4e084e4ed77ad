"""Messages between the program and the process that renders templates: a length, then the bytes."""

from typing import IO

_LENGTH = 8
"""Bytes of the length that stands before each message."""


def read_block(file: IO[bytes], most: int | None = None) -> bytes | None:
    """The next message; None at the end, and for one of more than `most` bytes."""
    head = file.read(_LENGTH)
    size = int.from_bytes(head, "little")
    if len(head) < _LENGTH or (most is not None and size > most):
        return None
    data = file.read(size)
    return data if len(data) == size else None


def write_block(file: IO[bytes], data: bytes) -> None:
    """Send one message."""
    file.write(len(data).to_bytes(_LENGTH, "little"))
    file.write(data)
    file.flush()
