"""Counters of runs in memory that a file backs: they are current however their process ends.

A worker of a pool is usually terminated, not ended, and writing a file after each run would cost more
than many a run.
"""

import mmap
import os
import struct
from pathlib import Path

from atc_py.adapters.exec.records import ModelRecord

_ROW = struct.Struct("<6d")
"""Runs and seconds on the NPU, in onnxruntime instead, and in onnxruntime beside the NPU."""

_BYTES = 4096
_ROWS = _BYTES // _ROW.size
"""Models that have counters; the record itself has those of others."""


class RunCounters:
    """The counters of a process, a row for each model."""

    def __init__(self, file: Path) -> None:
        """Make the file, on a disk that has room for it.

        Raises:
            OSError: there is none, or the run is over.
        """
        handle = os.open(file, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            # A page without a block of the disk would end the process when it is written to.
            os.posix_fallocate(handle, 0, _BYTES)
            self._memory = mmap.mmap(handle, _BYTES)
        finally:
            os.close(handle)

    def put(self, row: int, record: ModelRecord) -> bool:
        """Keep the counts of a model; False where there is no row for it."""
        if row >= _ROWS:
            return False
        uses = (record.npu, record.onnxruntime, record.shadow)
        values = [number for use in uses for number in (use.runs, use.seconds)]
        _ROW.pack_into(self._memory, row * _ROW.size, *values)
        return True


def read_counters(file: Path, models: list[ModelRecord]) -> None:
    """Put the counts of a process into its record, where they are newer."""
    data = file.read_bytes()
    for record, row in zip(models, _ROW.iter_unpack(data[: _ROWS * _ROW.size]), strict=False):
        for at, use in enumerate((record.npu, record.onnxruntime, record.shadow)):
            if row[2 * at] >= use.runs:
                use.runs, use.seconds = int(row[2 * at]), row[2 * at + 1]
