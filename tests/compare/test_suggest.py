"""Nodes to keep in float32: the search repairs what is broken, and says what it cannot."""

from collections.abc import Mapping
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import MagicMock

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import atc_py
from atc_py.compare import trials
from atc_py.compare.candidates import _added_error, find_candidates
from atc_py.compare.suggest import _Search
from atc_py.diag import NO_KERNEL, AtcError, Place
from atc_py.diag.codes import BAD_OPTION
from atc_py.package.reader import open_model
from atc_py.report.layers.suggestion import suggestion_blocks
from atc_py.results.layer_comparison import LayerComparison, Suggestion
from atc_py.text import Text
from tests.compare.broken_networks import BROKEN, Broken, built, node, slow_drift, tiny_layer_norm

Array = np.ndarray

MODELS = Path(__file__).resolve().parents[2].parent / "shared" / "models"

KEPT = {
    "sum_of_squares": ["n_sum", "n_norm"],
    "billion_mask": [],
    "multiplied_mask": ["n_bias"],
    "lowest_mask": [],
    "large_logits": ["n_turned", "n_y"],
    "tiny_variance": ["n_squares", "n_variance", "n_safe", "n_deviation"],
    "growing_state": ["n_h15", "n_h16", "n_h17", "n_h18", "n_h19", "n_y"],
    "accumulating_mean": ["n_h9", "n_y"],
    "large_indices": ["n_next"],
}
"""What float16 cannot hold is made, handed on and read by these nodes, and by no others."""


def searched(
    model: onnx.ModelProto,
    feeds: Mapping[str, Array],
    folder: Path,
    targets: Mapping[str, float] | None = None,
    trials: int = 60,
    **options: str,
) -> Suggestion:
    """Return the suggestion for a model, which is saved as model.onnx."""
    onnx.save(model, folder / "model.onnx")
    done = atc_py.compare_model(
        folder / "model.onnx", inputs=feeds, suggest=targets or {}, suggest_trials=trials,
        **options,  # type: ignore[arg-type]
    )  # fmt: skip
    assert done.suggestion is not None
    assert done.suggestion.trials <= trials
    return done.suggestion


def lines(found: Suggestion) -> list[str]:
    return [each.line for each in found.kept]


def outputs(done: LayerComparison) -> dict[str, object]:
    return {name: done.layers[at].figures for name, at in done.outputs.items()}


def test_every_broken_network_is_here() -> None:
    assert KEPT.keys() == BROKEN.keys()


@pytest.mark.parametrize("name", BROKEN)
def test_broken_network_is_repaired_by_the_file(name: str, tmp_path: Path) -> None:
    broken = BROKEN[name]()
    found = searched(broken.model, broken.feeds, tmp_path)
    assert found.reached
    assert found.needed is not broken.harmless
    assert lines(found) == KEPT[name]
    assert found.minimal or found.smallest or not found.needed
    if found.kept:
        _gives_what_it_promises(found, broken, tmp_path)


def _gives_what_it_promises(found: Suggestion, broken: Broken, tmp_path: Path) -> None:
    """Check that the file keeps what the suggestion says it keeps."""
    keep, om = tmp_path / "keep.txt", tmp_path / "kept.om"
    keep.write_text(found.text, encoding="utf-8")
    atc_py.convert(tmp_path / "model.onnx", om, keep_dtype=keep)
    with atc_py.load(om) as model:
        kept = model.run(broken.feeds)["y"]
    again = atc_py.compare_model(tmp_path / "model.onnx", inputs=broken.feeds, keep_dtype=keep)
    assert outputs(again) == outputs(found.after)
    assert (
        again.first_failing is None
        or broken.harmless
        or not again.layers[again.outputs["y"]].faults
    )
    assert np.isfinite(kept).all()


@pytest.mark.sweep
def test_four_nodes_are_the_fewest_for_a_tiny_variance(tmp_path: Path) -> None:
    """Check that all 63 smaller sets fail: a value float16 takes for 0 goes through all four."""
    broken = BROKEN["tiny_variance"]()
    found = searched(broken.model, broken.feeds, tmp_path, trials=120)
    assert found.smallest
    assert len(found.kept) == 4


def test_layer_norm_of_tiny_values_is_one_kernel_and_needs_no_node(tmp_path: Path) -> None:
    broken = tiny_layer_norm()
    found = searched(broken.model, broken.feeds, tmp_path)
    assert not found.needed
    done = atc_py.compare_model(tmp_path / "model.onnx", inputs=broken.feeds)
    assert "LayerNorm" in {layer.op for layer in done.layers}
    assert done.layers[done.outputs["y"]].figures.cosine > 0.999999


def test_model_in_which_nothing_is_computed_reaches_the_target(tmp_path: Path) -> None:
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, [4])
    y = helper.make_tensor_value_info("y", TensorProto.FLOAT, [4])
    graph = helper.make_graph([helper.make_node("Identity", ["x"], ["y"])], "same", [x], [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 13)], ir_version=8)
    found = searched(model, {"x": np.ones(4, np.float32)}, tmp_path)
    assert found.reached
    assert not found.needed
    assert not found.kept


def test_search_gives_the_same_again(tmp_path: Path) -> None:
    broken = BROKEN["multiplied_mask"]()
    first, second = (searched(broken.model, broken.feeds, tmp_path) for _ in range(2))
    assert (lines(first), first.trials) == (lines(second), second.trials)
    assert outputs(first.after) == outputs(second.after)


def test_drift_is_called_drift_and_takes_many_nodes(tmp_path: Path) -> None:
    broken = slow_drift()
    onnx.save(broken.model, tmp_path / "model.onnx")
    done = atc_py.compare_model(tmp_path / "model.onnx", inputs=broken.feeds)
    first = done.first_failing
    assert first is not None
    assert first.source == broken.node
    root = done.root_of(first)
    assert root is not None
    assert (root.source, first.steps) == ("n_h1", 116)
    assert max(b.error - a.error for a, b in pairwise(done.layers)) < 0.001
    found = searched(broken.model, broken.feeds, tmp_path, trials=24)
    assert found.reached
    assert 3 < len(found.kept) < 160


def test_target_out_of_reach_ends_the_search_with_the_first_compilation(tmp_path: Path) -> None:
    """Check that a target missed with everything in float32 is missed by every set."""
    broken = BROKEN["large_logits"]()
    stages: list[str] = []
    onnx.save(broken.model, tmp_path / "model.onnx")
    done = atc_py.compare_model(
        tmp_path / "model.onnx",
        inputs=broken.feeds,
        suggest={"snr": 1000.0},
        on_stage=stages.append,
    )
    found = done.suggestion
    assert found is not None
    assert (found.needed, found.reached, found.out_of_reach) == (True, False, True)
    assert (found.trials, found.kept, found.text) == (1, (), "")
    assert not found.after.layers[found.after.outputs["y"]].faults
    said = [each if isinstance(each, str) else each.title for each in suggestion_blocks(found)]
    assert "cannot be reached by keeping nodes in float32: it is missed with all 2 " in said[0]
    assert "where y has cosine 1 and SNR " in said[0]
    assert "nothing is recommended" in said[2]
    assert said[4] == "Outputs with all candidates kept"
    assert [stage for stage in stages if "trial" in stage] == [
        "suggest: trial 1 of at most 60, 2 of 2 kept; no set reaches the target yet"
    ]


def test_search_tells_how_far_it_is_and_the_best_so_far(tmp_path: Path) -> None:
    broken = BROKEN["sum_of_squares"]()
    stages: list[str] = []
    onnx.save(broken.model, tmp_path / "model.onnx")
    done = atc_py.compare_model(
        tmp_path / "model.onnx", inputs=broken.feeds, suggest={}, suggest_trials=20,
        on_stage=stages.append,
    )  # fmt: skip
    assert done.suggestion is not None
    lines_of = [stage for stage in stages if stage.startswith("suggest: trial ")]
    assert len(lines_of) == done.suggestion.trials
    assert lines_of[0].endswith("of at most 20, 4 of 4 kept; no set reaches the target yet")
    assert lines_of[1].endswith("best so far 4 kept")
    assert lines_of[-1].endswith("best so far 2 kept")


def test_without_a_helpful_node_there_is_no_suggestion(tmp_path: Path) -> None:
    x = np.ones((2, 4), np.float32)
    model = built([node("Sin", "x", "y")], {"x": x}, {})
    found = searched(
        model, {"x": x}, tmp_path, {"snr": 1000.0}, precision_mode="must_keep_origin_dtype"
    )
    assert (found.needed, found.reached, found.kept, found.candidates) == (True, False, (), 0)
    assert found.out_of_reach
    assert "no node can be kept" in str(suggestion_blocks(found)[0])


def test_limit_of_trials_is_kept(tmp_path: Path) -> None:
    broken = BROKEN["growing_state"]()
    found = searched(broken.model, broken.feeds, tmp_path, trials=4)
    assert found.trials == 4
    assert found.reached
    assert not found.smallest
    with pytest.raises(AtcError, match="needs 4 trials"):
        searched(broken.model, broken.feeds, tmp_path, trials=3)


@pytest.mark.parametrize("name", ["", "# sum", "OpType::x", "a\nb", " sum"])
def test_node_that_a_file_cannot_name_is_reached_by_its_operator(name: str, tmp_path: Path) -> None:
    broken = BROKEN["sum_of_squares"]()
    broken.model.graph.node[1].name = name
    found = searched(broken.model, broken.feeds, tmp_path)
    assert lines(found) == ["OpType::ReduceSumD", "n_norm"]
    keep = tmp_path / "keep.txt"
    keep.write_text(found.text, encoding="utf-8")
    again = atc_py.compare_model(tmp_path / "model.onnx", inputs=broken.feeds, keep_dtype=keep)
    assert outputs(again) == outputs(found.after)


def test_lines_of_the_user_stay_in_the_file(tmp_path: Path) -> None:
    broken = BROKEN["sum_of_squares"]()
    own = tmp_path / "own.txt"
    own.write_text("# mine\nn_norm\n", encoding="utf-8")
    found = searched(broken.model, broken.feeds, tmp_path, keep_dtype=str(own))
    assert lines(found) == ["n_sum"]
    assert found.text == "# mine\nn_norm\nn_sum\n"


def test_node_without_a_float32_kernel_is_not_a_candidate(tmp_path: Path) -> None:
    x = np.full((1, 16, 8, 8), 900, np.float32)
    nodes = [node("Conv", "x w", "c"), node("Sub", "c c", "d"), node("Mul", "d d", "y")]
    model = built(nodes, {"x": x}, {"w": np.ones((16, 16, 3, 3), np.float32)})
    found = searched(model, {"x": x}, tmp_path, soc="Ascend310")
    (excluded,) = found.excluded
    assert (excluded.line, excluded.reason) == ("n_c", "no float32 kernel on this SoC")
    assert not found.reached
    assert "n_c" not in lines(found)


def test_lines_that_a_trial_refuses_are_no_candidates_from_then_on() -> None:
    origins = [SimpleNamespace(index=at, name=f"n{at}") for at in range(2)]
    nodes = [SimpleNamespace(origins=[each], op="Relu", engine="aicore") for each in origins]
    search: Any = SimpleNamespace(
        _first=SimpleNamespace(model=SimpleNamespace(nodes=nodes)),
        _candidates={"n1": 0},
        _exclude=MagicMock(),
    )
    _Search._exclude_refused(search, NO_KERNEL.error(Text("none"), place=Place(node=1)))
    assert search._exclude.call_args.args[0] == {"n1"}
    for code, at in ((NO_KERNEL, 0), (BAD_OPTION, 1)):
        with pytest.raises(AtcError):
            _Search._exclude_refused(search, code.error(Text("other"), place=Place(node=at)))
    assert search._exclude.call_count == 1


def test_nodes_that_stand_alone_when_they_are_kept_are_candidates_too(tmp_path: Path) -> None:
    """Check one operator that pads and convolves in float16, with values too small for either."""
    x = np.full((1, 4, 6, 6), 1e-8, np.float32)
    pads = np.array([0, 0, 1, 1, 0, 0, 1, 1], np.int64)
    nodes = [
        node("Pad", "x pads", "p"),
        node("Conv", "p w", "c", kernel_shape=[3, 3]),
        node("Mul", "c large", "y"),
    ]
    constants: dict[str, Array] = {"pads": pads, "large": np.array([1e8], np.float32)}
    constants["w"] = np.ones((4, 4, 3, 3), np.float32)
    found = searched(built(nodes, {"x": x}, constants), {"x": x}, tmp_path)
    assert found.reached
    assert {*lines(found)} == {"n_p", "n_c", "n_y"}


def test_several_samples_are_all_repaired(tmp_path: Path) -> None:
    x = np.ones((2, 64), np.float32)
    nodes = [node("Mul", "x big", "a"), node("Mul", "a small", "y")]
    constants = {"big": np.array([3e4], np.float32), "small": np.array([1e-4], np.float32)}
    onnx.save(built(nodes, {"x": x}, constants), tmp_path / "model.onnx")
    done = atc_py.compare_model(tmp_path / "model.onnx", samples=3, suggest={})
    assert done.suggestion is not None
    assert done.suggestion.reached
    assert lines(done.suggestion) == ["n_a", "n_y"]
    assert done.suggestion.after.samples == 3


def test_casts_and_changes_of_shape_are_not_candidates(tmp_path: Path) -> None:
    x = np.ones((2, 4), np.float32)
    nodes = [
        node("Sin", "x", "a"),
        node("Reshape", "a shape", "b"),
        node("Cast", "b", "c", to=onnx.TensorProto.INT32),
        helper.make_node("Neg", ["c"], ["d"], name="n_d"),
        node("Cast", "d", "y", to=onnx.TensorProto.FLOAT),
    ]
    model = built(nodes, {"x": x}, {"shape": np.array([8], np.int64)})
    onnx.save(model, tmp_path / "model.onnx")
    atc_py.convert(tmp_path / "model.onnx", tmp_path / "model.om")
    with open_model(tmp_path / "model.om") as package:
        found = find_candidates(package.description)
    assert {line: each.nodes for line, each in found.items()} == {"n_a": 1}


@pytest.mark.sweep
def test_exported_network_that_float16_ruins_is_brought_to_its_target() -> None:
    path = MODELS / "mobilenetv2_opset13" / "model.onnx"
    if not path.is_file():
        pytest.skip("the shared models are not here")
    done = atc_py.compare_model(path, suggest={"cosine": 0.99}, suggest_trials=16)
    found = done.suggestion
    assert found is not None
    assert found.needed
    assert found.reached
    assert found.after.layers[found.after.outputs["output"]].figures.cosine >= 0.99
    assert found.trials <= 16


@pytest.mark.parametrize("targets", [{"cosine": 1.5}, {"cosine": float("nan")}, {"grace": 1.0}])
def test_targets_without_sense_are_refused(tmp_path: Path, targets: dict[str, float]) -> None:
    with pytest.raises(atc_py.AtcError, match="ATC1001"):
        atc_py.compare_model(tmp_path / "gone.onnx", suggest=targets)


@pytest.mark.parametrize(
    ("here", "reached", "added"),
    [(0.5, 0.25, 0.25), (0.25, 0.25, 0.0), (0.25, 0.5, 0.0), (np.inf, 0.5, np.inf), (1, np.inf, 0)],
)
def test_nodes_are_ordered_by_the_error_that_they_add(
    here: float, reached: float, added: float
) -> None:
    assert _added_error(here, reached) == added


@pytest.mark.parametrize(("form", "opened"), [(False, 1), (True, 2)])
def test_trials_of_a_search_share_an_original_of_its_own_form(
    form: bool, opened: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One that has another form is written to the folder of its trial, which goes with that."""
    originals: list[SimpleNamespace] = []

    def open_original(*_: object) -> SimpleNamespace:
        originals.append(SimpleNamespace(form=form))
        return originals[-1]

    monkeypatch.setattr(trials, "open_original", open_original)
    own: Any = MagicMock()
    search = trials._Search(own)
    assert (search.reference(tmp_path) is search.reference(tmp_path)) is not form
    assert len(originals) == opened
