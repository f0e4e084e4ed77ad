"""Regions of float64 inside a float32 model: casts between the operators go, also where no Cast is listed."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import onnx
import onnxruntime
import pytest
from onnx import helper, numpy_helper

import atc_py
from atc_py.diag import AtcError
from atc_py.fix import measured
from tests.onnx_graph import onnx_files

FLOAT, DOUBLE = 1, 11
node = helper.make_node

Region = tuple[list[onnx.NodeProto], dict[str, list[float]]]


def exponential() -> Region:
    """What the lists take of float64 beside what they do not."""
    nodes = [
        node("Cast", ["x"], ["wide"], to=DOUBLE),
        node("Exp", ["wide"], ["grown"]),
        node("Sub", ["grown", "wide"], ["less"]),
        node("Cast", ["less"], ["y"], to=FLOAT),
    ]
    return nodes, {}


def rotary() -> Region:
    """Angles of positions, as the exporter of Flux writes them."""
    nodes = [
        node("Cast", ["x"], ["wide"], to=DOUBLE),
        node("Reshape", ["wide", "column"], ["positions"]),
        node("Mul", ["positions", "frequencies"], ["angles"]),
        node("Cos", ["angles"], ["cosines"]),
        node("Cast", ["cosines"], ["y"], to=FLOAT),
    ]
    return nodes, {"frequencies": [1.0, 0.1, 0.01, 0.001]}


def pitch() -> Region:
    """The mean of bins in octaves, as pitch detectors take it."""
    nodes = [
        node("Softmax", ["x"], ["shares"], axis=-1),
        node("Cast", ["shares"], ["wide"], to=DOUBLE),
        node("Mul", ["wide", "bins"], ["weighted"]),
        node("ReduceSum", ["weighted", "last"], ["octave"]),
        node("Pow", ["two", "octave"], ["hertz"]),
        node("Cast", ["hertz"], ["y"], to=FLOAT),
    ]
    return nodes, {"bins": [5.0, 7.1, 9.3], "two": [2.0]}


def cancelled() -> Region:
    """What is left of a number beside one that float32 holds no part of it with."""
    nodes = [
        node("Cast", ["x"], ["wide"], to=DOUBLE),
        node("Add", ["wide", "epoch"], ["time"]),
        node("Sub", ["time", "epoch"], ["rest"]),
        node("Cast", ["rest"], ["y"], to=FLOAT),
    ]
    return nodes, {"epoch": [1.7e9]}


def saved(region: Callable[[], Region], folder: Path) -> Path:
    """The file of a region between float32."""
    nodes, constants = region()
    given = [numpy_helper.from_array(np.array(value), name) for name, value in constants.items()]
    shapes = {"last": np.array([-1]), "column": np.array([6, 1])}
    given += [numpy_helper.from_array(value, name) for name, value in shapes.items()]
    graph = helper.make_graph(
        nodes,
        "doubles",
        [helper.make_tensor_value_info("x", FLOAT, [2, 3])],
        [helper.make_tensor_value_info("y", FLOAT, None)],
        given,
    )
    path = folder / "model.onnx"
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    onnx.save(model, path)
    return path


@pytest.mark.parametrize(
    ("region", "operators"),
    [
        (exponential, "base"),
        (exponential, "cann-9.0"),
        (rotary, "any"),
        (rotary, "cann-9.0"),
        (pitch, "any"),
        (pitch, "cann-9.0"),
    ],
)
def test_region_is_float32_where_runs_show_a_small_difference(
    region: Callable[[], Region], operators: str, tmp_path: Path
) -> None:
    """Nothing approximate is allowed; casts to float64 and straight back are left out."""
    path, fixed = saved(region, tmp_path), tmp_path / "fixed.onnx"
    done = atc_py.fix_model(path, fixed, operator_list=operators, seeds=1)
    assert (done.errors[1], done.left) == (0, ())
    assert {each.exactness for each in done.rewrites if "double-as-float32" in each.rules} == {
        "bounded"
    }
    assert done.outputs["y"].error < 1e-6
    found = onnx.load(fixed).graph
    casts = {each.output[0] for each in found.node if each.op_type == "Cast"}
    assert not [each for each in found.node if each.op_type == "Cast" and each.input[0] in casts]
    if operators == "cann-9.0":
        assert not casts


def test_region_stays_where_float32_loses_what_it_computes(tmp_path: Path) -> None:
    """The reason names the difference; where approximate rules are allowed it does not count."""
    path, fixed = saved(cancelled, tmp_path), tmp_path / "fixed.onnx"
    done = atc_py.fix_model(path, fixed, seeds=1)
    assert not fixed.exists()
    reasons = {name: reason.en for each in done.left for name, reason in each.unfit}
    assert "--allow-approximate" in reasons["double-as-float32"]
    assert atc_py.fix_model(path, fixed, seeds=0).left
    assert not atc_py.fix_model(path, fixed, seeds=1, approximate=True).left


def test_dtypes_that_disagree_are_left_and_named(tmp_path: Path) -> None:
    """Rules for both dtypes apply to the one node, and meet at a Cast of float64 to itself."""
    join = helper.make_node("Concat", ["x", "w"], ["y"], axis=0)
    proto = onnx_files.model([join], {"x": (11, [2])}, ["y"], {"w": np.array([-1])})
    onnx.save(proto, tmp_path / "m.onnx")
    done = atc_py.fix_model(tmp_path / "m.onnx", tmp_path / "fixed.onnx", operator_list="base")
    assert done.left[0].code == "ATC3003"
    assert not done.rewrites


@pytest.mark.parametrize(
    ("region", "converts"), [(rotary, True), (pitch, True), (cancelled, False)]
)
def test_conversion_shows_the_difference_by_itself(
    region: Callable[[], Region], converts: bool, tmp_path: Path
) -> None:
    """`convert` takes a region of which its own runs show that float32 keeps it; `check` says so."""
    path = saved(region, tmp_path)
    (check,) = atc_py.check_models(path).models
    assert [each for each in check.findings if "double-as-float32" in each.fixed_by] or not converts
    if not converts:
        with pytest.raises(AtcError):
            atc_py.convert(path, tmp_path / "model.om", fix={})
        return
    atc_py.convert(path, tmp_path / "model.om", fix={})
    x = np.random.default_rng(0).standard_normal((2, 3)).astype(np.float32)
    session = onnxruntime.InferenceSession(path, providers=["CPUExecutionProvider"])
    found = atc_py.InferenceSession(tmp_path / "model.om").run(None, {"x": x})[0]
    (wanted,) = session.run(None, {"x": x})
    assert np.abs(found - wanted).max() <= 5e-3 * np.abs(wanted).max()


def squares(source: str) -> list[onnx.NodeProto]:
    """A region that float32 keeps, as runs show where they may."""
    return [
        node("Cast", [source], ["wide"], to=DOUBLE),
        node("Mul", ["wide", "wide"], ["square"]),
        node("Cast", ["square"], ["y"], to=FLOAT),
    ]


def after_a_loop() -> onnx.ModelProto:
    """Ten trillion steps before the region."""
    value = helper.make_tensor_value_info
    body = helper.make_graph(
        [node("Identity", ["going"], ["on"]), node("Add", ["state", "one"], ["next"])],
        "body",
        [value("step", 7, []), value("going", 9, []), value("state", FLOAT, [2, 3])],
        [value("on", 9, []), value("next", FLOAT, [2, 3])],
    )
    loop = node("Loop", ["most", "true", "x"], ["counted"], body=body)
    weights = {
        "most": np.array(10**13),
        "true": np.ones((), np.bool_),
        "one": np.array(1, np.float32),
    }
    return onnx_files.model([loop, *squares("counted")], {"x": (FLOAT, [2, 3])}, ["y"], weights)


def after_products() -> onnx.ModelProto:
    """More products before the region than a check takes the time for."""
    first = [node("MatMul", ["x", "x"], ["m"]), node("MatMul", ["m", "x"], ["n"])]
    return onnx_files.model([*first, *squares("n")], {"x": (FLOAT, [1024, 1024])}, ["y"], {})


def of_a_large_input() -> onnx.ModelProto:
    return onnx_files.model(squares("x"), {"x": (FLOAT, [1 << 36])}, ["y"], {})


@pytest.mark.parametrize("model", [after_a_loop, after_products, of_a_large_input])
def test_check_runs_nothing_long_or_large(
    model: Callable[[], onnx.ModelProto], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The difference counts as not shown; a run would fail the test, and so would its data."""
    monkeypatch.setattr(measured, "_run", lambda *_args: pytest.fail("the nodes run"))
    monkeypatch.setattr(measured, "_drawn", lambda *_args: pytest.fail("data are drawn"))
    (check,) = atc_py.check_models(onnx_files.save(model(), tmp_path)).models
    doubles = [each for each in check.findings if "dtype_listed" in each.rule]
    assert doubles
    assert all("differ by at most 0.000244 of their range" in each.help.en for each in doubles)


def test_integers_are_drawn_within_given_bounds_alone(tmp_path: Path) -> None:
    """Zeros and ones would show nothing of seconds since 1970."""
    nodes = [
        node("Cast", ["x"], ["wide"], to=DOUBLE),
        node("Sub", ["wide", "epoch"], ["rest"]),
        node("Cast", ["rest"], ["y"], to=FLOAT),
    ]
    model = onnx_files.model(nodes, {"x": (7, [2, 3])}, ["y"], {"epoch": np.array([1.7e9])})
    path, om = onnx_files.save(model, tmp_path), tmp_path / "model.om"
    (check,) = atc_py.check_models(path).models
    remedy = ("--range x=LOW:HIGH", "double-as-float32")
    assert {each.fixed_by for each in check.findings if each.fixed_by} == {remedy}
    (left, *_) = atc_py.fix_model(path, seeds=1).left
    assert "give --range x=LOW:HIGH" in dict(left.unfit)["double-as-float32"].en
    for ranges in ({}, {"x": (1_700_000_000, 1_700_000_099)}):
        with pytest.raises(AtcError):
            atc_py.convert(path, om, fix={"ranges": ranges})
    atc_py.convert(path, om, fix={"ranges": {"x": (0, 9)}})
