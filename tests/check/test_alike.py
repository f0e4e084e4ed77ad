"""What nodes have in common that are judged, or compiled, once for all of them."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper

from atc_py.check import evaluate
from atc_py.check.alike import node_signature, representatives
from atc_py.check.findings import Standing
from atc_py.check.restating import OpsetPlacement, place_node
from atc_py.onnx_graph.reading.onnx_file import surveyed
from atc_py.onnx_graph.reading.read import read_model
from atc_py.onnx_graph.source import SourceNode, SourceTensor
from atc_py.pipeline import check
from atc_py.system.structs import replace
from tests.bench.growing_models import SHAPES
from tests.check.bound_nodes import constant, tensor
from tests.check.checks import checked
from tests.onnx_graph import onnx_files


def view(op_type: str = "Resize", *inputs: SourceTensor, **attributes: Any) -> SourceNode:
    """Return a node with one result."""
    given = inputs or (tensor(2, 3), constant([1.0, 2.0], np.float32))
    return SourceNode(0, "node", op_type, "", 13, 13, given, (tensor(2, 6),), attributes)


def both(left: SourceNode, right: SourceNode) -> tuple[bool, bool]:
    """Return True if two nodes are alike, with their weights and without."""
    with_weights, without = (
        node_signature(left, weights=counts) == node_signature(right, weights=counts)
        for counts in (True, False)
    )
    return with_weights, without


LONG = [np.arange(20) + start for start in (0, 1)]

PAIRS: list[tuple[str, SourceNode, SourceNode, tuple[bool, bool]]] = [
    ("equal", view(), view(), (True, True)),
    ("name and place", view(), replace(view(), index=7, name="other"), (True, True)),
    ("open inputs", view(), replace(view(), open_inputs=("x",), scope="in"), (True, True)),
    ("operator", view(), view("Upsample"), (False, False)),
    ("domain", view(), replace(view(), domain="custom"), (False, False)),
    ("opset", view(), replace(view(), opset=11), (False, False)),
    ("dim", view(), view("Resize", tensor(2, 4)), (False, False)),
    ("open dim", view("Relu", tensor(2, 3)), view("Relu", tensor(2, None)), (False, False)),
    (
        "dtype",
        view("Relu", tensor(2, 3)),
        view("Relu", tensor(2, 3, element="float16")),
        (False, False),
    ),
    ("attribute", view(axis=1), view(axis=2), (False, False)),
    ("name of an attribute", view(axis=1), view(axes=1), (False, False)),
    ("number of another type", view(axis=1), view(axis=1.0), (False, False)),
    ("list of another type", view(axes=(1, 2)), view(axes=(1.0, 2.0)), (False, False)),
    (
        "numbers",
        view("Resize", tensor(2), constant([1.0], np.float32)),
        view("Resize", tensor(2), constant([2.0], np.float32)),
        (False, False),
    ),
    (
        "numbers to compute with",
        view("Mul", tensor(2), constant([1.0], np.float32)),
        view("Mul", tensor(2), constant([2.0], np.float32)),
        (False, True),
    ),
    (
        "indices",
        view("Mul", tensor(2), constant([1])),
        view("Mul", tensor(2), constant([2])),
        (False, False),
    ),
    (
        "weights",
        view("PRelu", tensor(20), constant(LONG[0], np.float32)),
        view("PRelu", tensor(20), constant(LONG[1], np.float32)),
        (False, True),
    ),
    (
        "many indices",
        view("Gather", tensor(99), constant(LONG[0])),
        view("Gather", tensor(99), constant(LONG[1])),
        (False, False),
    ),
    (
        "constant and computed",
        view("Add", tensor(1), constant([1.0], np.float32)),
        view("Add", tensor(1), tensor(1)),
        (False, False),
    ),
]


@pytest.mark.parametrize(
    ("left", "right", "alike"), [row[1:] for row in PAIRS], ids=[row[0] for row in PAIRS]
)
def test_nodes_are_alike_where_nothing_that_counts_differs(
    left: SourceNode, right: SourceNode, alike: tuple[bool, bool]
) -> None:
    assert both(left, right) == both(right, left) == alike


@pytest.mark.parametrize("shape", ["fan out", "elementwise chain", "convolutions", "many outputs"])
def test_large_models_have_few_kinds_of_nodes(shape: str, tmp_path: Path) -> None:
    model = surveyed(read_model(onnx_files.save(SHAPES[shape](60), tmp_path)), {}).source
    kinds = representatives(model)
    assert len(kinds) < 10
    assert sorted(at for positions in kinds for at in positions) == list(range(len(model.nodes)))


def test_rules_are_asked_once_of_alike_nodes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    original = place_node

    def counted(node: SourceNode, *args: Any) -> OpsetPlacement | object:
        asked.append(node.name)
        return original(node, *args)

    monkeypatch.setattr(evaluate, "place_node", counted)
    monkeypatch.setattr(check, "operator_lists", lambda: ())
    relu = [helper.make_node("Relu", ["x"], [f"r{n}"], f"r{n}") for n in range(3)]
    wrap = [helper.make_node("LRN", ["x"], [f"l{n}"], f"l{n}", size=2) for n in range(2)]
    names = [node.name for node in (*relu, *wrap)]
    proto = onnx_files.model([*relu, *wrap], {"x": (onnx_files.FLOAT, [1, 1, 4, 4])}, names)
    found = checked(proto, tmp_path)
    assert asked == ["r0", "l0", "l0"]  # what the first list refuses, the second is asked about
    assert [each.place.node_name for each in found.findings] == ["l0", "l1"]
    assert [row.standing for row in found.rows] == [Standing.SUPPORTED] * 3 + [Standing.ERROR] * 2


def test_findings_of_a_node_are_not_hidden_by_a_sound_one(tmp_path: Path) -> None:
    gather = [helper.make_node("Gather", ["x", f"i{n}"], [f"y{n}"], f"g{n}") for n in range(2)]
    weights = {"i0": LONG[0], "i1": LONG[1] + 90}
    proto = onnx_files.model(gather, {"x": (onnx_files.FLOAT, [99])}, ["y0", "y1"], weights)
    assert {each.place.node_name for each in checked(proto, tmp_path).findings} == {"g1"}


def test_findings_of_alike_nodes_name_their_own_values(tmp_path: Path) -> None:
    """Indices of MaxPool are refused by the name of the value that holds them."""
    pools = [
        helper.make_node("MaxPool", ["x"], [f"y{n}", f"at{n}"], f"p{n}", kernel_shape=[2, 2])
        for n in range(2)
    ]
    names = [name for node in pools for name in node.output]
    proto = onnx_files.model(pools, {"x": (onnx_files.FLOAT, [1, 1, 4, 4])}, names)
    messages = [each.message for each in checked(proto, tmp_path).findings]
    assert [[name in message for name in ("at0", "at1")] for message in messages] == [
        [True, False],
        [False, True],
    ]
