"""What the rows of a sweep follow from: files with their digests, options, and tasks of them."""

import hashlib
import json
import mmap
from collections.abc import Iterable, Mapping
from dataclasses import replace
from pathlib import Path

from atc_py import __version__
from atc_py.adapters.sweep.row import RowTask, SweepOptions
from atc_py.diag import AtcError
from atc_py.results.sweep import Combination
from atc_py.system.cache_folders import exists, is_file, is_folder, legible
from atc_py.system.jobs.sent_files import FileBundle

_EXTERNAL = b"location"
"""Key that a model with weights in other files has."""

_CHUNK = 1 << 20


def files_of_model(path: Path) -> tuple[Path, ...]:
    """The files of a model, itself first; a file that cannot be read is alone."""
    from atc_py.onnx_graph.reading.file_graph import external_tensors
    from atc_py.onnx_graph.reading.read import read_model

    try:
        if not _mentions(path, _EXTERNAL):
            return (path,)
        names = sorted(external_tensors(read_model(path, lenient=True)))
    except (OSError, ValueError, AtcError):
        return (path,)
    return (path, *(path.parent / name for name in names))


def files_under(path: Path) -> tuple[Path, ...]:
    """The files of a folder and the folders in it, sorted, or the file itself."""
    if not is_folder(path):
        return (path,)
    return tuple(sorted(each for each in path.rglob("*") if each.is_file()))


def digest_of_files(paths: Iterable[Path]) -> str:
    """A digest of files' contents, in order; of one that cannot be read, that it cannot."""
    whole = hashlib.sha256()
    for path in paths:
        whole.update(_digest(path))
    return whole.hexdigest()


def digest_of_options(options: Mapping[str, object]) -> str:
    """A digest of values that JSON can say."""
    text = json.dumps(options, sort_keys=True, default=str)
    return hashlib.sha256(text.encode("utf-8", "surrogateescape")).hexdigest()


def _digest(path: Path) -> bytes:
    found = hashlib.sha256()
    try:
        if not is_file(path):  # a pipe would be waited for, and a device may have no end
            return found.digest()
        with path.open("rb") as file:
            while data := file.read(_CHUNK):
                found.update(data)
    except (OSError, ValueError) as error:
        found.update(type(error).__name__.encode())
    return found.digest()


def _mentions(path: Path, text: bytes) -> bool:
    if not is_file(path) or not path.stat().st_size:
        return False
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        return data.find(text) >= 0


class SweepInputs:
    """Inputs of rows: files with their digests, and options."""

    def __init__(self, models: Mapping[str, Path], options: SweepOptions) -> None:
        self._models = models
        self._options = options
        self._found: dict[str, FileBundle] = {}
        self._specs = None if options.specs is None else _bundle_of(options.specs)
        shown = {
            "version": __version__,
            "compiling": options.compiling,
            "running": options.running,
            "samples": options.samples if isinstance(options.samples, int) else "files",
            "profiles": options.profiles,
            **({"proposes": True} if options.proposes else {}),
            "language": options.language,
            "specs": "" if self._specs is None else self._specs.digest,
        }
        self._shown = digest_of_options(shown)

    def digest(self, each: Combination) -> str:
        """The digest of everything that a row follows from, its name aside."""
        samples = self._samples(each.model)
        parts = [self._shown, self._bundle(each.model).digest]
        parts += [] if samples is None else [samples.digest]
        parts += [str(self._models[each.model])]  # the page shows it
        parts += [each.soc, each.precision_mode, each.operator_list]
        return digest_of_options({"parts": parts})

    def task(self, each: Combination, *, elsewhere: bool) -> RowTask:
        """The task of a row; on another machine its files have absolute paths."""
        path, options = self._models[each.model], self._options
        running = None
        if options.running is not None:
            samples = self._samples(each.model)
            given = options.samples if samples is None else str(samples.main.absolute())
            running = {**options.running, "samples": given}
        return RowTask(
            combination=each,
            path=legible(path),
            file=str(path.absolute() if elsewhere else path),
            options=replace(options, running=running),
        )

    def bundles(self, names: Iterable[str]) -> list[FileBundle]:
        """The files that rows of these models read."""
        found = [] if self._specs is None else [self._specs]
        for name in names:
            samples = self._samples(name)
            found += [self._bundle(name), *([] if samples is None else [samples])]
        return found

    def finding(self, task: RowTask, sent: set[str]) -> RowTask:
        """A task that finds the files that were sent to workers."""
        name = task.combination.model

        def digest(found: FileBundle | None) -> str:
            return found.digest if found is not None and found.digest in sent else ""

        return replace(
            task,
            sent=digest(self._bundle(name)),
            sent_samples=digest(self._samples(name)),
            sent_specs=digest(self._specs),
        )

    def _bundle(self, name: str) -> FileBundle:
        if name not in self._found:
            files = files_of_model(self._models[name])
            self._found[name] = FileBundle(digest_of_files(files), files[0], files)
        return self._found[name]

    def _samples(self, name: str) -> FileBundle | None:
        """The samples of a model: those called like it, or all that were given."""
        given = self._options.samples
        if self._options.running is None or isinstance(given, int):
            return None
        key = f"samples of {name}"
        if key not in self._found:
            own = (given / name, given / f"{name}.npz", given / f"{name}.npy")
            main = next((each for each in own if exists(each)), given)
            self._found[key] = _bundle_of(main)
        return self._found[key]


def _bundle_of(path: Path) -> FileBundle:
    files = files_under(path)
    return FileBundle(digest_of_files(files), path, files)
