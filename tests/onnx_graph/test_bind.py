"""Input shapes: what the model leaves open, what the user gives, and where they disagree."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

from atc_py.diag.codes import BAD_INPUT_SHAPE, BAD_MODEL, BAD_TENSOR, FREE_DIMENSION
from atc_py.onnx_graph.reading.read import read_model
from atc_py.options.input_shapes import parse_input_shapes
from tests.onnx_graph import onnx_files

FLOAT = onnx_files.FLOAT


def two_inputs(first: list[int | str | None], second: list[int | str | None]) -> onnx.ModelProto:
    nodes = [helper.make_node("Add", ["image", "mask"], ["y"])]
    return onnx_files.model(nodes, {"image": (FLOAT, first), "mask": (FLOAT, second)}, ["y"])


def test_fixed_inputs_need_no_shape(tmp_path: Path) -> None:
    model = onnx_files.source(two_inputs([2, 3], [3]), tmp_path)
    assert [(value.name, value.shape) for value in model.inputs] == [
        ("image", (2, 3)),
        ("mask", (3,)),
    ]
    assert model.outputs[0].shape == (2, 3)


def test_open_inputs_take_the_shapes_given(tmp_path: Path) -> None:
    shapes = {"image": (2, 3), "mask": (5, 1, 3)}
    proto = two_inputs(["N", 3], [None, 1, None])
    assert onnx_files.source(proto, tmp_path, shapes).outputs[0].shape == (5, 2, 3)


def test_file_can_be_bound_again(tmp_path: Path) -> None:
    file = read_model(onnx_files.save(two_inputs(["N", 3], [3]), tmp_path))
    found = [file.fold({"image": (n, 3)}).to_source().outputs[0].shape for n in (1, 7, 1)]
    assert found == [(1, 3), (7, 3), (1, 3)]


def test_open_inputs_are_all_reported_with_text_to_paste(tmp_path: Path) -> None:
    path = onnx_files.save(two_inputs(["N", 3, None], [3, -1]), tmp_path)
    file = read_model(path)
    error = onnx_files.fails(lambda: file.fold({}), FREE_DIMENSION, FREE_DIMENSION)
    first, second = error.diagnostics
    assert first.message == "input 'image' has shape Nx3x?: axis 0 (N), axis 2 have no value"
    assert second.message == "input 'mask' has shape 3x?: axis 1 has no value"
    assert first.help == second.help
    assert first.place is not None
    assert first.place.file == str(path)
    text = str(first.help).split('"')[1]
    assert text == "image:1,3,1;mask:3,1"
    bound = file.fold(parse_input_shapes(text)).to_source()
    assert bound.inputs[0].shape == (1, 3, 1)


def test_text_to_paste_keeps_what_was_given(tmp_path: Path) -> None:
    file = read_model(onnx_files.save(two_inputs(["N", 3], ["N", 3]), tmp_path))
    error = onnx_files.fails(lambda: file.fold({"image": (8, 3)}), FREE_DIMENSION)
    assert '"image:8,3;mask:1,3"' in str(error.diagnostics[0].help)


def test_input_of_unknown_rank_is_open(tmp_path: Path) -> None:
    nodes = [helper.make_node("Relu", ["x"], ["y"])]
    proto = onnx_files.model(nodes, {"x": (FLOAT, None)}, ["y"])
    file = read_model(onnx_files.save(proto, tmp_path))
    error = onnx_files.fails(lambda: file.fold({}), FREE_DIMENSION)
    assert "rank of input 'x' is open" in str(error)
    assert "replace" in str(error.diagnostics[0].help)
    assert file.fold({"x": (2, 3)}).to_source().outputs[0].shape == (2, 3)


@pytest.mark.parametrize(
    ("shapes", "said", "advice"),
    [
        ({"imag": (2, 3)}, "no input 'imag'", "did you mean 'image'? inputs of the model: 'image'"),
        ({"zzz": (2, 3)}, "no input 'zzz'", "inputs of the model: 'image' Nx3, 'mask' 3"),
        (
            {"image": (2, 3, 1)},
            "Nx3 in the model (rank 2)",
            'for example --input-shape "image:1,3"',
        ),
        ({"image": ()}, "gives scalar (rank 0)", "image:1,3"),
        ({"image": (2, 4)}, "axis 1 is 3, not 4", "image:1,3"),
        ({"image": (0, 3)}, "must be at least 1", "for example"),
        ({"image": (1, 3), "mask": (4,)}, "'mask' is 3 in the model", "image:1,3;mask:3"),
    ],
)
def test_shapes_that_fit_no_input_are_refused(
    shapes: dict[str, tuple[int, ...]], said: str, advice: str, tmp_path: Path
) -> None:
    file = read_model(onnx_files.save(two_inputs(["N", 3], [3]), tmp_path))
    with_image = {"image": (1, 3)} | shapes
    error = onnx_files.fails(lambda: file.fold(with_image), BAD_INPUT_SHAPE)
    assert said in error.diagnostics[0].message
    assert advice in str(error.diagnostics[0].help)
    assert str(error.diagnostics[0].place) == "--input-shape"


def test_initializer_is_not_an_input(tmp_path: Path) -> None:
    nodes = [helper.make_node("Add", ["x", "w"], ["y"])]
    inputs = {"w": (FLOAT, [3]), "x": (FLOAT, [2, 3])}
    weights = {"w": np.ones(3, np.float32)}
    proto = onnx_files.model(nodes, inputs, ["y"], weights, {"": 9}, ir_version=3)
    model = onnx_files.source(proto, tmp_path)
    assert [value.name for value in model.inputs] == ["x"]
    file = read_model(tmp_path / "model.onnx")
    error = onnx_files.fails(lambda: file.fold({"w": (3,)}), BAD_INPUT_SHAPE)
    assert "no input 'w'" in str(error)


def test_input_without_elements_is_known_and_still_an_input(tmp_path: Path) -> None:
    source = onnx_files.source(two_inputs([0, 3], [3]), tmp_path)
    assert [value.shape for value in source.inputs] == [(0, 3), (3,)]
    assert [value.const is not None for value in source.inputs] == [True, False]


def test_inputs_of_other_types_are_refused(tmp_path: Path) -> None:
    proto = two_inputs([3], [3])
    proto.graph.input[0].type.tensor_type.elem_type = TensorProto.STRING
    proto.graph.input[1].type.tensor_type.elem_type = 0
    file = read_model(onnx_files.save(proto, tmp_path))
    onnx_files.fails(lambda: file.fold({}), BAD_TENSOR, BAD_MODEL)
    sequence = helper.make_sequence_type_proto(proto.graph.input[0].type)
    proto.graph.input[0].type.CopyFrom(sequence)
    file = read_model(onnx_files.save(proto, tmp_path))
    error = onnx_files.fails(lambda: file.fold({}), BAD_MODEL, BAD_MODEL)
    assert "must be a tensor, found a sequence" in str(error)


def test_shape_of_more_bytes_than_a_tensor_may_have_is_refused(tmp_path: Path) -> None:
    file = read_model(onnx_files.save(two_inputs(["N", 1024], [1024]), tmp_path))
    error = onnx_files.fails(lambda: file.fold({"image": (2**30, 1024)}), BAD_INPUT_SHAPE)
    assert "would have 4398046511104" in str(error)
