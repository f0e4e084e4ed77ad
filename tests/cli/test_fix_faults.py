"""`atc-py fix` on models that state wrong shapes or do not run, and where the output cannot be written."""

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import atc_py
from atc_py.diag.codes import BAD_OPTION, CANNOT_WRITE, REFERENCE_FAILED
from tests.cli.conftest import Result
from tests.end_to_end import run_with_onnxruntime

Atc = Callable[..., Result]

node = helper.make_node


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in an empty folder."""
    monkeypatch.chdir(tmp_path)


def names() -> list[str]:
    """Return the names in the current folder."""
    return sorted(each.name for each in Path().iterdir())


def write(nodes: Sequence[onnx.NodeProto], **constants: Any) -> onnx.ModelProto:
    """Write m.onnx from x to y, 2x6 in float32, at opset 18."""
    value = helper.make_tensor_value_info
    graph = helper.make_graph(
        list(nodes),
        "m",
        [value("x", TensorProto.FLOAT, [2, 6])],
        [value("y", TensorProto.FLOAT, [2, 6])],
        [numpy_helper.from_array(np.asarray(each), name) for name, each in constants.items()],
    )
    opsets = [helper.make_opsetid("", 18), helper.make_opsetid("my.own", 1)]
    model = helper.make_model(graph, opset_imports=opsets, ir_version=8)
    onnx.save(model, "m.onnx")
    return model


MISH = [node("Mish", ["x"], ["y"], "mish")]


def test_a_model_that_does_not_run_is_not_written(atc: Atc) -> None:
    write([node("Mish", ["x"], ["h"]), node("Unknown", ["h"], ["y"], domain="my.own")])
    done = atc("fix", "m.onnx")
    assert (done.status, REFERENCE_FAILED.id in done.err) == (4, True), done.err
    assert "--random 0" in done.err
    assert names() == ["m.onnx"]
    done = atc("fix", "m.onnx", "--seeds", "0", "--json")
    assert done.status == 1
    (rewrite,) = json.loads(done.out)["rewrites"]
    assert rewrite["difference"] is None
    assert "--random 0" in rewrite["shown"]["why"]["en"]


@pytest.mark.parametrize("value", ["h", "y", "x"])
def test_a_model_with_wrong_shapes_is_refused_or_right(atc: Atc, value: str) -> None:
    model = write([node("Mish", ["x"], ["h"]), node("Relu", ["h"], ["y"])])
    graph = model.graph
    graph.value_info.append(helper.make_tensor_value_info("h", TensorProto.FLOAT, [2, 6]))
    for each in (*graph.value_info, *graph.output, *graph.input):
        if each.name == value:
            each.type.tensor_type.shape.dim[1].dim_value = 7
    onnx.save(model, "m.onnx")
    done = atc("fix", "m.onnx")
    assert "Traceback" not in done.err
    if done.status:
        assert done.status in {1, 4}
        assert "error[ATC" in done.err + done.out
        return
    dims = (2, 7 if value == "x" else 6)
    feeds = {"x": np.random.default_rng(0).standard_normal(dims).astype(np.float32)}
    (wanted,) = run_with_onnxruntime(model, feeds).values()
    (found,) = run_with_onnxruntime(onnx.load("m.fixed.onnx"), feeds).values()
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


def test_names_that_fix_makes_may_be_taken(atc: Atc) -> None:
    """Values, constants and nodes have the names that the new ones would get."""
    write(MISH)
    assert atc("fix", "m.onnx").status == 0
    made = onnx.load("m.fixed.onnx").graph
    taken = [name for each in made.node for name in each.output if name != "y"]
    taken += [each.name for each in made.initializer]
    nodes = [node("Neg", ["x" if at == 0 else taken[at - 1]], [n]) for at, n in enumerate(taken)]
    for at, (each, new) in enumerate(zip(nodes, made.node, strict=False)):
        each.name = new.name if at % 2 else each.name
    model = write([*nodes, node("Mish", [taken[-1]], ["y"], "mish")])
    done = atc("fix", "m.onnx")
    assert done.status == 0, done.err
    feeds = {"x": np.random.default_rng(0).standard_normal((2, 6)).astype(np.float32)}
    (wanted,) = run_with_onnxruntime(model, feeds).values()
    (found,) = run_with_onnxruntime(onnx.load("m.fixed.onnx"), feeds).values()
    np.testing.assert_allclose(found, wanted, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("output", ["nowhere/o.onnx", "m.onnx/o.onnx", "taken"])
def test_an_output_that_cannot_be_written_is_reported(atc: Atc, output: str) -> None:
    write(MISH)
    Path("taken").mkdir()
    done = atc("fix", "m.onnx", "-o", output)
    assert (done.status, CANNOT_WRITE.id in done.err) == (3, True), done.err
    assert names() == ["m.onnx", "taken"]


def test_a_folder_without_room_for_the_trial_is_reported(
    atc: Atc, monkeypatch: pytest.MonkeyPatch
) -> None:
    import tempfile

    def full(**_: object) -> str:
        raise OSError(28, "No space left on device")

    write(MISH)
    monkeypatch.setattr(tempfile, "mkdtemp", full)
    done = atc("fix", "m.onnx")
    assert (done.status, CANNOT_WRITE.id in done.err) == (3, True), done.err
    assert names() == ["m.onnx"]


def test_weights_do_not_replace_those_of_the_model(atc: Atc) -> None:
    weights = np.random.default_rng(0).standard_normal((2, 6, 64)).astype(np.float32)
    model = write(
        [
            node("Mish", ["x"], ["h"]),
            node("ReduceSum", ["w", "axes"], ["s"], keepdims=0),
            node("Add", ["h", "s"], ["y"]),
        ],
        w=weights,
        axes=np.array([2]),
    )
    onnx.save(model, "m.onnx", save_as_external_data=True, location="o.onnx.data", size_threshold=0)
    before = Path("o.onnx.data").read_bytes()
    done = atc("fix", "m.onnx", "-o", "o.onnx", "--external-data")
    assert (done.status, BAD_OPTION.id in done.err) == (2, True), done.err
    assert names() == ["m.onnx", "o.onnx.data"]
    assert Path("o.onnx.data").read_bytes() == before
    done = atc("fix", "m.onnx", "-o", "p.onnx", "--external-data")
    assert done.status == 0, done.err
    assert names() == ["m.onnx", "o.onnx.data", "p.onnx", "p.onnx.data"]


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_an_interrupted_proof_leaves_nothing(
    monkeypatch: pytest.MonkeyPatch, error: type[BaseException]
) -> None:
    from atc_py.compare.proof import fix_form

    def stop(*_: object) -> None:
        assert any(each.startswith(".atc-py-work-") for each in names()), "the trial is here"
        raise error

    write(MISH)
    Path("m.fixed.onnx").write_bytes(b"before")
    monkeypatch.setattr(fix_form, "prove", stop)
    with pytest.raises(error):
        atc_py.fix_model("m.onnx")
    assert names() == ["m.fixed.onnx", "m.onnx"]
    assert Path("m.fixed.onnx").read_bytes() == b"before"


def test_a_link_as_the_output_stays_one(atc: Atc) -> None:
    write(MISH)
    Path("far").mkdir()
    Path("o.onnx").symlink_to(Path("far/real.onnx"))
    assert atc("fix", "m.onnx", "-o", "o.onnx").status == 0
    assert Path("o.onnx").is_symlink()
    onnx.checker.check_model(onnx.load("far/real.onnx"))
