"""Files for runs: which files each run reads, and their bytes."""

import math
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from atc_py.adapters.ais_bench.log_lines import as_runtime_errors, info_line, refused
from atc_py.adapters.ais_bench.tensors import TensorDesc
from atc_py.diag import Place
from atc_py.pipeline.running.array_files import read_npy
from atc_py.system.cache_folders import is_file, is_folder
from atc_py.system.input_files import check_regular, read_bytes, read_refusal
from atc_py.system.memory_limit import require_memory
from atc_py.text import Text

PURE = "pure_infer_data"
"""Name of the file that there is not where no input is given."""

PADDING = "padding_infer_fake_file"
"""Name of a file that fills the last run; the first one of the run is read for it."""

Batch = list[list[str]]
"""Files of one run, by input."""

_SUFFIXES = (".npy", ".NPY", ".bin", ".BIN")


def batches_of(inputs: Sequence[str], rows: Sequence[TensorDesc], *, combine: bool) -> list[Batch]:
    """The files of each run.

    Args:
        inputs: files, those of the first input first, or one folder for each input.
        rows: the model's inputs.
        combine: whether several files make one run where the first input takes several.
    """
    if not inputs:
        return [[[PURE] for _ in rows]]
    files = _files(inputs, rows)
    if len(files) != len(rows):
        raise refused(f"fileslist:{len(files)} intensor:{len(rows)} not match")
    count = _files_per_batch(files, rows, combine=combine)
    runs = math.ceil(len(files[0]) / count)
    parts = [_split(each, count) for each in files]
    if any(len(part) < runs for part in parts):
        numbers = ",".join(str(len(each)) for each in files)
        raise refused(f"inputs have {numbers} files, each run needs files for every input")
    return [[part[run] for part in parts] for run in range(runs)]


def data_of(files: Sequence[str], size: int, kind: str, *, combine: bool) -> npt.NDArray[Any]:
    """The data of one input for a run.

    Args:
        files: of the input.
        size: bytes that the input takes.
        kind: of data without a file: `zero` or `random` bytes.
        combine: whether several files must have that size together.
    """
    found = [_content(files[0] if file == PADDING else file, size, kind) for file in files]
    if len(found) == 1:
        return found[0]
    data = np.concatenate([np.ascontiguousarray(each).reshape(-1).view(np.int8) for each in found])
    if combine and data.nbytes != size:
        raise refused(f"ndata size:{data.nbytes} not match {size}")
    return data


def _files(inputs: Sequence[str], rows: Sequence[TensorDesc]) -> list[list[str]]:
    first = Path(inputs[0])
    if is_file(first):
        for at, name in enumerate(inputs):
            if not is_file(name):
                raise refused(
                    f"Invalid input args.--input:{list(inputs)} input[{at}]:{name} not exist"
                )
        size = len(inputs) // len(rows)
        if size == 0:
            raise refused(f"fileslist:{len(inputs)} intensor:{len(rows)} not match")
        return [list(inputs[at : at + size]) for at in range(0, len(inputs), size)]
    if not is_folder(first):
        raise refused(f"Invalid args. {inputs[0]}  of --input is invalid")
    if len(inputs) != len(rows):
        raise refused(
            f"Invalid args. args input dir num:{len(inputs)} not equal to model inputs num:{len(rows)}"
        )
    return [_files_in(name) for name in inputs]


def _files_in(folder: str) -> list[str]:
    path = Path(folder)
    if not is_folder(path):
        raise refused(f"Invalid args. {folder} of input args is not a real dir path")
    found = [str(each) for each in path.iterdir() if each.name.endswith(_SUFFIXES)]
    if not found:
        raise refused(
            f"{folder} of input args not find valid file,valid file format:[*.npy *.NPY *.bin *.BIN]"
        )
    return sorted(sorted(found), key=_natural)


def _natural(name: str) -> list[tuple[int, int, str]]:
    parts = re.split("([0-9]+)", name)
    return [(0, int(part), "") if part.isdigit() else (1, 0, part.lower()) for part in parts]


def _files_per_batch(
    files: Sequence[Sequence[str]], rows: Sequence[TensorDesc], *, combine: bool
) -> int:
    wanted = rows[0].realsize
    size = _size(files[0][0])
    count = 1
    if combine:
        if size == 0 or wanted % size or wanted == 0:
            raise refused(f"arg0 tensorsize: {wanted} filesize: {size} not match")
        count = wanted // size
    runs = math.ceil(len(files[0]) / count)
    info_line(
        f"get filesperbatch files0 size:{size} tensor0size:{wanted} filesperbatch:{count} "
        f"runcount:{runs}"
    )
    return count


def _split(files: Sequence[str], count: int) -> list[list[str]]:
    """Files by run; the last run is filled."""
    parts = [list(files[at : at + count]) for at in range(0, len(files), count)]
    parts[-1] += [PADDING] * (count - len(parts[-1]))
    return parts


def _size(file: str) -> int:
    if file.endswith((".npy", ".NPY")):
        return int(_content(file, 0, "").nbytes)
    with as_runtime_errors(f"filepath:{file} not valid"):
        return file_size(file)


def _content(file: str, size: int, kind: str) -> npt.NDArray[Any]:
    if file == PURE:
        if kind == "random":
            return np.random.default_rng().integers(0, 256, size, np.uint8)
        return np.zeros(size, np.uint8)
    with as_runtime_errors(f"filepath:{file} not valid"):
        if file.endswith((".npy", ".NPY")):
            return read_npy(Path(file))
        return np.frombuffer(file_bytes(file), np.int8)


def file_size(file: str) -> int:
    """The size of a file.

    Raises:
        AtcError: FILE_NOT_FOUND, or FILE_UNREADABLE for what is not a plain file.
    """
    path = Path(file)
    try:
        found = path.stat()
        check_regular(found.st_mode)
    except OSError as error:
        raise read_refusal(path, error) from error
    return found.st_size


def file_bytes(file: str) -> bytes:
    """The bytes of a file.

    Raises:
        AtcError: as `file_size`; MEMORY_LIMIT, FILE_TOO_LARGE for one that grows.
    """
    size = file_size(file)
    require_memory(size, Text("its data"), Place(file))
    return read_bytes(Path(file), size)
