"""The summary of all runs: lines of the log, and a JSON file."""

import json
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from atc_py.adapters.ais_bench.log_lines import as_runtime_errors, info_line
from atc_py.system.atomic_files import atomic_write

_SCALE = 99


class BenchSummary:
    """Times and files of one command.

    Attributes:
        compute: estimated milliseconds of each run on the NPU.
        to_device: milliseconds of copies to the device on this machine.
        to_host: milliseconds of copies back.
        batches: batch of each run whose shape was taken from its files.
    """

    def __init__(self) -> None:
        self.compute: list[float] = []
        self.to_device: list[float] = []
        self.to_host: list[float] = []
        self.batches: list[int] = []
        self._files: dict[int, dict[str, list[str]]] = {}

    def add_files(self, sample: int, inputs: Sequence[str], output: str) -> None:
        """Note that files of one sample gave a file."""
        row = self._files.setdefault(sample, {"infiles": list(inputs), "outfiles": []})
        row["outfiles"].append(output)

    def throughput(self, batch: float) -> float:
        """Samples a second."""
        mean = _figures(self.compute)["mean"]
        return 1000 * self.batch(batch) / mean if mean else 0.0

    def batch(self, batch: float) -> float:
        """The mean batch of the runs."""
        return sum(self.batches) / len(self.batches) if self.batches else batch

    def print_lines(self, batch: float, *, everything: bool) -> None:
        """Print the lines of the log."""
        info_line("-----------------Performance Summary------------------")
        if everything:
            info_line(_line("H2D_latency", self.to_device))
        info_line(_line("NPU_compute_time", self.compute))
        if everything:
            info_line(_line("D2H_latency", self.to_host))
        mean = _figures(self.compute)["mean"]
        info_line(
            f"throughput 1000*batchsize.mean({self.batch(batch)})/NPU_compute_time.mean({mean}): "
            f"{self.throughput(batch)}"
        )
        info_line("------------------------------------------------------")

    def write(self, path: Path, batch: float, arguments: Sequence[str]) -> None:
        """Write the JSON file."""
        found: dict[str, Any] = {"filesinfo": self._files, "args": list(arguments)}
        rows = {
            "NPU_compute_time": self.compute,
            "H2D_latency": self.to_device,
            "D2H_latency": self.to_host,
        }
        for name, times in rows.items():
            found[name] = {**_figures(times), "count": len(times)}
        found["throughput"] = self.throughput(batch)
        found["npu_compute_time_list"] = self.compute
        found["pid"] = os.getpid()
        with as_runtime_errors(), atomic_write(path, durable=False) as file:
            file.write(json.dumps(found).encode())


def _figures(times: Sequence[float]) -> dict[str, float]:
    """Least, most and middle of times; zeros where there are none."""
    names = ("min", "max", "mean", "median", f"percentile({_SCALE}%)")
    if not times:
        return dict.fromkeys(names, 0.0)
    values = (
        np.min(times), np.max(times), np.mean(times), np.median(times), np.percentile(times, _SCALE)
    )  # fmt: skip
    return dict(zip(names, map(float, values), strict=True))


def _line(name: str, times: Sequence[float]) -> str:
    listed = ", ".join(f"{key} = {value}" for key, value in _figures(times).items())
    return f"{name} (ms): {listed}"
