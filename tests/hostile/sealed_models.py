"""Offline models that say what they like: documents mutated, every digest right."""

import copy
import io
import json
import random
import zipfile
from collections.abc import Iterator, Mapping
from typing import Any

from atc_py.package.archive import ArchiveWriter

documents = ("model.json", "report.json", "kernels/kernels.json")
"""Members that readers take for more than bytes."""

_MODEL = "model.json"
_VALUES: tuple[Any, ...] = (
    None, True, False, 0, -1, 1, 2, 7, 63, 2**31 - 1, 2**31, 2**40, 2**62, 2**63 - 1, -(2**63),
    2**64, 10**30, 0.5, -0.0, 1e308, 1e-320, "", "x", "NaN", "inf", "float32", "int4", "a/b",
    "../../etc/passwd", "/etc/passwd", "\x1b[31mred\x1b[0m", "\u202egnp.exe", "a\0b", "a\nb",
    "*/ system(0); /*", "</script><script>alert(1)</script>", "\\\n", "é" * 300, "\ud800",
    [], {}, [[]], [0], [-1], [2**40, 2**40], [0.5, 2**70], {"a": 1}, "x" * 100_000,
)  # fmt: skip


def members_of(data: bytes) -> dict[str, bytes]:
    """Return the members of an archive by name, in its order."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def sealed(members: Mapping[str, bytes], *, relist: bool = True) -> bytes:
    """Return an archive of `members` with right headers, sizes and digests.

    Args:
        members: data by name; `model.json` is written last, as the writer does.
        relist: whether the description's list of members is made to fit them.
    """
    file = io.BytesIO()
    archive = ArchiveWriter(file)
    for name, data in members.items():
        if name != _MODEL:
            archive.add_bytes(name, data)
    text = members[_MODEL]
    if relist:
        described = json.loads(text)
        if isinstance(described, dict):
            listed = archive.members.items()
            described["members"] = {
                name: {"size": each.size, "sha256": each.sha256} for name, each in listed
            }
            text = json.dumps(described).encode()
    archive.finish(archive.add_bytes(_MODEL, text).sha256)
    return file.getvalue()


def mutated(document: Any, generator: random.Random) -> Any:
    """Return a copy of a JSON document with one to three places changed."""
    changed = copy.deepcopy(document)
    for _ in range(generator.choice((1, 1, 1, 2, 3))):
        changed = _changed(changed, generator)
    return changed


def _changed(document: Any, generator: random.Random) -> Any:
    """Return the document with one place changed, in place where that can be."""
    places = list(_places(document))
    if not places:
        return generator.choice(_VALUES)
    holder, key = _picked(places, generator)
    old, roll = holder[key], generator.random()
    alike = [each[at] for each, at in places if type(each[at]) is type(old)]
    if roll < 0.45:
        holder[key] = copy.deepcopy(generator.choice(alike))
    elif roll < 0.7:
        kinds = [each for each in _VALUES if type(each) is type(old)] or list(_VALUES)
        holder[key] = generator.choice(kinds)
    elif roll < 0.8:
        holder[key] = copy.deepcopy(generator.choice(_VALUES))
    elif roll < 0.9:
        del holder[key]
    elif isinstance(holder, list):
        holder.extend(copy.deepcopy([old]) * generator.choice((1, 3, 40)))
    else:
        holder[f"{key}_"] = copy.deepcopy(old)
    return document


def _picked(places: list[tuple[Any, Any]], generator: random.Random) -> tuple[Any, Any]:
    """Return a place; long lists of small numbers are not all that there is."""
    names = [place for place in places if isinstance(place[0], dict)]
    return generator.choice(names if names and generator.random() < 0.5 else places)


def _places(document: Any) -> Iterator[tuple[Any, Any]]:
    """Yield every (list or object, index or key) of a document."""
    if isinstance(document, list):
        yield from ((document, at) for at in range(len(document)))
    elif isinstance(document, dict):
        yield from ((document, key) for key in list(document))
    inner = document if isinstance(document, list) else getattr(document, "values", list)()
    for each in list(inner):
        if isinstance(each, list | dict):
            yield from _places(each)
