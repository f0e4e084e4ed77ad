"""Folders of dumps: files by op, of one execution of one model.

`{dump_path}/{time}/{device}/{model}/{model id}/{execution}/{file}`; any folder on the way may be
given. Links are not followed.
"""

import os
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from atc_py.diag import BAD_DUMP, NO_DUMPS, Place
from atc_py.package.ge.dump import STATISTICS
from atc_py.system.input_files import check_name, read_refusal, read_text
from atc_py.text import Text

MOST_FILES = 200_000
_DEEPEST = 12
_MAPPING = "mapping.csv"
_MOST_MAPPING = 64 << 20

_NAME = re.compile(
    r"(?P<op>[A-Za-z0-9_-]+)\.(?P<name>[A-Za-z0-9_-]+)\.(?P<task>\d{1,20})"
    r"(?:\.(?P<stream>\d{1,20}))?\.(?P<time>\d{1,255})"
    r"(?:\.(?P<kind>\d{1,20})\.\d{1,20}\.(?P<thread>\d{1,20})(?:\.\d{1,20})?)?"
)
_HASH = re.compile(r"\d{1,40}")
_TIME = re.compile(r"\d{14}")
_SINGLE_OP = "aclnn"
_OVERFLOW = "Opdebug"
_ESCAPED = str.maketrans(dict.fromkeys(" ./\\", "_"))


class DumpFile(msgspec.Struct, frozen=True):
    """A dump by its name."""

    path: Path
    op_type: str  # operator, escaped
    name: str  # of the op, escaped
    task: int  # number of its task
    stream: int  # number of its stream; -1 where the name has none
    time: int  # when it was written, in microseconds


class Execution(msgspec.Struct, frozen=True, order=True):
    """One execution of a model, by the folders that hold its dumps; -1 where they do not say."""

    time: str
    device: int
    index: int


class DumpFolder(msgspec.Struct, frozen=True):
    """The dumps of one execution."""

    # by escaped name of the op, tables of statistics first, then the oldest
    files: Mapping[str, tuple[DumpFile, ...]]
    execution: Execution
    others: tuple[Execution, ...]  # executions that the folder has beside it
    models: tuple[str, ...]
    overflows: tuple[Path, ...]  # files of the detection of overflow


def escaped_name(name: str) -> str:
    return name.translate(_ESCAPED)


def parsed_name(name: str, path: Path) -> DumpFile | None:
    """The parts of the name of a dump; None for a file of another kind."""
    match = _NAME.fullmatch(name)
    if match is None:
        return None
    return DumpFile(
        path=path,
        op_type=match["op"],
        name=match["name"],
        task=int(match["task"]),
        stream=-1 if match["stream"] is None else int(match["stream"]),
        time=int(match["time"][:20]),
    )


def find_dumps(folder: Path) -> DumpFolder:
    """The dumps below a folder; of several executions the first one of the newest run.

    Raises:
        AtcError: FILE_NOT_FOUND, FILE_UNREADABLE, NO_DUMPS, or BAD_DUMP for far too many files.
    """
    check_name(folder)
    runs: defaultdict[Execution, list[DumpFile]] = defaultdict(list)
    models: defaultdict[Execution, dict[str, None]] = defaultdict(dict)
    overflows: list[Path] = []
    for place, names in _folders(folder):
        execution, model = _execution_of(place)
        for name, full in _named(place, names):
            found = parsed_name(full.removesuffix(STATISTICS), place / name)
            if found is None:
                continue
            if found.op_type == _OVERFLOW:
                overflows.append(found.path)
            else:
                runs[execution].append(found)
                models[execution][model] = None
    if not runs:
        raise NO_DUMPS.error(
            Text("{folder} has no dump of a board", folder=folder),
            place=Place(str(folder)),
            help=Text("give the folder that dump_path named when the board ran, or one below it"),
        )
    newest = max(run.time for run in runs)
    chosen = min(run for run in runs if run.time == newest)
    return DumpFolder(
        files=_by_op(runs[chosen]),
        execution=chosen,
        others=tuple(sorted(run for run in runs if run != chosen)),
        models=tuple(name for name in models[chosen] if name),
        overflows=tuple(overflows),
    )


def _folders(folder: Path) -> Iterator[tuple[Path, list[str]]]:
    """Yield folders with the names of their regular files."""
    waiting, count = [(folder, 0)], 0
    while waiting:
        place, depth = waiting.pop()
        names = []
        try:
            with os.scandir(place) as entries:
                for entry in entries:
                    count += 1
                    if count > MOST_FILES:
                        raise _too_many(folder)
                    if entry.is_dir(follow_symlinks=False) and depth < _DEEPEST:
                        waiting.append((Path(entry.path), depth + 1))
                    elif entry.is_file(follow_symlinks=False):
                        names.append(entry.name)
        except OSError as error:
            raise read_refusal(place, error) from None
        if not place.name.startswith(_SINGLE_OP):
            yield place, sorted(names)


def _too_many(folder: Path) -> Exception:
    return BAD_DUMP.error(
        Text("{folder} has more than {most} files", folder=folder, most=MOST_FILES),
        place=Place(str(folder)),
        help=Text("give the folder of one execution"),
    )


def _execution_of(place: Path) -> tuple[Execution, str]:
    """The execution that a folder is of, and the model's name; what its path does not say is left out."""
    parts = place.parts
    index = int(parts[-1][:9]) if parts and parts[-1].isascii() and parts[-1].isdecimal() else -1
    model, device, time = "", -1, ""
    is_number = [part.isascii() and part.isdecimal() for part in parts[-4:]]
    if len(is_number) == 4 and is_number == [is_number[0], False, True, True]:  # noqa: PLR2004
        model = parts[-3]
        device = int(parts[-4][:9]) if is_number[0] else -1
        time = parts[-5] if len(parts) > 4 and _TIME.fullmatch(parts[-5]) else ""  # noqa: PLR2004
    return Execution(time, device, index), model


def _named(place: Path, names: list[str]) -> Iterator[tuple[str, str]]:
    """Yield names of files with the full ones, which stand in a table where they are too long."""
    table = {}
    if _MAPPING in names:
        lines = read_text(place / _MAPPING, _MOST_MAPPING).splitlines()
        rows = (line.partition(",") for line in lines)
        table = {number.strip(): own.strip() for number, comma, own in rows if comma}
    for name in names:
        stem = name.removesuffix(STATISTICS)
        full = table.get(stem, "") if _HASH.fullmatch(stem) else ""
        yield name, full + name[len(stem) :] if full else name


def _by_op(files: list[DumpFile]) -> dict[str, tuple[DumpFile, ...]]:
    found: defaultdict[str, list[DumpFile]] = defaultdict(list)
    for file in sorted(files, key=lambda file: (file.path.suffix != STATISTICS, file.time)):
        found[file.name].append(file)
    return {name: tuple(each) for name, each in found.items()}
