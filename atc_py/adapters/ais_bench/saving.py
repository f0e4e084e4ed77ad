"""Results of runs in files, one for each input file and output."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from atc_py.adapters.ais_bench.batches import PADDING, Batch
from atc_py.adapters.ais_bench.log_lines import as_runtime_errors, note_line, refused
from atc_py.adapters.ais_bench.summary import BenchSummary
from atc_py.package.read_ahead import array_chunks, npy_header
from atc_py.system.atomic_files import atomic_write
from atc_py.tensor.dtypes import DType


class ResultFiles:
    """The files of all runs.

    Attributes:
        folder: where they are.
    """

    def __init__(self, folder: Path, form: str, axis: int, summary: BenchSummary) -> None:
        self.folder = folder
        self._form = form
        self._axis = axis
        self._summary = summary
        self._written: set[Path] = set()

    def save(self, outputs: Sequence[Any], batch: Batch, run: int) -> None:
        """Write the outputs of one run, split among its files."""
        count = len(batch[0])
        samples = list(zip(*batch, strict=True))
        for at, output in enumerate(outputs):
            parts = self._split(at, np.array(output), count)
            for position, (part, files) in enumerate(zip(parts, samples, strict=True)):
                if files[0] == PADDING:
                    continue
                stem = Path(files[0]).name.split(".")[0]
                path = self.folder / f"{stem}_{at}.{self._form.lower()}"
                sample = run * count + position
                self._summary.add_files(sample, files, str(path))
                self._write(path, part)

    def _split(self, at: int, data: npt.NDArray[Any], count: int) -> Sequence[npt.NDArray[Any]]:
        if self._axis >= data.ndim:
            raise refused(
                f"error i:{at} ndata.shape:{data.shape} len:{data.ndim} <= "
                f"output_batchsize_axis:{self._axis}  is invalid"
            )
        if data.shape[self._axis] % count:
            raise refused(
                f"save out files error array shape:{data.shape} files_count_perbatch:{count} "
                f"ndata.shape{self._axis}:{data.shape[self._axis]}"
            )
        return np.array_split(data, count, self._axis)

    def _write(self, path: Path, data: npt.NDArray[Any]) -> None:
        if path in self._written:
            note_line(f"{path} is written twice: two files have that name up to the first dot")
        self._written.add(path)
        data = np.ascontiguousarray(data)
        with as_runtime_errors(), atomic_write(path, durable=False) as file:
            if self._form == "TXT":
                file.writelines(_text_rows(data))
                return
            if self._form == "NPY":
                file.write(npy_header(DType.from_numpy(data.dtype), data.shape))
            file.writelines(array_chunks(data))


def _text_rows(data: npt.NDArray[Any]) -> list[bytes]:
    """A line for each row of the last axis; each number is followed by a blank."""
    rows = data.reshape(-1, data.shape[-1]) if data.size else data.reshape(0, 0)
    is_float = DType.from_numpy(data.dtype).is_float
    pattern = "%f " if is_float else "%d "
    values = rows.astype(np.float64) if is_float else rows
    return ["".join([pattern % each for each in row]).encode() + b"\n" for row in values.tolist()]
