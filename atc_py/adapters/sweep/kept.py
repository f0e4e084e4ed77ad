"""The folder of results: rows that are finished are kept there, and whole, whatever happens."""

import re
from pathlib import Path

import msgspec

from atc_py.results.sweep import Combination, SweepRow
from atc_py.system.atomic_files import atomic_write, make_folder
from atc_py.system.structs import Result
from atc_py.text import plain_text

_ROWS, _REPORTS = "rows", "reports"

_PART = 8
"""Characters of a digest in the names of pages."""

_LONGEST_STEM = 120
"""Bytes of a model's name in them; names of files have 255 at most."""

_SEPARATOR = "__"
"""Stands in them for the separator of folders."""

_FOREIGN = re.compile(r"[^\w.+-]+")


class KeptRow(Result, frozen=True):
    """A finished row, and under which limits it was made.

    Attributes:
        row: the row.
        seconds: how long it took.
        limits: time and memory that it could take.
    """

    row: SweepRow
    seconds: float
    limits: tuple[float | None, int | None] = (None, None)


class KeptRows:
    """Rows and reports in a folder."""

    def __init__(self, folder: Path) -> None:
        """Prepare the folder, which may have rows already."""
        self.folder = folder
        for each in (_ROWS, _REPORTS):
            make_folder(folder / each)

    def find(self, digest: str) -> KeptRow | None:
        """The row of that digest; None if there is none, or its file is damaged."""
        try:
            data = self._path(digest).read_bytes()
            found = msgspec.json.decode(data, type=KeptRow)
        except (OSError, ValueError, msgspec.MsgspecError):
            return None
        if found.row.digest != digest:
            return None
        report = found.row.report
        return found if report is None or (self.folder / report).is_file() else None

    def keep(self, kept: KeptRow, page: bytes | None) -> None:
        """Keep a row and its page; the page first, so that no row refers to one that is not there.

        Raises:
            AtcError: CANNOT_WRITE; neither is partially written.
        """
        if page is not None and kept.row.report is not None:
            with atomic_write(self.folder / kept.row.report, durable=False) as file:
                file.write(page)
        with atomic_write(self._path(kept.row.digest), durable=False) as file:
            file.write(msgspec.json.encode(kept, enc_hook=plain_text))

    def _path(self, digest: str) -> Path:
        return self.folder / _ROWS / f"{digest}.json"


def report_name(combination: Combination, digest: str) -> str:
    """The name of the page about a row, relative to the folder of results.

    It has a part of the digest, which tells pages apart: rows of other options, and of models of
    that name in other folders, stay, and so must their pages. The model's name is for readers: what
    shells, terminals and file systems take for more than a letter is `_`, and a long one is cut.
    """
    each = combination
    stem = _FOREIGN.sub("_", each.model.replace("/", _SEPARATOR)).lstrip(".-")
    stem = stem.encode("utf-8")[:_LONGEST_STEM].decode("utf-8", "ignore") or "_"
    parts = (stem, each.soc, each.precision_mode, each.operator_list, digest[:_PART])
    return f"{_REPORTS}/{'.'.join(parts)}.html"
