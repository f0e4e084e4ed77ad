"""Files that are not offline models, recognized by their first bytes."""

import numpy as np
import onnx
import pytest
from onnx import numpy_helper

from atc_py.package.foreign import is_onnx
from tests.cli.conftest import small_model

MODEL = small_model().SerializeToString()


def test_onnx_models_are_known_also_where_they_are_cut() -> None:
    assert is_onnx(MODEL)
    assert is_onnx(MODEL[: len(MODEL) // 2])
    full = small_model()
    full.doc_string = "x" * 1000
    full.producer_name = "exporter"
    full.model_version = 2**40
    full.metadata_props.add(key="a", value="b")
    assert is_onnx(full.SerializeToString())


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"\x08",
        b"\x08\xff",
        b"\x08\x08\x12",
        b"\x08" + b"\xff" * 20,
        b"PK\x03\x04" + bytes(100),
        b"IMOD" + bytes(100),
        b"\x93NUMPY" + bytes(100),
        numpy_helper.from_array(np.ones((3, 4), np.float32), "x").SerializeToString(),
        onnx.ModelProto(ir_version=8, producer_name="no graph").SerializeToString(),
        b"\x08\x08\x12\xff\xff\xff\xff\x7f" + bytes(100),
    ],
)
def test_other_files_are_not(data: bytes) -> None:
    assert not is_onnx(data)


def test_noise_is_not_a_model() -> None:
    generator = np.random.default_rng(0)
    assert sum(is_onnx(b"\x08" + generator.bytes(200)) for _ in range(2000)) < 20
