"""Dims of the user's that the model does not take: named as the reason, once, with what fits."""

from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import helper

from atc_py import api
from atc_py.check.findings import Standing
from atc_py.diag import AtcError, Diagnostic
from atc_py.diag.codes import BAD_INPUT_SHAPE, BAD_MODEL, UNKNOWN_OPERATOR
from atc_py.report.check.formats import exit_status, render_check
from atc_py.report.check.json_document import check_document
from tests.check.checks import checked
from tests.networks.builders.open_detector import build_open_detector
from tests.onnx_graph import onnx_files
from tests.proposal.test_proposals import MODELS
from tests.sampling import sampled

node = helper.make_node
FLOAT = onnx_files.FLOAT


def refused(path: Path, folder: Path, shape: str) -> Diagnostic:
    """Return the one finding of `convert`."""
    with pytest.raises(AtcError) as caught:
        api.convert(path, folder / "model.om", input_shape=shape)
    (found,) = caught.value.diagnostics
    return found


@pytest.mark.parametrize(
    ("given", "near"),
    sampled(
        [("320,330", ("320,320", "320,352"))],
        [("321,321", ("320,320", "352,352")), ("100,96", ("96,96", "128,96"))],
    ),
)
def test_size_that_is_not_a_multiple_is_the_one_finding(
    given: str, near: tuple[str, str], tmp_path: Path
) -> None:
    path = onnx_files.save(build_open_detector(), tmp_path)
    (check,) = api.check_models(path, input_shape=f"images:1,3,{given}").models
    (fault,) = check.faults
    assert fault.code is BAD_INPUT_SHAPE
    assert f'the model does not take "images:1,3,{given}": at node' in fault.message
    assert "(Concat)" in fault.message
    wanted = " or ".join(f'"images:1,3,{text}"' for text in near)
    assert fault.help == f"the nearest dims that fit are --input-shape {wanted}"
    own = {each.standing for each in check.findings if not each.certainty}
    assert own <= {Standing.REWRITE}
    converted = refused(path, tmp_path, f"images:1,3,{given}")
    assert (converted.code, converted.message, converted.help) == (
        BAD_INPUT_SHAPE,
        fault.message,
        fault.help,
    )


def test_report_does_not_blame_the_file(tmp_path: Path) -> None:
    path = onnx_files.save(build_open_detector(), tmp_path)
    document = check_document(api.check_models(path, input_shape="images:1,3,321,321"))
    text = render_check("text", document, Standing.ERROR)
    assert ": not supported: it does not accept the dims of --input-shape" in text.splitlines()[0]
    assert "exporter" not in text
    assert "onnx.checker" not in text
    assert text.count("\nerror[") == 1
    assert exit_status(document, Standing.ERROR) == 2
    chinese = check_document(api.check_models(path, input_shape="images:1,3,321,321"), "zh")
    assert "不接受 --input-shape 给出的维度" in render_check("text", chinese, Standing.ERROR)


def test_batches_are_left_alone(tmp_path: Path) -> None:
    path = onnx_files.save(MODELS["strides of 8"], tmp_path)
    found = refused(path, tmp_path, "x:3,3,20,20")
    assert '"x:3,3,16,16" or "x:3,3,24,24"' in str(found.help)


def test_two_values_for_dims_of_one_name_are_made_one(tmp_path: Path) -> None:
    path = onnx_files.save(MODELS["one name, two inputs"], tmp_path)
    found = refused(path, tmp_path, "ids:2,8;mask:3,8")
    assert found.code is BAD_INPUT_SHAPE
    assert '"ids:2,8;mask:2,8"' in str(found.help)


def test_size_that_only_weights_tell_is_found(tmp_path: Path) -> None:
    path = onnx_files.save(MODELS["weights for 224 pixels"], tmp_path)
    found = refused(path, tmp_path, "x:1,3,200,200")
    assert found.code is BAD_INPUT_SHAPE
    assert "1,3,224,224" in str(found.help)


def broken() -> onnx.ModelProto:
    """Make a contradiction beside an open dim that has nothing to do with it."""
    nodes = [
        node("Relu", ["x"], ["r"]),
        node("MatMul", ["z", "w"], ["y"], "product"),
    ]
    inputs: onnx_files.Ports = {"x": (FLOAT, ["n", 3]), "z": (FLOAT, [2, 5])}
    weights = {"w": np.ones((4, 4), np.float32)}
    return onnx_files.model(nodes, inputs, ["r", "y"], weights)


def test_contradiction_of_the_model_itself_is_not_blamed_on_dims(tmp_path: Path) -> None:
    check = checked(broken(), tmp_path, input_shape="x:2,3")
    assert [each.code for each in check.faults] == [BAD_MODEL]
    assert refused(tmp_path / "model.onnx", tmp_path, "x:2,3").code is BAD_MODEL


def test_model_that_takes_no_dims_at_all_keeps_its_own_finding(tmp_path: Path) -> None:
    shape = {"s": np.array([5, 7, 11], np.int64)}
    proto = onnx_files.model(
        [node("Reshape", ["x", "s"], ["y"])], {"x": (FLOAT, ["n", 3, 4])}, ["y"], shape
    )
    check = checked(proto, tmp_path, input_shape="x:2,3,4")
    assert [each.code for each in check.faults] == [BAD_MODEL]


def test_what_is_wrong_whatever_is_chosen_is_reported_beside_it(tmp_path: Path) -> None:
    proto = onnx_files.model(
        [
            node("MaxPool", ["x"], ["p"], kernel_shape=[2, 2], strides=[2, 2]),
            node("Resize", ["p", "", "by2"], ["g"], mode="nearest"),
            node("Add", ["g", "x"], ["a"]),
            node("Own", ["a"], ["y"], "own", domain="com.other"),
        ],
        {"x": (FLOAT, [1, 3, "height", "width"])},
        ["y"],
        {"by2": np.array([1, 1, 2, 2], np.float32)},
        {"": 13, "com.other": 1},
    )
    check = checked(proto, tmp_path, input_shape="x:1,3,9,9")
    assert [each.code for each in check.faults] == [BAD_INPUT_SHAPE]
    errors = [each for each in check.findings if each.standing is Standing.ERROR]
    assert [each.code for each in errors] == [UNKNOWN_OPERATOR]
