"""Calibrations that are interrupted: what is kept, and what is not there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import atc_py
from atc_py.diag import AtcError
from atc_py.diag.codes import BAD_HISTOGRAM, SAMPLE_NOT_FINITE
from atc_py.quantizing.calibrate import calibrate
from atc_py.quantizing.settings import QuantizeSettings
from atc_py.running.samples import ArraySamples
from tests.quantizing.float_networks import conv_network, samples_of

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.quantizing.float_networks import Array


def plain(kept: Path | None = None) -> QuantizeSettings:
    return QuantizeSettings(resume=kept, equalize=False, correct_bias=False)


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
    "stage", ["balance", "calibrate", "correct biases", "write ascend", "check qdq"]
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
