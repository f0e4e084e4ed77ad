"""Listed operators on tensors without axes: each runs as its reference does, or check refuses it."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx import helper, numpy_helper
from onnx.reference import ReferenceEvaluator
from onnxruntime.capi import onnxruntime_pybind11_state as errors

import atc_py
from atc_py.diag import AtcError, ExitCode
from atc_py.spec import OpSpec, library
from atc_py.tensor.dtypes import DType
from tests.end_to_end import one_node_model, run_with_atc_py, run_with_onnxruntime
from tests.lowering.opened import Opened
from tests.spec.one_node import build

Array = NDArray[Any]

KEEP, NARROW = "must_keep_origin_dtype", "force_fp16"
SPECS = [spec for spec in library().all() if spec.example.inputs]
CUSTOM_OPSET = 11
DRAWN = {"Multinomial", "RandomUniform"}
"""Operators whose results are drawn."""

_ORT_REFUSALS = (
    RuntimeError, errors.Fail, errors.InvalidArgument, errors.InvalidGraph, errors.NotImplemented
)  # fmt: skip
_NARROW, _WIDE = 4e-3, 1e-5
"""Shares of a result that float16 and float32 may differ by."""


def forms(spec: OpSpec) -> Iterator[onnx.ModelProto]:
    """Yield the example with one input, or all of them, as scalars; axes are named in every way."""
    opset = CUSTOM_OPSET if spec.custom else spec.opsets[-1]
    names, given = [*spec.example.inputs], spec.example.values
    attributes: list[dict[str, Any]] = [{}]
    attributes += [{row.name: 0} for row in spec.attributes if row.name in {"axis", "dim"}]
    attributes += [{row.name: None} for row in spec.attributes if row.name in {"axes", "perm"}]
    for chosen in [[name] for name in names] + [names]:
        shapes: dict[str, tuple[int, ...]] = dict.fromkeys(chosen, ())
        values = {name: (*given[name], 0)[:1] for name in chosen if name in given}
        for changed in attributes:
            yield build(spec, opset, shapes=shapes, values=values, attributes=changed)


def fed(model: onnx.ModelProto) -> dict[str, Array]:
    """Return numbers between 1 and 2 for every input."""
    generator, feeds = np.random.default_rng(0), {}
    for each in model.graph.input:
        kind = each.type.tensor_type
        shape = [dim.dim_value for dim in kind.shape.dim]
        dtype = helper.tensor_dtype_to_np_dtype(kind.elem_type)
        drawn = generator.uniform(1, 2, shape)
        feeds[each.name] = np.asarray(drawn if dtype.kind == "f" else np.rint(drawn)).astype(dtype)
    return feeds


def expected_of(model: onnx.ModelProto, feeds: Mapping[str, Array]) -> dict[str, Array] | None:
    """Return the result of onnxruntime, or else ONNX's reference; None where neither runs it."""
    try:
        return run_with_onnxruntime(model, feeds)
    except _ORT_REFUSALS:
        pass
    names = [output.name for output in model.graph.output]
    try:
        found = ReferenceEvaluator(model).run(names, dict(feeds))
    except Exception:  # noqa: BLE001  (it raises anything)
        return None
    # The reference sums unsigned integers in wider ones than the model declares.
    declared = [output.type.tensor_type.elem_type for output in model.graph.output]
    dtypes = map(helper.tensor_dtype_to_np_dtype, declared)
    return {
        name: np.asarray(array).astype(dtype)
        for name, array, dtype in zip(names, found, dtypes, strict=True)
    }


@pytest.mark.parametrize("mode", [KEEP, NARROW])
@pytest.mark.parametrize(
    "spec", [spec for spec in SPECS if spec.op not in {*DRAWN, "NonZero"}], ids=lambda spec: spec.op
)
def test_scalars_run_or_are_refused(spec: OpSpec, mode: str, tmp_path: Path) -> None:
    for model in forms(spec):
        feeds = fed(model)
        try:
            found = run_with_atc_py(model, feeds, tmp_path, precision_mode=mode)
        except AtcError as error:
            refusal = error
        else:
            _compare(found, expected_of(model, feeds) or {}, mode)
            continue
        # What a device finds only in the run has another status: a model that compiles must run.
        assert {each.code.exit for each in refusal.diagnostics} == {ExitCode.MODEL}, model


def _compare(found: Mapping[str, Array], expected: Mapping[str, Array], mode: str) -> None:
    """Hold results to the expected dtypes, shapes and numbers."""
    for name, wanted in expected.items():
        assert (found[name].dtype, found[name].shape) == (wanted.dtype, wanted.shape)
        is_half = mode == NARROW or wanted.dtype == np.float16
        np.testing.assert_allclose(found[name], wanted, rtol=_NARROW if is_half else _WIDE)


@pytest.mark.parametrize("mode", [KEEP, NARROW])
@pytest.mark.parametrize("dtype", [DType.FLOAT32, DType.FLOAT16, DType.INT64, DType.BOOL])
@pytest.mark.parametrize("number", [0, 1])
def test_non_zero_of_a_scalar_has_no_rows(
    number: int, dtype: DType, mode: str, tmp_path: Path
) -> None:
    """Check (0, N), as ONNX says, where numpy had (1, N), which is what onnxruntime returns."""
    x = np.array(number, dtype.numpy)
    model = one_node_model("NonZero", {"x": x}, 13)
    (found,) = run_with_atc_py(model, {"x": x}, tmp_path, precision_mode=mode).values()
    assert found.shape == (0, number)
    (wanted,) = ReferenceEvaluator(model).run(None, {"x": x})
    np.testing.assert_array_equal(found, wanted)


@pytest.mark.parametrize("number", [0.0, -2.0])
def test_positions_of_a_scalar_may_be_read_on(number: float, tmp_path: Path) -> None:
    net = Opened()
    places = net.op("NonZero", net.fed("x", np.float32, ()))
    net.output(net.op("Shape", places), net.op("Transpose", places, perm=[1, 0]))
    feeds = {"x": np.array(number, np.float32)}
    extents, turned = run_with_atc_py(net.model(), feeds, tmp_path).values()
    assert extents.tolist() == [0, int(number != 0)]
    assert turned.shape == (int(number != 0), 0)


def refused(op_type: str, shapes: list[tuple[int, ...]], constants: list[Array], path: Path) -> str:
    """Return the refusal of a node with these inputs when it is converted."""
    infos = [
        helper.make_tensor_value_info(f"x{at}", onnx.TensorProto.FLOAT, shape)
        for at, shape in enumerate(shapes)
    ]
    weights = [numpy_helper.from_array(array, f"c{at}") for at, array in enumerate(constants)]
    names = [*(each.name for each in infos), *(each.name for each in weights)]
    node = helper.make_node(op_type, names, ["y"], name="node")
    element = onnx.TensorProto.INT64 if op_type == "NonMaxSuppression" else onnx.TensorProto.FLOAT
    output = helper.make_tensor_value_info("y", element, None)
    graph = helper.make_graph([node], "one", infos, [output], weights)
    onnx.save(
        helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8), path
    )
    with pytest.raises(AtcError) as caught:
        atc_py.convert(path, path.with_suffix(".om"))
    (found,) = caught.value.diagnostics
    assert found.code.id == "ATC4013"
    return found.message


def test_known_shapes_that_never_go_together_are_refused(tmp_path: Path) -> None:
    """Check results with open dims, which ONNX's inference does not tell; the inputs have none."""
    path = tmp_path / "model.onnx"
    message = refused("Expand", [(2, 4)], [np.array([3, 4])], path)
    assert message.endswith("shapes 2x4 and 3x4 do not broadcast")
    message = refused("NonMaxSuppression", [(1, 5, 4), (1, 2, 6)], [], path)
    assert message.endswith("boxes float32 1x5x4 and scores float32 1x2x6 do not match")


@pytest.mark.parametrize("mode", [KEEP, NARROW])
def test_batch_normalization_of_one_axis_has_one_channel(mode: str, tmp_path: Path) -> None:
    ones = {name: np.array([2], np.float32) for name in ("scale", "b", "mean", "var")}
    feeds = {"x": np.array([1, 2, 4, 7], np.float32)}
    model = one_node_model("BatchNormalization", feeds, 15, constants=ones)
    _compare(
        run_with_atc_py(model, feeds, tmp_path, precision_mode=mode),
        expected_of(model, feeds) or {},
        mode,
    )
