"""Calibrations that are interrupted: what is kept, and what is not there."""

import signal
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import atc_py
from atc_py.diag import AtcError
from atc_py.diag.codes import BAD_HISTOGRAM, SAMPLE_NOT_FINITE
from atc_py.pipeline.running.samples import ArraySamples
from atc_py.quantizing.calibration import calibrate
from atc_py.quantizing.observe import _progress
from atc_py.quantizing.options import CalibrationOptions
from atc_py.text import Text
from tests.quantizing.float_networks import Array, FloatSketch, conv_network, samples_of
from tests.sampling import sampled


def plain(kept: Path | None = None) -> CalibrationOptions:
    return CalibrationOptions(resume=kept, equalize=False, correct_bias=False)


class Interrupted(ArraySamples):
    """Samples of which one is never there."""

    def __init__(self, given: list[dict[str, Array]], at: int) -> None:
        super().__init__(given)
        self._at = at
        self.read: list[int] = []

    def __iter__(self) -> Iterator[tuple[str, dict[str, Array]]]:
        for position, (label, feeds) in enumerate(super().__iter__()):
            if position == self._at:
                raise KeyboardInterrupt
            self.read.append(position)
            yield label, dict(feeds)


def test_interrupted_run_goes_on_where_it_was(tmp_path: Path) -> None:
    model, kept = conv_network(tmp_path / "n.onnx"), tmp_path / "kept.bin"
    samples = samples_of(6, 1, 3, 16, 16)
    settings = plain(kept)
    with pytest.raises(KeyboardInterrupt):
        calibrate(model, Interrupted(samples, 4), settings)
    assert sorted(each.name for each in tmp_path.iterdir()) == ["kept.bin", "n.onnx"]
    seen: list[str] = []
    with calibrate(model, ArraySamples(samples), settings, seen.append) as found:
        histograms = {each.tensor: each.histogram for each in found.layers}
    assert [each.partition(",")[0] for each in seen] == [
        "calibrate: sample 5 of 6",
        "calibrate: sample 6 of 6",
    ]
    with calibrate(model, ArraySamples(samples), plain()) as found:
        assert {each.tensor: each.histogram for each in found.layers} == histograms


def test_sample_that_is_refused_is_not_counted_in_part(tmp_path: Path) -> None:
    model, kept = conv_network(tmp_path / "n.onnx"), tmp_path / "kept.bin"
    samples = samples_of(4, 1, 3, 16, 16)
    bad = [*samples[:2], {"x": np.full((1, 3, 16, 16), np.nan, np.float32)}]
    settings = plain(kept)
    with pytest.raises(AtcError) as refused:
        calibrate(model, ArraySamples(bad), settings)
    assert refused.value.diagnostics[0].code is SAMPLE_NOT_FINITE
    with calibrate(model, ArraySamples(samples), settings) as found:
        counts = {each.tensor: each.histogram for each in found.layers}
    histogram = counts["x"]
    assert histogram is not None
    assert histogram.count == 4 * 3 * 16 * 16


def test_histograms_of_another_model_are_refused(tmp_path: Path) -> None:
    model, kept = conv_network(tmp_path / "n.onnx"), tmp_path / "kept.bin"
    samples = ArraySamples(samples_of(2, 1, 3, 16, 16))
    calibrate(model, samples, plain(kept)).close()
    other = conv_network(tmp_path / "m.onnx", opset=12)
    with pytest.raises(AtcError) as refused:
        calibrate(other, samples, plain(kept))
    assert refused.value.diagnostics[0].code is BAD_HISTOGRAM


@pytest.mark.parametrize("data", [b"", b"no histograms", b"\x80", bytes(1000)])
def test_file_without_histograms_is_refused(tmp_path: Path, data: bytes) -> None:
    model, kept = conv_network(tmp_path / "n.onnx"), tmp_path / "kept.bin"
    kept.write_bytes(data)
    with pytest.raises(AtcError) as refused:
        calibrate(model, ArraySamples(samples_of(1, 1, 3, 16, 16)), plain(kept))
    assert refused.value.diagnostics[0].code is BAD_HISTOGRAM
    assert kept.read_bytes() == data


@pytest.mark.parametrize(
    "stage",
    ["balance", "calibrate", "correct biases", "write the ascend form", "check the qdq form"],
)
def test_interrupt_leaves_nothing(tmp_path: Path, stage: str) -> None:
    model = conv_network(tmp_path / "n.onnx")

    def stop(text: str) -> None:
        if text.startswith(stage):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        atc_py.quantize(
            model,
            tmp_path / "out.onnx",
            data=samples_of(2, 1, 3, 16, 16),
            format="both",
            record=tmp_path / "record.txt",
            external_data=True,
            on_stage=stop,
        )
    assert [each.name for each in tmp_path.iterdir()] == ["n.onnx"]


KILLED = """
import os, signal, sys
import numpy as np
import atc_py
from atc_py.quantizing import checkpoint

checkpoint._PACE = 0.0
stage = sys.argv[4]

def stop(text):
    if text.startswith(stage):
        os.kill(os.getpid(), signal.SIGKILL)

atc_py.quantize(
    sys.argv[1], sys.argv[2], data=["s.npz"], resume=sys.argv[3], record="record.txt", on_stage=stop
)
"""


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no signal kills at once")
@pytest.mark.parametrize(
    "stage", sampled(["calibrate: sample 5 of 6"], ["correct biases", "write the ascend form"])
)
def test_killed_process_resumes_to_the_same_bytes(
    tmp_path: Path, stage: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    model = conv_network(tmp_path / "n.onnx")
    samples = np.concatenate([each["x"] for each in samples_of(6, 1, 3, 16, 16)])
    np.savez("s.npz", x=samples)
    command = [sys.executable, "-c", KILLED, str(model), "out.onnx", "kept.bin", stage]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == -signal.SIGKILL, done.stderr
    assert not (tmp_path / "out.onnx").exists()
    assert not (tmp_path / "record.txt").exists()
    seen: list[str] = []
    choice: dict[str, Any] = {"data": ["s.npz"], "resume": "kept.bin", "record": "record.txt"}
    atc_py.quantize(model, "out.onnx", **choice, on_stage=seen.append)
    left = [each.partition(",")[0] for each in seen if each.startswith("calibrate")]
    assert left == [f"calibrate: sample {at} of 6" for at in (5, 6) if stage.startswith("calib")]
    found = [Path(name).read_bytes() for name in ("out.onnx", "record.txt")]
    Path("kept.bin").unlink()
    atc_py.quantize(model, "out.onnx", **choice)
    assert [Path(name).read_bytes() for name in ("out.onnx", "record.txt")] == found


def test_progress_has_share_and_time_left() -> None:
    assert _progress(Text("calibrate"), 0, 200, 0, 0.0) == "calibrate: sample 1 of 200, 0 %"
    assert _progress(Text("calibrate"), 50, 200, 50, 5.0) == (
        "calibrate: sample 51 of 200, 25 %, 15 s left"
    )
    assert _progress(Text("calibrate"), 50, 200, 10, 60.0) == (
        "calibrate: sample 51 of 200, 25 %, 15 min left"
    )


class Drawn:
    """Samples that are drawn when they are read."""

    def __init__(self, count: int) -> None:
        self.count = count

    def __iter__(self) -> Iterator[tuple[str, dict[str, Array]]]:
        for position in range(self.count):
            generator = np.random.default_rng(position)
            x = generator.standard_normal((1, 3, 64, 64)).astype(np.float32)
            yield f"sample {position}", {"x": x}


def test_memory_does_not_grow_with_the_number_of_samples(tmp_path: Path) -> None:
    net = FloatSketch()
    x = net.add("Conv", [net.input("x", [1, 3, 64, 64]), net.weight("w", 24, 3, 3, 3)], "c")
    x = net.add("Relu", [x], "r")
    net.add("Conv", [x, net.weight("v", 4, 24, 1, 1)], "y")
    model = net.save(tmp_path / "n.onnx", "y")
    peaks = []
    for count in (140, 140, 420):  # from 128 on as many samples choose factors and biases
        tracemalloc.start()
        try:
            calibrate(model, Drawn(count), CalibrationOptions()).close()
            peaks.append(tracemalloc.get_traced_memory()[1])
        finally:
            tracemalloc.stop()
    assert peaks[2] < peaks[1] + (256 << 10)  # a sample with what is watched has 400 KiB
