"""Nodes that are judged once are alike in all that rules look at; others have verdicts of their own.

Two nodes side by side that differ in one property must have together the findings that each has by
itself, in either order.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pytest
from onnx import TensorProto, helper

from atc_py.check.bound_node import Conditions
from atc_py.check.conditions import ask
from atc_py.check.evaluate import check_view
from atc_py.check.findings import Finding
from atc_py.onnx_graph.reading.history import history
from atc_py.onnx_graph.reading.onnx_file import surveyed
from atc_py.onnx_graph.reading.read import read_model
from atc_py.options.compile_options import PrecisionMode
from atc_py.spec import library
from atc_py.target import find_soc
from tests.onnx_graph import onnx_files


class Case(NamedTuple):
    """A node of a model of its own.

    Attributes:
        op: its operator.
        dims: of its first input.
        constants: its other inputs.
        attributes: by name.
        element: type of its first input.
        opset: of the model.
        domain: of the operator.
    """

    op: str
    dims: Sequence[int | str | None]
    constants: Sequence[npt.NDArray[Any]] = ()
    attributes: Mapping[str, Any] = {}
    element: int = TensorProto.FLOAT
    opset: int = 13
    domain: str = ""


def ints(*values: int) -> npt.NDArray[np.int64]:
    """Return a vector."""
    return np.array(values, np.int64)


def floats(*values: float) -> npt.NDArray[np.float32]:
    """Return a vector."""
    return np.array(values, np.float32)


def conv(
    strides: Sequence[int] | None = (1, 1), width: int | str = 8, dtype: Any = np.float32
) -> Case:
    """Return a convolution."""
    attributes = {} if strides is None else {"strides": strides}
    element = helper.np_dtype_to_tensor_dtype(np.dtype(dtype))
    return Case("Conv", [1, 2, 8, width], [np.ones((2, 2, 1, 1), dtype)], attributes, element)


LONG = np.arange(40, dtype=np.int64)
IMAGE = [1, 2, 8, 8]

PAIRS: dict[str, tuple[Case, Case]] = {
    "attribute": (
        Case("LRN", [1, 4, 4, 4], attributes={"size": 3}),
        Case("LRN", [1, 4, 4, 4], attributes={"size": 2}),
    ),
    "list of an attribute": (conv(), conv(strides=[64, 64])),
    "attribute that is not set": (conv(), conv(strides=None)),
    "dtype": (conv(), conv(dtype=np.float64)),
    "dim": (conv(), conv(width=5000)),
    "rank": (
        Case("GlobalAveragePool", [1, 2, 4, 4]),
        Case("GlobalAveragePool", [1, 2, 4]),
    ),
    "open dim": (
        Case("Conv", IMAGE, [np.ones((2, 2, 1, 1), np.float32)], {"strides": [1, 1]}),
        Case("Conv", [1, 2, "h", "w"], [np.ones((2, 2, 1, 1), np.float32)], {"strides": [1, 1]}),
    ),
    "value of a constant": (
        Case("Gather", [99], [ints(3)]),
        Case("Gather", [99], [ints(-1)]),
    ),
    "value in a long constant": (Case("Gather", [99], [LONG]), Case("Gather", [99], [LONG - 20])),
    "float of a constant": (
        Case("Resize", IMAGE, [floats(), floats(1, 1, 2, 2)], {"mode": "nearest"}),
        Case("Resize", IMAGE, [floats(), floats(1, 1, 0.5, 0.5)], {"mode": "nearest"}),
    ),
    "dtype of a constant": (
        Case("Pow", [2, 3], [floats(2)]),
        Case("Pow", [2, 3], [np.array([2], np.uint64)]),
    ),
    "scale of a quantization": (
        Case("QuantizeLinear", [2, 4], [np.float32(0.5), np.int8(0)]),
        Case("QuantizeLinear", [2, 4], [np.float32(-0.5), np.int8(0)]),
    ),
    "factor of AscendQuant": (
        Case("AscendQuant", IMAGE, attributes={"scale": 0.5, "offset": 1.0}),
        Case("AscendQuant", IMAGE, attributes={"scale": 0.0, "offset": 1.0}),
    ),
    "an input more": (Case("Clip", [2], [np.float32(0)]), Case("Clip", [2])),
    "domain": (Case("Gelu", [2, 3], domain="com.microsoft"), Case("Gelu", [2, 3], domain="other")),
    "operator": (Case("Relu", [2, 2]), Case("IsNaN", [2, 2])),
    "nothing": (Case("Shrink", [2, 3]), Case("Shrink", [2, 3])),
}


def findings(cases: Sequence[Case], folder: Path) -> list[Finding]:
    """Return the findings on nodes side by side in one model; its places are those of the model."""
    nodes, inputs = [], {}
    weights: dict[str, npt.NDArray[Any]] = {}
    for at, case in enumerate(cases):
        names = [f"c{at}_{each}" for each in range(len(case.constants))]
        weights.update(zip(names, case.constants, strict=True))
        inputs[f"x{at}"] = case.element, case.dims
        nodes.append(
            helper.make_node(
                case.op, [f"x{at}", *names], [f"y{at}"], f"n{at}", case.op, case.domain
            )
        )
        nodes[-1].attribute.extend(
            helper.make_attribute(name, value) for name, value in case.attributes.items()
        )
    domains = {case.domain: 1 for case in cases if case.domain}
    proto = onnx_files.model(
        nodes,
        inputs,
        [f"y{at}" for at in range(len(cases))],
        weights,
        {"": cases[0].opset, **domains},
    )
    model = surveyed(read_model(onnx_files.save(proto, folder), lenient=True), {}).source
    conditions = Conditions(PrecisionMode.FORCE_FP16, find_soc("sim"))
    return list(check_view(model, conditions, library(), history()).check.findings)


def facts(found: Sequence[Finding], first: int, name: str) -> list[tuple[Any, ...]]:
    """Return what findings say, their nodes counted from `first` and inputs called as the first's."""
    return [
        (
            (each.place.node or 0) - first,
            each.code.id,
            each.standing,
            each.rule,
            each.place.field,
            each.observed.en.replace(name, "x0"),
            each.allowed,
            each.help.en.replace(name, "x0"),
            each.when,
        )
        for each in found
    ]


@pytest.mark.parametrize("name", PAIRS)
@pytest.mark.parametrize("opset", [11, 13, 17])
def test_nodes_side_by_side_have_the_findings_of_each(
    name: str, opset: int, tmp_path: Path
) -> None:
    pair = [case._replace(opset=opset) for case in PAIRS[name]]
    alone = [findings([case], tmp_path) for case in pair]
    for order in ((0, 1), (1, 0), (0, 1, 0, 1)):
        together = findings([pair[at] for at in order], tmp_path)
        own = [[each for each in together if each.place.node == at] for at in range(len(order))]
        for at, which in enumerate(order):
            assert facts(own[at], at, f"x{at}") == facts(alone[which], 0, "x0")


def test_most_pairs_differ_in_their_verdicts(tmp_path: Path) -> None:
    differ = {
        name: facts(findings([first], tmp_path), 0, "x0")
        != facts(findings([second], tmp_path), 0, "x0")
        for name, (first, second) in PAIRS.items()
    }
    alike = {name for name, each in differ.items() if not each}
    assert alike == {"nothing"}


def test_nodes_whose_weights_no_rule_reads_are_judged_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = []

    def watched(rule: Any, predicate: Any, node: Any) -> Any:
        asked.append(rule)
        return ask(rule, predicate, node)

    monkeypatch.setattr("atc_py.check.evaluate.ask", watched)
    layers = [Case("MatMul", [2, 8], [np.full((8, 8), at, np.float32)]) for at in range(3)]
    assert not findings(layers[:1], tmp_path)
    once = len(asked)
    assert not findings(layers, tmp_path)
    assert len(asked) == 2 * once > 0
