"""Open dims of inputs: which share a name, which are sums, and files in which they are chosen."""

from atc_py.onnx_graph.reading.contents import DeclaredInput
from atc_py.onnx_graph.source import OpenDim
from atc_py.pipeline.proposal.open_dims import given_dims, open_dims, open_form


def declared(name: str, *dims: int | str) -> DeclaredInput:
    return DeclaredInput(name, 1, dims)


def test_dims_of_one_name_are_one() -> None:
    found = open_dims([declared("ids", "batch", "length"), declared("mask", "batch", "length")])
    assert found == (
        OpenDim("batch", (("ids", 0), ("mask", 0)), 2),
        OpenDim("length", (("ids", 1), ("mask", 1)), 2),
    )


def test_dims_without_name_are_each_their_own() -> None:
    found = open_dims([declared("x", "", 3, "", "")])
    assert [dim.places for dim in found] == [(("x", 0),), (("x", 2),), (("x", 3),)]
    assert [dim.is_batch for dim in found] == [True, False, False]
    assert not open_dims([declared("v", "n")])[0].is_batch


def test_sum_of_other_dims_is_not_a_dim_of_its_own() -> None:
    inputs = [
        declared("past", 1, "past_length"),
        declared("ids", 1, "length"),
        declared("mask", 1, "past_length + length"),
        declared("next", 1, "length + 1"),
        declared("odd", 1, "other + 1"),
    ]
    assert [dim.name for dim in open_dims(inputs)] == ["past_length", "length", "other + 1"]


def test_given_values_are_listed_by_dim() -> None:
    inputs = [declared("x", "batch", 3, "height"), declared("z", "batch")]
    found = given_dims(inputs, {"x": (2, 3, 8)})
    assert {dim.name: value for dim, value in found.items()} == {"batch": 2, "height": 8}


def test_form_has_names_for_what_is_open() -> None:
    inputs = [
        declared("x", "batch", 3, ""),
        DeclaredInput("z", 1, None),
        declared("fixed", 2),
        declared("given", "n"),
    ]
    assert open_form(inputs, {"given": (7,)}) == "x:batch,3,?;z:...;given:7"
