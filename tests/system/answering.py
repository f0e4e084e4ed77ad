"""What a process of `atc_py.system.worker` does in tests: it goes by the first part of a message."""

import os
import sys
import time
from collections.abc import Iterator, Sequence

from atc_py.system.worker import BEGUN, Part, serve


def main() -> None:
    """Answer messages."""
    serve(_answers)


def silent() -> None:
    """Read nothing and answer nothing."""
    time.sleep(600)


def _answers(message: list[bytearray]) -> Iterator[Sequence[Part]]:
    word = message[0].decode()
    if word == "begin":
        yield BEGUN
        time.sleep(0.5)
    elif word == "sleep":
        time.sleep(600)
    elif word == "leave":
        os._exit(3)
    elif word == "print":
        sys.stdout.write("on standard output")
        os.write(1, b"below Python")
        assert not sys.stdin.read()
    yield [str(os.getpid()).encode(), *message[1:]]
