"""Forms that ONNX changed between opsets 6 and 23 are stated at an opset of the list, or are findings."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from numpy.typing import NDArray
from onnx.reference import ReferenceEvaluator

import atc_py
from atc_py.check.findings import Standing
from tests.end_to_end import one_node_model, run_with_onnxruntime
from tests.fix.opset_forms import FORMS, OpsetForm
from tests.sampling import some

pytestmark = pytest.mark.usefixtures("base_list")

BROADCAST_AS_NUMPY = 7
OUTPUTS = {"GRU": 2, "LSTM": 2, "Split": 2, "TopK": 2}

REFUSED = {
    "BatchNormalization", "Clip", "ConvTranspose", "Dropout", "GridSample", "Hardmax", "LSTM", "Pad",
    "Resize", "ScatterElements",
}  # fmt: skip
"""Operators with forms that a list refuses at every opset: training, no bounds, modes ..."""


def model_of(form: OpsetForm) -> tuple[onnx.ModelProto, dict[str, NDArray[Any]]]:
    """Return a model of a form, and its inputs."""
    names = ["" if each is None else f"x{at}" for at, each in enumerate(form.inputs)]
    arrays = {f"x{at}": each for at, each in enumerate(form.inputs) if each is not None}
    feeds = {f"x{at}": arrays.pop(f"x{at}") for at in form.fed}
    outputs = OUTPUTS.get(form.op, 1)
    constants = {name: np.asarray(each) for name, each in arrays.items()}
    options: Mapping[str, Any] = {"constants": constants, "order": names, "outputs": outputs}
    return one_node_model(form.op, feeds, form.opset, **options, **form.attributes), feeds


def results(model: onnx.ModelProto, feeds: Mapping[str, NDArray[Any]]) -> list[NDArray[Any]]:
    """Return the results of onnxruntime, or of ONNX's evaluator for what it lacks."""
    try:
        return [*run_with_onnxruntime(model, feeds).values()]
    except Exception:  # noqa: BLE001  (it raises anything)
        return [np.asarray(each) for each in ReferenceEvaluator(model).run(None, dict(feeds))]


def as_numpy(form: OpsetForm) -> OpsetForm:
    """Return a form that is broadcast by attributes in the form that is broadcast as numpy does."""
    first, second = (*form.inputs, None)[:2]
    attributes = dict(form.attributes)
    if form.opset >= BROADCAST_AS_NUMPY or first is None or second is None:
        return form
    if form.op == "BatchNormalization":
        return OpsetForm(form.op, 9, form.inputs)
    if form.op == "PRelu":
        slope = second.reshape(-1, *[1] * (first.ndim - 2))
        return OpsetForm(form.op, BROADCAST_AS_NUMPY, (first, slope))
    if not attributes.pop("broadcast", 0):
        return form
    after = first.ndim - attributes.pop("axis", first.ndim - second.ndim) - second.ndim
    inputs = (first, second.reshape(*second.shape, *[1] * after), *form.inputs[2:])
    return OpsetForm(form.op, BROADCAST_AS_NUMPY, inputs, attributes)


def label(form: OpsetForm) -> str:
    return f"{form.op}-{form.opset}"


@pytest.mark.parametrize("form", some(FORMS, 12), ids=label)
@pytest.mark.parametrize("operator_list", ["base", "cann-9.0"])
def test_form_is_stated_at_a_listed_opset_or_is_a_finding(
    form: OpsetForm, operator_list: str, tmp_path: Path
) -> None:
    model, feeds = model_of(form)
    onnx.save(model, tmp_path / "m.onnx")
    options: Any = {"operator_list": operator_list}
    fixed = tmp_path / "fixed.onnx"
    done = atc_py.fix_model(tmp_path / "m.onnx", fixed, seeds=0, for_precision=False, **options)
    if done.left:
        assert form.op in REFUSED, done.left
        assert not fixed.exists()
        return
    written = onnx.load(fixed)
    onnx.checker.check_model(written)
    (checked,) = atc_py.check_models(fixed, **options).models
    assert not checked.faults
    assert checked.standing is not Standing.ERROR
    if written.SerializeToString() == model.SerializeToString() or form.op == "Dropout":
        return
    wanted = results(model_of(as_numpy(form))[0], feeds)
    for one, other in zip(results(written, feeds), wanted, strict=True):
        np.testing.assert_allclose(one.astype(np.float64), other.astype(np.float64), 1e-4, 1e-5)
        assert one.dtype == other.dtype


@pytest.mark.parametrize("op", ["BatchNormalization", "Dropout"])
def test_training_is_a_finding(op: str, tmp_path: Path) -> None:
    """Before opset 7, inference is what is_test says; without it the model is not restated."""
    (form,) = [each for each in FORMS if (each.op, each.opset, *each.attributes) == (op, 6)]
    onnx.save(model_of(form)[0], tmp_path / "m.onnx")
    done = atc_py.fix_model(tmp_path / "m.onnx", tmp_path / "fixed.onnx", seeds=0)
    assert done.left or done.opset[1] < BROADCAST_AS_NUMPY


def test_old_models_are_fixed_in_memory_as_well(tmp_path: Path) -> None:
    form = next(each for each in FORMS if "axis" in each.attributes and each.op == "Add")
    model, feeds = model_of(form)
    onnx.save(model, tmp_path / "m.onnx")
    atc_py.convert(tmp_path / "m.onnx", tmp_path / "m.om", fix={})
    (found,) = atc_py.load(tmp_path / "m.om").run(feeds).values()
    (wanted,) = results(model_of(as_numpy(form))[0], feeds)
    np.testing.assert_allclose(found.astype(np.float64), wanted.astype(np.float64), atol=1e-2)


def test_all_findings_leaves_those_on_the_opset_to_restating(tmp_path: Path) -> None:
    """A new form has findings on its opset until the model is stated at another one."""
    x = np.ones((1, 8), np.float32)
    onnx.save(one_node_model("HardSwish", {"x": x}, 17), tmp_path / "model.onnx")
    done = atc_py.fix_model(
        tmp_path / "model.onnx", tmp_path / "fixed.onnx", all_findings=True, seeds=1
    )
    assert (done.errors, done.left) == ((1, 0), ())
