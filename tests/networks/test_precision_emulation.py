"""Elementwise networks in every mode, bit for bit against ONNX's evaluator with its own rounding.

The oracle runs node by node in float32 and rounds each node's inputs and outputs to the dtype that
the case states. float32 has more than twice the significand of either 16-bit float and two bits
more, so for these operators rounding twice is rounding once.
"""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import ml_dtypes
import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import TensorProto, helper
from onnx.reference import ReferenceEvaluator

import atc_py

Array = npt.NDArray[Any]

GRIDS = {"f16": np.dtype(np.float16), "bf16": np.dtype(ml_dtypes.bfloat16)}
SHAPE = [64, 33]

NODES = {
    "sum": ("Add", ["x", "y"], "a"),
    "product": ("Mul", ["a", "x"], "b"),
    "size": ("Abs", ["b"], "c"),
    "root": ("Sqrt", ["c"], "d"),
    "ratio": ("Div", ["a", "d"], "e"),
    "rest": ("Sub", ["e", "b"], "f"),
    "positive": ("Relu", ["f"], "g"),
    "turned": ("Neg", ["g"], "h"),
    "most": ("Max", ["h", "y"], "z"),
}
"""Operator, inputs and output by name; all of them are correctly rounded."""

KEEP = "sum\nOpType::Sub\n"
WHITE = json.dumps({"white-list": {"to-add": ["Mul"]}, "black-list": {"to-add": ["RealDiv"]}})
CUSTOM = (
    "product::InputDtype:bfloat16,bfloat16,OutputDtype:bfloat16\nOpType::Sqrt:InputDtype:float16"
)

F32 = dict.fromkeys(NODES, "f32")
F16 = dict.fromkeys(NODES, "f16")
_LISTS = F32 | {"product": "16", "size": "16", "root": "16"}
"""Mul is white; Abs and Sqrt follow it; Div is black, and what comes after follows Div."""

CASES: dict[str, tuple[dict[str, str], dict[str, str]]] = {
    "force_fp16": ({}, F16),
    "force_fp32": ({}, F32),
    "cube_fp16in_fp32out": ({}, F32),
    "must_keep_origin_dtype": ({}, F32),
    "allow_fp32_to_fp16": ({}, F32),
    "allow_fp32_to_bf16": ({}, F32),
    "allow_mix_precision": ({}, F32),
    "force_fp16 keep": ({"keep_dtype": KEEP}, F16 | {"sum": "f32", "rest": "f32"}),
    "force_fp32 custom": ({"customize_dtypes": CUSTOM}, F32 | {"product": "bf16", "root": "f16"}),
    **{
        f"{mode} lists": (
            {"modify_mixlist": WHITE},
            {name: narrow if dtype == "16" else dtype for name, dtype in _LISTS.items()},
        )
        for mode, narrow in (
            ("allow_mix_precision", "f16"),
            ("allow_mix_precision_fp16", "f16"),
            ("allow_mix_precision_bf16", "bf16"),
        )
    },
}
"""Control files, and the dtype in which each node computes, by mode and what else is set."""


def network() -> onnx.ModelProto:
    """Return the nodes as a model."""
    nodes = [
        helper.make_node(op, inputs, [output], name=name)
        for name, (op, inputs, output) in NODES.items()
    ]
    inputs = [helper.make_tensor_value_info(x, TensorProto.FLOAT, SHAPE) for x in "xy"]
    outputs = [helper.make_tensor_value_info(x, TensorProto.FLOAT, SHAPE) for x in "cegz"]
    graph = helper.make_graph(nodes, "elementwise", inputs, outputs)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


def rounded(array: Array, dtype: str) -> Array:
    """Return float32 values on the grid of `dtype`."""
    with np.errstate(over="ignore"):
        return array.astype(GRIDS[dtype]).astype(np.float32) if dtype in GRIDS else array


def emulated(feeds: Mapping[str, Array], dtypes: Mapping[str, str]) -> dict[str, Array]:
    """Return every value of the network, each node computed in its dtype."""
    values = dict(feeds)
    for name, (op, inputs, output) in NODES.items():
        model = one_node(op, len(inputs))
        given = {f"x{n}": rounded(values[x], dtypes[name]) for n, x in enumerate(inputs)}
        with np.errstate(all="ignore"):
            (found,) = ReferenceEvaluator(model).run(None, given)
        values[output] = rounded(np.asarray(found, np.float32), dtypes[name])
    return values


def one_node(op: str, count: int) -> onnx.ModelProto:
    """Return a model of one elementwise operator."""
    names = [f"x{n}" for n in range(count)]
    inputs = [helper.make_tensor_value_info(x, TensorProto.FLOAT, SHAPE) for x in names]
    output = helper.make_tensor_value_info("y", TensorProto.FLOAT, SHAPE)
    graph = helper.make_graph([helper.make_node(op, names, ["y"])], "one", inputs, [output])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)


@pytest.mark.parametrize("case", CASES)
def test_elementwise_network_equals_its_emulation_bit_for_bit(case: str, tmp_path: Path) -> None:
    files, dtypes = CASES[case]
    for name, text in files.items():
        (tmp_path / name).write_text(text, encoding="utf-8")
    paths = {name: tmp_path / name for name in files}
    onnx.save(network(), tmp_path / "net.onnx")
    atc_py.convert(
        tmp_path / "net.onnx",
        tmp_path / "net.om",
        soc="Ascend910B3",
        precision_mode=case.split(maxsplit=1)[0],
        verify=True,
        keep_dtype=paths.get("keep_dtype"),
        customize_dtypes=paths.get("customize_dtypes"),
        modify_mixlist=paths.get("modify_mixlist"),
    )
    rng = np.random.default_rng(5)
    spread = np.exp2(rng.uniform(-9, 7, SHAPE))
    feeds = {x: (rng.standard_normal(SHAPE) * spread).astype(np.float32) for x in "xy"}
    expected = emulated(feeds, dtypes)
    with atc_py.load(tmp_path / "net.om") as model:
        found = model.run(feeds)
    for name, array in found.items():
        np.testing.assert_array_equal(array.view(np.uint32), expected[name].view(np.uint32), name)


def test_the_emulations_of_the_dtypes_differ() -> None:
    rng = np.random.default_rng(5)
    feeds = {x: rng.standard_normal(SHAPE).astype(np.float32) for x in "xy"}
    results = [
        emulated(feeds, dict.fromkeys(NODES, dtype))["z"].tobytes() for dtype in ("f32", *GRIDS)
    ]
    assert len(set(results)) == len(results)
