"""DeformableConv2D through the whole compiler, against ONNX's reference of DeformConv."""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

from atc_py.api import check_models, convert
from atc_py.diag import AtcError
from tests.lowering.custom_nodes import FORCE, KEEP, RELATIVE, near, normal, run
from tests.onnx_graph import onnx_files

Array = npt.NDArray[Any]

NCHW = {"data_format": "NCHW"}
FORMS: list[dict[str, Any]] = [
    {},
    {"groups": 2},
    {"deformable_groups": 2, "bias": True},
    {"strides": (2, 1), "dilations": (1, 2), "pads": (1, 0, 2, 1), "bias": True},
    {"groups": 2, "deformable_groups": 4, "window": (1, 2), "pads": (0, 1, 1, 0)},
    {"order": "NHWC", "strides": (1, 2), "window": (2, 2)},
    {"images": 2, "window": (1, 1), "valid": True},
]


def feeds_of(form: dict[str, Any]) -> tuple[dict[str, Array | None], tuple[int, int]]:
    """Return tensors that fit a form, and how many windows are below and beside each other."""
    images, groups = form.get("images", 1), form.get("groups", 1)
    window, pads = form.get("window", (3, 3)), form.get("pads", (0, 0, 0, 0))
    strides, dilations = form.get("strides", (1, 1)), form.get("dilations", (1, 1))
    image = (4, 5)
    windows = tuple(
        (image[s] + sum(pads[2 * s : 2 * s + 2]) - (window[s] - 1) * dilations[s] - 1) // strides[s]
        + 1
        for s in (0, 1)
    )
    points = 3 * form.get("deformable_groups", 1) * window[0] * window[1]
    tensors: dict[str, Array | None] = {
        "X": normal(images, 4, *image),
        "filter": normal(6, 4 // groups, *window, seed=1),
        "offsets": normal(images, points, *windows, seed=2),
        "B": normal(6, seed=3) if form.get("bias") else None,
    }
    return tensors, (windows[0], windows[1])


def attributes_of(form: dict[str, Any]) -> dict[str, Any]:
    """Return the attributes of a form."""
    order = form.get("order", "NCHW")
    steps = {
        name: (1, *form.get(name, (1, 1)), 1)
        if order == "NHWC"
        else (1, 1, *form.get(name, (1, 1)))
        for name in ("strides", "dilations")
    }
    named = {name: form[name] for name in form if name in {"groups", "deformable_groups"}}
    listed = {} if order == "NHWC" else {"data_format": order}
    valid = {"auto_pad": "VALID"} if form.get("valid") else {}
    return {**steps, "pads": form.get("pads", (0,) * 4), **named, **listed, **valid}


def reference(form: dict[str, Any], tensors: dict[str, Array | None]) -> Array:
    """Return what DeformConv of ONNX makes of offsets and weights in its order."""
    groups = form.get("deformable_groups", 1)
    offsets = tensors["offsets"]
    assert offsets is not None
    x, y, mask = np.split(offsets, 3, axis=1)
    pairs = np.stack([y, x], axis=2).reshape(len(offsets), -1, *offsets.shape[2:])
    top, bottom, left, right = form.get("pads", (0,) * 4)
    node = helper.make_node(
        "DeformConv",
        ["X", "W", "offset", "B" if form.get("bias") else "", "mask"],
        ["Y"],
        group=form.get("groups", 1),
        offset_group=groups,
        strides=form.get("strides", (1, 1)),
        dilations=form.get("dilations", (1, 1)),
        pads=(top, left, bottom, right),
    )
    feeds = {"X": tensors["X"], "W": tensors["filter"], "offset": pairs, "mask": mask}
    feeds |= {"B": tensors["B"]} if form.get("bias") else {}
    inputs = [helper.make_tensor_value_info(name, TensorProto.FLOAT, None) for name in feeds]
    outputs = [helper.make_tensor_value_info("Y", TensorProto.FLOAT, None)]
    graph = helper.make_graph([node], "deform", inputs, outputs)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 19)], ir_version=9)
    (found,) = ReferenceEvaluator(model).run(None, feeds)
    result: Array = np.asarray(found, np.float32)
    return result


@pytest.mark.parametrize("place", range(len(FORMS)))
def test_form_of_deformable_conv(place: int) -> None:
    form = FORMS[place]
    tensors, _ = feeds_of(form)
    rounded = {n: a if a is None else a.astype(np.float16) for n, a in tensors.items()}
    wide = {n: a if a is None else a.astype(np.float32) for n, a in rounded.items()}
    expected = reference(form, wide)
    for mode, dtype in ((KEEP, np.float32), (FORCE, np.float32), (KEEP, np.float16)):
        inputs = {n: a if a is None else a.astype(dtype) for n, a in rounded.items()}
        y = expected.astype(dtype)
        (found,) = run("DeformableConv2D", inputs, [y], attributes_of(form), mode=mode)
        near(found, y, RELATIVE[FORCE if dtype is np.float16 else mode])


def test_points_that_are_nowhere_give_zero() -> None:
    form: dict[str, Any] = {"window": (1, 1)}
    tensors, windows = feeds_of(form)
    offsets = tensors["offsets"]
    assert offsets is not None
    offsets[:, :2] = 0
    offsets[:, 2] = 1
    for place, value in enumerate((np.nan, np.inf, -np.inf, 1e30)):
        offsets[0, place % 2, 0, place] = value
    (found,) = run(
        "DeformableConv2D", tensors, [np.empty((1, 6, *windows), np.float32)], attributes_of(form)
    )
    x, filter_ = tensors["X"], tensors["filter"]
    assert x is not None
    assert filter_ is not None
    expected = np.einsum("oc,nchw->nohw", filter_[:, :, 0, 0], x)
    expected[0, :, 0, :4] = 0
    near(found, expected.astype(np.float32), RELATIVE[KEEP])


def test_deformable_conv_becomes_what_the_pass_of_cann_makes_of_it(tmp_path: Path) -> None:
    tensors, _ = feeds_of({})
    model = save(tensors, attributes_of({}), tmp_path)
    done = convert(model, tmp_path / "m.om", precision_mode=KEEP, operator_list="cann-9.0")
    assert {"DeformableOffsets": 1, "Conv2D": 1}.items() <= done.facts.target_operators.items()


def save(tensors: dict[str, Array | None], attributes: dict[str, Any], folder: Path) -> Path:
    """Write a model of one node whose results the file does not state."""
    there = {name: array for name, array in tensors.items() if array is not None}
    names = [name if array is not None else "" for name, array in tensors.items()]
    node = helper.make_node("DeformableConv2D", names, ["y"], "node", **attributes)
    inputs = {name: (TensorProto.FLOAT, list(array.shape)) for name, array in there.items()}
    return onnx_files.save(onnx_files.model([node], inputs, ["y"], None, {"": 13}), folder)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"pads": (1, 0, 0, 0)}, "needs offsets of 1x27x3x3, found float32 1x27x2x3"),
        ({"strides": (2, 1, 1, 1)}, "must have 1 at positions 0, 1"),
        ({"deformable_groups": 3}, "cannot divide 4 channels by 3"),
        ({"groups": 2}, "needs filters of X's channels"),
        ({"modulated": 0}, "modulated of DeformableConv2D must be true"),
        ({"auto_pad": "VALID", "pads": (1, 1, 1, 1)}, "takes no pads with auto_pad VALID"),
        ({"strides": (1, 1)}, "must have 4 elements"),
    ],
)
def test_other_forms_are_refused(changes: dict[str, Any], words: str, tmp_path: Path) -> None:
    tensors, _ = feeds_of({})
    model = save(tensors, {**attributes_of({}), **changes}, tmp_path)
    with pytest.raises(AtcError):
        convert(model, tmp_path / "m.om", operator_list="cann-9.0")
    (checked,) = check_models(model, operator_list="cann-9.0").models
    said = [finding.message.en for finding in checked.findings]
    assert any(words in text for text in (*said, *(fault.message for fault in checked.faults)))


def test_wide_image_with_a_wide_filter_is_refused(tmp_path: Path) -> None:
    tensors: dict[str, Array | None] = {
        "X": np.zeros((1, 1, 1, 1366), np.float32),
        "filter": np.zeros((1, 1, 1, 3), np.float32),
        "offsets": np.zeros((1, 9, 1, 1364), np.float32),
    }
    model = save(tensors, attributes_of({}), tmp_path)
    with pytest.raises(AtcError, match=r"dimensions W whose product is in \[1, 4096\]"):
        convert(model, tmp_path / "m.om", operator_list="cann-9.0")
