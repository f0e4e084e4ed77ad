"""Messages between a process and those that do its tasks: a length, then so many bytes."""

from typing import BinaryIO

_LENGTH = 8


def send_frame(stream: BinaryIO, data: bytes) -> None:
    """Send bytes as one message.

    Raises:
        OSError: the other side has ended.
    """
    stream.write(len(data).to_bytes(_LENGTH, "little"))
    stream.write(data)
    stream.flush()


def receive_frame(stream: BinaryIO) -> bytes:
    """The next message.

    Raises:
        EOFError: the other side has ended, perhaps in the middle of it.
        OSError: the stream cannot be read.
    """
    length = int.from_bytes(_exactly(stream, _LENGTH), "little")
    return _exactly(stream, length)


def _exactly(stream: BinaryIO, length: int) -> bytes:
    """So many bytes."""
    data = stream.read(length)
    if len(data) != length:
        raise EOFError
    return data
