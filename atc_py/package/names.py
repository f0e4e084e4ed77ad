"""Names of archive members: what they are called, and which names are harmless."""

import re

MODEL = "model.json"
REPORT = "report.json"
WEIGHTS = "weights/"
KERNELS = "kernels/"
GEARS = "gears/"

_LONGEST = 255
_LONGEST_STEM = 80
_FOREIGN = re.compile(r"[^A-Za-z0-9_.-]+")
_PART = re.compile(r"[A-Za-z0-9_-][A-Za-z0-9_.+-]*")


def weight_member(index: int, name: str) -> str:
    """The member of constant `index`; the number identifies it, `name` is for readers."""
    stem = _FOREIGN.sub("_", name)[:_LONGEST_STEM]
    return f"{WEIGHTS}{index:04d}_{stem}.npy"


def kernel_member(name: str) -> str:
    """The member of the kernel file called `name`."""
    return f"{KERNELS}{name}"


def is_safe_member(name: str) -> bool:
    """True if unpacking `name` stays below the folder it is unpacked in, on every system.

    Safe are relative paths of ASCII letters, digits and `_.+-`, no part of which is empty or
    starts with a dot or a plus.
    """
    return len(name) <= _LONGEST and all(_PART.fullmatch(part) for part in name.split("/"))


def gear_member(gear: int, name: str) -> str:
    """The member of gear `gear` that stands for member `name` of a model of one shape."""
    return f"{GEARS}{gear:03d}/{name}"
