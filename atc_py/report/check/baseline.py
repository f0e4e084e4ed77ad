"""Baselines: the findings of an earlier check, which a later one leaves alone."""

from codecs import BOM_UTF8
from collections import Counter
from collections.abc import Mapping
from itertools import takewhile
from pathlib import Path, PurePath
from typing import TypeAlias

import msgspec

from atc_py.diag import BAD_BASELINE, AtcError, Place
from atc_py.report.check.document import VERSION, BaselineCount
from atc_py.system.input_files import read_bytes
from atc_py.text import Text, error_text

_Key: TypeAlias = tuple[str, str]

_MOST_BYTES = 1 << 28
"""Some 300,000 findings."""


class _Finding(msgspec.Struct, frozen=True):
    fingerprint: str


class _Model(msgspec.Struct, frozen=True):
    path: str
    findings: tuple[_Finding, ...]
    faults: tuple[_Finding, ...]


class _Report(msgspec.Struct, frozen=True):
    version: int
    models: tuple[_Model, ...]


class Baseline:
    """Findings that are known; each is recognized as often as the baseline has it.

    A finding belongs to a file and has a fingerprint. Of files of one name, which the baseline may
    have in several folders, the one counts whose path ends most like the path asked for: where a
    check runs may differ, but the positions of its models relative to each other do not.
    """

    def __init__(self, known: Mapping[_Key, int]) -> None:
        self._left = Counter(known)
        self._paths = {path: PurePath(path).parts for path, _ in known}
        self._files: dict[str, str] = {}
        self._known = 0
        self._new = 0

    def recognizes(self, path: str, fingerprint: str) -> bool:
        """True if the baseline has the finding once more; it is used up then."""
        if path not in self._files:
            self._files[path] = self._matching_file(PurePath(path).parts)
        key = (self._files[path], fingerprint)
        if self._left[key] <= 0:
            self._new += 1
            return False
        self._left[key] -= 1
        self._known += 1
        return True

    def _matching_file(self, parts: tuple[str, ...]) -> str:
        """The baseline's file that the one at `parts` is; "" where none has its name."""
        alike = {path: _common_tail(parts, other) for path, other in self._paths.items()}
        best = max(alike, key=lambda path: alike[path], default="")
        return best if best and alike[best] else ""

    @property
    def count(self) -> BaselineCount:
        return BaselineCount(known=self._known, new=self._new, gone=self._left.total())


def _common_tail(parts: tuple[str, ...], others: tuple[str, ...]) -> int:
    pairs = zip(reversed(parts), reversed(others), strict=False)
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], pairs))


def read_baseline(path: Path) -> Baseline:
    """The findings of the report in a JSON file.

    Raises:
        AtcError: as `atc_py.system.input_files.read_bytes` does; BAD_BASELINE where it is another file.
    """
    data = read_bytes(path, _MOST_BYTES, own=True).removeprefix(BOM_UTF8)
    try:
        report = msgspec.json.decode(data, type=_Report)
    except (ValueError, msgspec.MsgspecError) as error:
        raise _not_a_report(path, error_text(error)) from error
    except RecursionError as error:
        raise _not_a_report(path, Text("it is nested too deeply")) from error
    if report.version != VERSION:
        raise _not_a_report(
            path,
            Text(
                "its version is {version}; this atc-py reads {version_2}",
                version=report.version,
                version_2=VERSION,
            ),
        )
    keys = (
        (model.path, finding.fingerprint)
        for model in report.models
        for finding in (*model.faults, *model.findings)
    )
    return Baseline(Counter(keys))


def _not_a_report(path: Path, reason: str) -> AtcError:
    return BAD_BASELINE.error(
        Text("the baseline {path} is not a report of a check: {reason}", path=path, reason=reason),
        place=Place(str(path)),
        help=Text("write it with `atc-py check MODEL --format json --output FILE`"),
    )
