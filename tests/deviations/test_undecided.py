"""Deviations that a node's open dims leave undecided, and those that they do not."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest

import atc_py
from atc_py.package.reader import open_model
from tests.deviations.case import DeviatingNode
from tests.deviations.cases.pools import IMAGE as POOLED
from tests.deviations.cases.pools import LARGE, OVERHANG, PADS, SAME
from tests.deviations.cases.resizing import ROI, resize
from tests.deviations.cases.sampling import GRID
from tests.deviations.cases.sampling import IMAGE as SAMPLED

HEIGHT, WIDTH = 2, 3


def stated(node: DeviatingNode, opened: Sequence[int], folder: Path, generation: int) -> list[str]:
    """Return the rows that are reported of a node some of whose dims are open, `?` for undecided."""
    model = node.model()
    dims = model.graph.input[0].type.tensor_type.shape.dim
    for axis in opened:
        dims[axis].dim_param = f"d{axis}"
    del model.graph.output[0].type.tensor_type.shape.dim[:]
    model.graph.output[0].type.tensor_type.ClearField("shape")
    path = folder / "model.onnx"
    onnx.save(model, path)
    (found,) = atc_py.check_models(
        path, precision_mode="allow_fp32_to_fp16", cann=generation, operator_list="base"
    ).models
    rows = [each for each in found.findings if "/cann/" in each.rule]
    return [
        each.rule.rpartition("/")[2] + ("?" if "not decided" in each.allowed.en else "")
        for each in rows
    ]


def pool(operator: str, x: Any, attributes: Any) -> DeviatingNode:
    return DeviatingNode(operator, 11, (x,), attributes)


@pytest.mark.parametrize(
    ("node", "opened", "generation", "rows"),
    [
        (resize("asymmetric", (1, 1, 3, 3)), (HEIGHT,), 5, ["nearest-mode-ignored"]),
        (resize("asymmetric", (1, 1, 3, 1)), (HEIGHT,), 5, ["nearest-mode-ignored?"]),
        (resize("asymmetric", (1, 1, 1, 3)), (HEIGHT,), 5, ["nearest-mode-ignored"]),
        (resize("asymmetric", nearest_mode="floor"), (0, 1), 5, []),
        (resize("asymmetric", (1, 1, 2, 4), nearest_mode="floor"), (HEIGHT, WIDTH), 9, []),
        (
            resize("asymmetric", (1, 1, 4, 4)),
            (HEIGHT, WIDTH),
            9,
            ["nearest-mode-ignored-half-pixel?"],
        ),
        (
            resize("asymmetric", (1, 1, 3, 3), nearest_mode="floor"),
            (HEIGHT,),
            9,
            ["nearest-mode-ignored-half-pixel?"],
        ),
        (resize("asymmetric", (1, 2, 1, 1)), (1,), 5, ["batch-and-channels-kept?"]),
        (resize("half_pixel", mode="linear"), (HEIGHT, WIDTH), 9, ["linear-as-asymmetric?"]),
        (resize("tf_crop_and_resize", roi=ROI, mode="linear"), (), 9, ["linear-as-asymmetric"]),
        (pool("AveragePool", POOLED, OVERHANG), (WIDTH,), 9, ["any-window-in-padding-kept"]),
        (
            pool("AveragePool", POOLED, OVERHANG),
            (HEIGHT, WIDTH),
            9,
            ["any-window-in-padding-kept?"],
        ),
        (pool("MaxPool", POOLED, OVERHANG), (HEIGHT, WIDTH), 9, []),
        (pool("MaxPool", LARGE, SAME), (HEIGHT, WIDTH), 9, ["large-window-valid?"]),
        (pool("MaxPool", LARGE, PADS), (HEIGHT, WIDTH), 9, ["large-window-pads-65504"]),
    ],
)
def test_open_dims_are_undecided_unless_another_axis_decides(
    node: DeviatingNode, opened: Sequence[int], generation: int, rows: list[str], tmp_path: Path
) -> None:
    assert stated(node, opened, tmp_path, generation) == rows


MODES = {"mode": "nearest", "padding_mode": "zeros"}


def test_a_form_that_still_meets_its_deviation_is_written_once(tmp_path: Path) -> None:
    node = DeviatingNode("GridSample", 16, (SAMPLED, GRID), MODES)
    path = tmp_path / "model.onnx"
    onnx.save(node.model(), path)
    options: dict[str, Any] = {"operator_list": "cann-9.0", "semantics": "cann", "cann": 9}
    om = atc_py.convert(path, tmp_path / "model.om", **options).output
    with open_model(om) as package:
        kinds = [each.op for each in package.description.nodes]
    assert (kinds.count("GridSampler2D"), kinds.count("Floor")) == (1, 1)


def test_places_of_a_very_long_axis_are_not_worked_out(tmp_path: Path) -> None:
    scales = np.array([1, 1, 2**20, 1], np.float32)
    node = DeviatingNode(
        "Resize",
        11,
        (np.zeros((1, 1, 2, 2), np.float32),),
        {"mode": "nearest"},
        {"roi": np.empty(0, np.float32), "scales": scales},
    )
    path = tmp_path / "model.onnx"
    onnx.save(node.model(), path)
    (model,) = atc_py.check_models(path).models
    (found,) = [each for each in model.findings if "/cann/nearest" in each.rule]
    assert "not decided: axis 2 grows to" in found.allowed.en
