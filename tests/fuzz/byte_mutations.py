"""Mutations of a file's bytes: cut, flipped, inserted, repeated, zeroed, exchanged."""

import random

_HEAD = 2048
"""Half of all damage is done within so many bytes of the file's ends, where structure is."""


def mutate_bytes(data: bytes, rng: random.Random) -> bytes:
    """Return `data` with up to eight places damaged, or cut short."""
    if not data or rng.random() < 0.25:
        return data[: rng.randrange(len(data) + 1)]
    out = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 4, 8))):
        _damage(out, _place(len(out), rng), rng)
    return bytes(out)


def _place(size: int, rng: random.Random) -> int:
    """Return a position, more often near the beginning or the end."""
    near = min(size, _HEAD)
    choice = rng.randrange(4)
    if choice == 0:
        return rng.randrange(near)
    if choice == 1:
        return size - 1 - rng.randrange(near)
    return rng.randrange(size)


def _damage(out: bytearray, at: int, rng: random.Random) -> None:
    """Do one kind of damage at a position."""
    action = rng.randrange(7)
    length = rng.choice((1, 2, 4, 8, 32))
    if action <= 1:
        out[at] ^= 1 << rng.randrange(8)
    elif action == 2:
        out[at] = rng.choice((0x00, 0x7F, 0x80, 0xFF, rng.randrange(256)))
    elif action == 3:
        out[at:at] = rng.randbytes(length)
    elif action == 4 and len(out) > length:
        del out[at : at + length]
        out.extend(b"\x00" * (not out))
    elif action == 5:
        out[at:at] = out[at : at + length]
    else:
        out[at : at + length] = b"\xff" * len(out[at : at + length])
