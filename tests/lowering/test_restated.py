"""Restating refers to the nodes themselves; lowering asks a tensor for the type that it needs."""

from pathlib import Path

import pytest

from atc_py.check.restating import OpsetPlacement
from atc_py.diag import AtcError
from atc_py.diag.codes import INTERNAL
from atc_py.lowering.lower import lower_model
from atc_py.lowering.rewritten import restated
from atc_py.onnx_graph.source import SourceBranch, SourceModel, SourceNode, SourceTensor
from atc_py.spec import library
from atc_py.system.structs import replace

X = SourceTensor("x", "float32", (2, None))
Y = SourceTensor("y", "float32", (2, None))
SPEC = library().all()[0]


def relu(scope: str = "") -> SourceNode:
    return SourceNode(0, "n", "Relu", "", 14, 14, (X,), (Y,), scope=scope)


def model(*nodes: SourceNode) -> SourceModel:
    return SourceModel(Path("m.onnx"), "m", {"": 14}, (X,), (Y,), nodes, len(nodes))


def test_only_the_node_that_was_placed_is_restated() -> None:
    one, other = relu(), relu()
    form = replace(one, opset=13, since_version=13)
    source = restated(
        model(other, one),
        [OpsetPlacement(14, other, other, SPEC), OpsetPlacement(13, one, form, SPEC)],
    )
    assert source.nodes == (other, form)


def test_nodes_of_branches_are_restated_in_their_branches() -> None:
    inner, untouched = relu("then_branch"), relu("else_branch")
    form = replace(inner, opset=13)
    branches = {"then_branch": SourceBranch((inner,), (Y,))}
    branches["else_branch"] = SourceBranch((untouched,), (Y,))
    choice = replace(relu(), op_type="If", branches=branches)
    assert model(choice).all_nodes == (choice, inner, untouched)
    source = restated(model(choice), [None, OpsetPlacement(13, inner, form, SPEC), None])
    assert source.all_nodes[1:] == (form, untouched)


def test_model_in_which_nothing_is_restated_stays_the_same() -> None:
    source = model(relu())
    assert (
        restated(source, [OpsetPlacement(14, source.nodes[0], source.nodes[0], SPEC), None])
        is source
    )


@pytest.mark.parametrize(
    ("tensor", "missing"),
    [
        (SourceTensor("y", "", (2, 3)), "element type"),
        (SourceTensor("y", "string", (2, 3)), "element type"),
        (SourceTensor("y", "float32", None), "rank"),
    ],
)
def test_type_that_lowering_needs_must_be_known(tensor: SourceTensor, missing: str) -> None:
    assert not tensor.is_typed
    with pytest.raises(AtcError) as caught:
        _ = tensor.required_dtype, tensor.shape
    (found,) = caught.value.diagnostics
    assert found.code is INTERNAL
    assert found.message == f'the {missing} of "y" is not known'


def test_output_that_nothing_uses_needs_no_type() -> None:
    parts = (Y, SourceTensor("rest", "", None))
    split = SourceNode(0, "n", "Split", "", 13, 13, (X,), parts, {"axis": 0})
    assert len(lower_model(model(replace(split, op_type="Relu"))).nodes[0].outputs) == 1


def test_tensors_beyond_the_limits_have_no_type() -> None:
    assert not SourceTensor("t", "float32", (1,) * 33).is_typed
    assert not SourceTensor("t", "float32", (2**20, 2**20)).is_typed
    assert SourceTensor("t", "float32", (2**20, None)).is_typed


def test_a_branch_reads_what_it_takes_from_around_it() -> None:
    made = SourceTensor("made", "float32", (2, None))
    nodes = (replace(relu(), outputs=(made,)), replace(relu(), inputs=(made,), outputs=(Y,)))
    choice = replace(relu(), inputs=(), branches={"then_branch": SourceBranch(nodes, (Y, X))})
    assert list(dict.fromkeys(choice.tensors_read)) == [X]
