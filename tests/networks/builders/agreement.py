"""A model through atc-py and through onnxruntime, on several inputs, held to the stated bound."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

import atc_py
from atc_py.results.comparison import compare, explained_share
from tests.end_to_end import run_with_onnxruntime

Array = npt.NDArray[Any]


FLOAT16_MODES = ("force_fp16", "allow_fp32_to_fp16")


def expect_agreement(
    model: onnx.ModelProto,
    runs: Iterable[Mapping[str, Array]],
    mode: str,
    folder: Path,
    operator_list: str | None = None,
) -> None:
    """Convert once, then compare every run's outputs; integers must be equal.

    Floats are held to `explained_share`, the bound of `run --expect`: it follows from the number
    of kernels in a row that round, and from the expected data.
    """
    onnx.save(model, folder / "model.onnx")
    atc_py.convert(
        folder / "model.onnx",
        folder / "model.om",
        precision_mode=mode,
        operator_list=operator_list,
        verify=True,
    )
    with atc_py.load(folder / "model.om") as loaded:
        for number, feeds in enumerate(runs):
            found = loaded.run(feeds)
            for name, expected in run_with_onnxruntime(model, feeds).items():
                place = f"run {number}, {name}"
                given = found[name]
                assert (given.dtype, given.shape) == (expected.dtype, expected.shape), place
                if np.issubdtype(expected.dtype, np.floating):
                    share = explained_share(loaded.description, name, expected)
                    result = compare(place, given, expected, share)
                    assert result.passed, result
                else:
                    np.testing.assert_array_equal(given, expected, err_msg=place)


def value_in_onnxruntime(model: onnx.ModelProto, name: str, feeds: Mapping[str, Array]) -> Array:
    """Return one inner value in onnxruntime's float32, for margins."""
    wider = onnx.ModelProto()
    wider.CopyFrom(model)
    wider.graph.output.append(onnx.ValueInfoProto(name=name))
    return run_with_onnxruntime(wider, feeds)[name]
