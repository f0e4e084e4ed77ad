"""Weights beside the model, and weights where they must not be."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

from atc_py.diag.codes import BAD_TENSOR, EXTERNAL_DATA_MISSING, EXTERNAL_DATA_OUTSIDE
from atc_py.onnx_graph.reading.read import read_model
from tests.onnx_graph import onnx_files

VALUES = np.arange(12, dtype=np.float32).reshape(3, 4)


def external_model(*entries: dict[str, str]) -> onnx.ModelProto:
    """Return a chain of Adds whose weights are outside, at the places that `entries` say."""
    nodes, weights = [], {}
    for at in range(len(entries)):
        nodes.append(helper.make_node("Add", [f"v{at}", f"w{at}"], [f"v{at + 1}"]))
        weights[f"w{at}"] = VALUES
    inputs = {"v0": (onnx_files.FLOAT, [3, 4])}
    proto = onnx_files.model(nodes, inputs, [f"v{len(entries)}"], weights)
    for tensor, where in zip(proto.graph.initializer, entries, strict=True):
        tensor.ClearField("raw_data")
        tensor.data_location = onnx.TensorProto.EXTERNAL
        for key, value in where.items():
            tensor.external_data.add(key=key, value=value)
    return proto


def test_external_weights_are_read_in_place(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "w.bin").write_bytes(b"\0" * 7 + VALUES.tobytes() + VALUES[::-1].tobytes())
    proto = external_model(
        {"location": "sub/w.bin", "offset": "7", "length": "48"},
        {"location": "sub/w.bin", "offset": "55", "checksum": "unused"},
    )
    model = onnx_files.source(proto, tmp_path)
    consts = [node.inputs[1].const for node in model.nodes if node.inputs[1]]
    assert [const.numpy().tolist() for const in consts if const] == [
        VALUES.tolist(),
        VALUES[::-1].tolist(),
    ]
    assert model.weight_bytes == 96


def test_empty_external_weight_needs_no_bytes(tmp_path: Path) -> None:
    (tmp_path / "w.bin").touch()
    proto = external_model({"location": "w.bin"})
    proto.graph.initializer[0].dims[0] = 0
    proto.graph.input[0].type.tensor_type.shape.dim[0].dim_value = 1
    model = onnx_files.source(proto, tmp_path)
    assert model.weight_bytes == 0


def test_link_inside_the_folder_is_followed(tmp_path: Path) -> None:
    (tmp_path / "real.bin").write_bytes(VALUES.tobytes())
    (tmp_path / "link.bin").symlink_to(tmp_path / "real.bin")
    assert onnx_files.source(external_model({"location": "link.bin"}), tmp_path).nodes


@pytest.mark.parametrize(
    "location",
    [
        "../w.bin",
        "sub/../../w.bin",
        "sub/../w.bin",
        "..\\w.bin",
        "C:\\w.bin",
        "/etc/hostname",
        "up",
    ],
)
def test_location_outside_the_folder_is_refused(location: str, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "w.bin").write_bytes(VALUES.tobytes())
    (folder / "up").symlink_to(tmp_path / "w.bin")
    path = onnx_files.save(external_model({"location": location}), folder)
    onnx_files.fails(lambda: read_model(path), EXTERNAL_DATA_OUTSIDE)


def test_link_to_a_folder_outside_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "w.bin").write_bytes(VALUES.tobytes())
    (folder / "up").symlink_to(tmp_path, target_is_directory=True)
    path = onnx_files.save(external_model({"location": "up/w.bin"}), folder)
    onnx_files.fails(lambda: read_model(path), EXTERNAL_DATA_OUTSIDE)


@pytest.mark.parametrize(
    ("where", "said"),
    [
        ({"location": "none.bin"}, "'none.bin' cannot be read: No such file"),
        ({"location": "folder"}, "'folder' cannot be read"),
        ({"location": "loop"}, "'loop'"),
        ({"location": "w.bin", "offset": "1"}, "bytes 1 to 49 of 'w.bin', which has 48"),
        ({"location": "w.bin", "offset": "999999999999999999"}, "which has 48"),
    ],
)
def test_weights_that_are_not_there_are_named(
    where: dict[str, str], said: str, tmp_path: Path
) -> None:
    (tmp_path / "w.bin").write_bytes(VALUES.tobytes())
    (tmp_path / "folder").mkdir()
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    path = onnx_files.save(external_model(where), tmp_path)
    error = onnx_files.fails(lambda: read_model(path), EXTERNAL_DATA_MISSING)
    assert said in str(error)
    assert error.diagnostics[0].place is not None
    assert error.diagnostics[0].place.field == "initializer 'w0'"


@pytest.mark.parametrize(
    "where",
    [
        {},
        {"location": ""},
        {"location": "w\0.bin"},
        {"location": "w.bin", "length": "47"},
        {"location": "w.bin", "length": "-1"},
        {"location": "w.bin", "offset": "0x10"},
        {"location": "w.bin", "offset": "9" * 30},
    ],
)
def test_entries_that_make_no_sense_are_refused(where: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "w.bin").write_bytes(VALUES.tobytes())
    path = onnx_files.save(external_model(where), tmp_path)
    onnx_files.fails(lambda: read_model(path), BAD_TENSOR)


def test_problems_of_all_tensors_come_together(tmp_path: Path) -> None:
    proto = external_model({"location": "none.bin"}, {"location": "/w.bin"}, {"location": ""})
    path = onnx_files.save(proto, tmp_path)
    onnx_files.fails(
        lambda: read_model(path), EXTERNAL_DATA_MISSING, EXTERNAL_DATA_OUTSIDE, BAD_TENSOR
    )
