"""Plans of dtypes: the cheapest assignment that reaches the target, compared with all others."""

import json
from collections.abc import Iterable
from itertools import combinations, pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, parser

import atc_py
from atc_py.compare.reference import ReferenceModel
from atc_py.compare.reference_run import ReferenceRun
from atc_py.cost.network import network_time
from atc_py.diag import AtcError
from atc_py.diag.codes import BAD_OPTION
from atc_py.onnx_graph.reading.read import read_model
from atc_py.package.reader import open_model
from atc_py.quantizing.plan.assignment import ALL_NARROW, Assignment
from atc_py.quantizing.plan.error_model import ErrorModel, error_share, share_of_comparison
from atc_py.quantizing.plan.moves import _belong
from atc_py.quantizing.plan.plan_model import try_int8
from atc_py.report.planning.tables import FORMATS, render_plan
from atc_py.results.plan import DtypePlan
from atc_py.tensor.dtypes import DType
from atc_py.text import in_language
from tests.compare.broken_networks import BROKEN, built, node
from tests.quantizing.float_networks import FloatSketch, samples_of
from tests.sampling import alternating, sampled

Array = np.ndarray

SOC = "Ascend310P3"


def chain(folder: Path, size: int = 262144) -> tuple[Path, dict[str, Array]]:
    """Save a chain of large elementwise nodes, whose casts cost about what they save."""
    nodes = [
        node("Mul", "x half", "scaled"),
        node("Exp", "scaled", "grown"),
        node("Mul", "grown x", "product"),
        node("Sigmoid", "product", "gate"),
        node("Mul", "gate x", "y"),
    ]
    feeds = {"x": np.random.default_rng(3).standard_normal((4, size // 4)).astype(np.float32) * 3}
    path = folder / "model.onnx"
    onnx.save(built(nodes, feeds, {"half": np.float32(0.5)[None]}), path)
    return path, feeds


def measured(
    model: Path, feeds: dict[str, Array], kept: Iterable[str], folder: Path
) -> tuple[float, float]:
    """Return estimated seconds and SNR with nodes in float32, without anything of the planner."""
    keep = folder / "keep.txt"
    keep.write_text("".join(f"{line}\n" for line in kept))
    options = {"keep_dtype": keep} if keep.stat().st_size else {}
    atc_py.convert(model, folder / "tried.om", soc=SOC, **options)  # type: ignore[arg-type]
    with open_model(folder / "tried.om") as package:
        seconds = network_time(package.description).expected
    done = atc_py.compare_model(model, inputs=feeds, soc=SOC, **options)  # type: ignore[arg-type]
    return seconds, done.layers[done.outputs["y"]].judged.snr


@pytest.fixture(scope="module")
def all_sets(tmp_path_factory: pytest.TempPathFactory) -> list[tuple[float, float]]:
    """Return time and SNR of every set of nodes of the chain in float32."""
    folder = tmp_path_factory.mktemp("sets")
    model, feeds = chain(folder)
    lines = [each.name for each in onnx.load(model).graph.node]
    sets = (kept for size in range(len(lines) + 1) for kept in combinations(lines, size))
    return [measured(model, feeds, kept, folder) for kept in sets]


@pytest.mark.parametrize(("share", "trials"), alternating([0.1, 0.4, 0.7, 0.95], [120, 24], 2))
def test_plan_is_optimal_where_all_sets_can_be_tried(
    share: float, trials: int, all_sets: list[tuple[float, float]], tmp_path: Path
) -> None:
    model, feeds = chain(tmp_path)
    ratios = sorted(snr for _, snr in all_sets)
    least = ratios[int(share * (len(ratios) - 1))] - 1e-6
    wanted = min(seconds for seconds, snr in all_sets if snr >= least)
    plan = atc_py.plan_model(model, target={"snr": least}, samples=[feeds], soc=SOC, trials=trials)
    assert plan.reached
    assert plan.trials <= trials
    assert plan.exhaustive == (trials == 120)
    assert plan.chosen.seconds == pytest.approx(wanted, rel=1e-9)


@pytest.mark.parametrize("name", sampled(["sum_of_squares"], ["tiny_variance", "large_logits"]))
def test_plan_is_never_slower_than_the_fewest_nodes(name: str, tmp_path: Path) -> None:
    broken, path = BROKEN[name](), tmp_path / "model.onnx"
    onnx.save(broken.model, path)
    feeds = dict(broken.feeds)
    found = atc_py.compare_model(path, inputs=feeds, soc=SOC, suggest={"snr": 50.0}).suggestion
    plan = atc_py.plan_model(path, target={"snr": 50.0}, samples=[feeds], soc=SOC, trials=80)
    assert found is not None
    assert plan.reached == found.reached
    kept = [each.line for each in found.kept]
    (tmp_path / "keep.txt").write_text("".join(f"{line}\n" for line in kept))
    atc_py.convert(path, tmp_path / "model.om", soc=SOC, keep_dtype=tmp_path / "keep.txt")
    with open_model(tmp_path / "model.om") as package:
        assert plan.chosen.seconds <= network_time(package.description).expected


def planned(folder: Path, **options: object) -> tuple[Path, DtypePlan]:
    """Return a plan of the chain."""
    model, feeds = chain(folder, 4096)
    given = {"target": {"snr": 66.0}, "samples": [feeds], "soc": SOC, "trials": 40} | options
    return model, atc_py.plan_model(model, **given)  # type: ignore[arg-type]


def test_files_give_what_was_planned(tmp_path: Path) -> None:
    model, plan = planned(tmp_path, target={"snr": 60.0})
    keep = tmp_path / "keep.txt"
    keep.write_text(plan.keep_text)
    options = {"keep_dtype": keep} if plan.keep_text else {}
    _, feeds = chain(tmp_path, 4096)
    done = atc_py.compare_model(model, inputs=feeds, soc=SOC, **options)  # type: ignore[arg-type]
    judged = done.layers[done.outputs["y"]].judged
    assert plan.chosen.outputs["y"].snr == pytest.approx(judged.snr)


def test_curve_is_not_beaten(tmp_path: Path) -> None:
    _, plan = planned(tmp_path)
    times = [each.seconds for each in plan.curve]
    shares = [each.share for each in plan.curve]
    assert times == sorted(times)
    assert shares == sorted(shares, reverse=True)
    assert plan.chosen in plan.curve
    assert plan.float32 is not None


def test_own_lines_hold_in_every_trial(tmp_path: Path) -> None:
    own = tmp_path / "own.txt"
    own.write_text("n_grown\n")
    _, plan = planned(tmp_path, keep_dtype=own)
    assert plan.keep_text.splitlines()[0] == "n_grown"
    assert "n_grown" not in plan.chosen.dtypes


def test_bfloat16_is_taken_where_float16_overflows(tmp_path: Path) -> None:
    """Check numbers of a large model: bfloat16 holds what float16 loses, and costs less than float32."""
    names = ["x", "a", "b", "c", "d"]
    nodes = [node("MatMul", f"{a} weight", b) for a, b in pairwise(names)]
    nodes.append(node("Mul", "d few", "y"))
    generator = np.random.default_rng(0)
    feeds = {"x": generator.random((256, 1024)).astype(np.float32) + 1}
    weight = generator.random((1024, 1024)).astype(np.float32) * 2
    constants = {"weight": weight, "few": np.float32(1e-12)[None]}
    path = tmp_path / "model.onnx"
    onnx.save(built(nodes, feeds, constants), path)
    given = {"target": {"snr": 40.0}, "samples": [feeds], "soc": "Ascend910B1", "trials": 8}
    plan = atc_py.plan_model(path, **given)  # type: ignore[arg-type]
    assert plan.reached
    assert "bfloat16" in plan.chosen.dtypes.values()
    custom = tmp_path / "custom.txt"
    custom.write_text(plan.custom_text)
    keep = tmp_path / "keep.txt"
    keep.write_text(plan.keep_text)
    done = atc_py.compare_model(
        path, inputs=feeds, soc="Ascend910B1", customize_dtypes=custom, keep_dtype=keep
    )
    assert done.layers[done.outputs["y"]].judged.snr >= 40
    assert plan.float32 is not None
    assert plan.chosen.seconds < plan.float32.seconds


def test_some_samples_judge_and_all_verify(tmp_path: Path) -> None:
    broken, path = BROKEN["sum_of_squares"](), tmp_path / "model.onnx"
    onnx.save(broken.model, path)
    feeds = np.random.default_rng(0).standard_normal((9, 2, 64)).astype(np.float32)
    feeds[5] *= 100
    np.save(tmp_path / "all.npy", feeds)
    plan = atc_py.plan_model(
        path, target={"snr": 50.0}, samples=tmp_path / "all.npy", judge=3, soc=SOC
    )
    assert (plan.samples, plan.judged) == (9, 3)
    assert plan.reached == (plan.chosen.snr >= 50)


@pytest.fixture(scope="module")
def shown_plan(tmp_path_factory: pytest.TempPathFactory) -> DtypePlan:
    return planned(tmp_path_factory.mktemp("shown"))[1]


@pytest.mark.parametrize("form", FORMATS)
def test_formats_show_plan_and_curve(form: str, shown_plan: DtypePlan) -> None:
    plan = shown_plan
    text = render_plan(form, plan)
    assert "float16" in text
    if form == "json":
        found = json.loads(text)
        assert found["reached"] is plan.reached
        assert len(found["curve"]) == len(plan.curve)
    if form == "html":
        assert text.count("<thead>") == text.count("<table>") > 1
        assert "Error against time" in text
    assert "float16" in plan._repr_html_()


def test_share_is_1_at_the_target() -> None:
    assert error_share(0.99, 40, {"cosine": 0.99}) == pytest.approx(1)
    assert error_share(1, 40, {"snr": 40.0}) == pytest.approx(1)
    assert error_share(0.98, 43, {"cosine": 0.99, "snr": 40.0}) == pytest.approx(2)
    assert error_share(1, float("inf"), {"snr": 40.0}) == 0
    assert error_share(float("nan"), 0, {"cosine": 0.9}) == float("inf")


def test_share_is_that_of_rounding_the_makers_of_values(tmp_path: Path) -> None:
    """2048.5 in the middle is a step of float16 away, 0.5 of 2048.5; the other node is exact."""
    x = np.full((1, 4), 2048, np.float32)
    nodes = [node("Add", "x half", "middle"), node("Sub", "middle large", "y")]
    constants = {"half": np.float32(0.5)[None], "large": np.float32(2044)[None]}
    onnx.save(built(nodes, {"x": x}, constants), tmp_path / "model.onnx")
    reference = ReferenceModel(read_model(tmp_path / "model.onnx"))
    run = ReferenceRun(reference, {"x": x})
    model = ErrorModel(reference, [({"x": x}, run)], {"snr": 20.0})
    assert model.share(["middle"], DType.FLOAT16) == pytest.approx(100 / 9**2)
    assert model.share(["nothing"], DType.FLOAT16) == 0
    assert model.share(["middle"], DType.FLOAT32) == 0


@pytest.mark.parametrize(
    "fault", [{"stopped": "overflow"}, {"uncompared": ("y",)}, {"outputs": {}}]
)
def test_share_is_infinite_where_an_output_is_missing(fault: dict[str, object]) -> None:
    judged = SimpleNamespace(cosine=1.0, snr=float("inf"))
    layer = SimpleNamespace(judged=judged, figures=SimpleNamespace(lost_share=0.0), faults=())
    whole = {"stopped": "", "uncompared": (), "layers": (layer,), "outputs": {"y": 0}}
    done: Any = SimpleNamespace(**whole)
    assert share_of_comparison(done, {}) == 0
    done = SimpleNamespace(**{**whole, **fault})
    assert share_of_comparison(done, {}) == float("inf")


@pytest.mark.parametrize(
    "options",
    [
        {"target": {}},
        {"target": {"top7": 1.0}},
        {"trials": 1},
        {"judge": 0},
        {"precision_mode_v2": "origin"},
        {"samples": 0},
    ],
)
def test_options_without_meaning_are_refused(options: dict[str, object], tmp_path: Path) -> None:
    with pytest.raises(AtcError) as caught:
        planned(tmp_path, **options)
    assert caught.value.diagnostics[0].code is BAD_OPTION


def test_layers_on_int8_make_a_quicker_plan(tmp_path: Path) -> None:
    model = large_convolutions(tmp_path)
    samples = samples_of(3, 1, 64, 12, 12)
    mixed = tmp_path / "mixed.onnx"
    given = {"target": {"snr": 25.0}, "samples": samples, "soc": SOC, "trials": 24}
    plan = atc_py.plan_model(model, int8=mixed, **given)  # type: ignore[arg-type]
    assert plan.reached
    assert plan.chosen.int8
    assert plan.chosen.seconds < plan.float16.seconds
    done = atc_py.compare_model(mixed, reference=model, samples=samples, soc=SOC)
    judged = done.layers[done.outputs["y"]].judged
    assert judged.snr == pytest.approx(plan.chosen.outputs["y"].snr)


@pytest.mark.parametrize(
    ("most", "sizes"), [(5, [4, 6, 5, 6, 6, 6]), (0, [4, 2, 1, *[1] * 8]), (8, [])]
)
def test_layers_on_int8_are_bisected_and_then_added_one_by_one(most: int, sizes: list[int]) -> None:
    class Runs:
        """Trials that reach the target with `most` layers on int8."""

        def __init__(self) -> None:
            self.compilation = None
            self.found = {ALL_NARROW: SimpleNamespace(model=None, seconds=1.0)}
            self.tried: list[int] = []

        @property
        def count(self) -> int:
            return len(self.tried)

        def run(self, assignment: Assignment, _faster_than: float = 0.0) -> Any:
            self.tried.append(len(assignment.int8))
            reached = len(assignment.int8) <= most
            return SimpleNamespace(assignment=assignment, model=None, reached=reached, seconds=0.5)

    runs: Any = Runs()
    order = [f"layer {at}" for at in range(8)]
    models: Any = SimpleNamespace(
        layers=order, lines=lambda _, broad: broad, cheapest_first=lambda *_: order
    )
    try_int8(runs, models, ALL_NARROW, [], 24, lambda _: None)
    assert runs.tried == [8, *sizes]


def test_two_lines_move_together_if_they_are_neighbors_or_change_places() -> None:
    start, near = Assignment(broad=frozenset({"a"})), {"a": {"b": 1.0}, "b": {"a": 1.0}}
    wider, wider_b = {"c": "float32"}, {"b": "float32"}
    assert _belong({"a": "float16"}, wider, start, near)
    assert _belong({"a": "float16"}, {"b": "bfloat16"}, start, near)
    assert not _belong(wider_b, wider, start, near)
    assert not _belong({"a": "float16"}, {"a": "bfloat16"}, start, near)


@pytest.mark.sweep
def test_no_layer_is_on_int8_where_the_target_is_beyond_it(tmp_path: Path) -> None:
    plan = atc_py.plan_model(
        large_convolutions(tmp_path),
        int8=tmp_path / "none.onnx",
        target={"snr": 60.0},
        samples=samples_of(3, 1, 64, 12, 12),
        soc=SOC,
        trials=24,
    )
    assert not plan.chosen.int8
    assert not (tmp_path / "none.onnx").exists()


def large_convolutions(folder: Path) -> Path:
    """Save two convolutions that are large enough to be quicker on int8."""
    net = FloatSketch()
    x = net.input("x", [1, 64, 12, 12])
    x = net.add("Conv", [x, net.weight("w1", 512, 64, 3, 3, scale=0.04)], "c1", pads=[1] * 4)
    x = net.add("Relu", [x], "r1")
    net.add("Conv", [x, net.weight("w2", 512, 512, 3, 3, scale=0.014)], "y", pads=[1] * 4)
    return net.save(folder / "model.onnx", "y")


def test_processes_make_the_same_plan(tmp_path: Path) -> None:
    plans = [planned(tmp_path, trials=12, jobs=jobs)[1] for jobs in (1, 2)]
    texts = [render_plan("json", plan) for plan in plans]
    assert texts[0] == texts[1]


def test_processes_make_the_same_suggestion(tmp_path: Path) -> None:
    broken, path = BROKEN["tiny_variance"](), tmp_path / "model.onnx"
    onnx.save(broken.model, path)
    given = {"inputs": dict(broken.feeds), "suggest": {"snr": 50.0}, "suggest_trials": 12}
    found = [
        atc_py.compare_model(path, jobs=jobs, **given).suggestion  # type: ignore[arg-type]
        for jobs in (1, 2)
    ]
    assert found[0] is not None
    assert found[1] is not None
    assert found[0].text == found[1].text
    assert (found[0].trials, found[0].smallest) == (found[1].trials, found[1].smallest)
    judged = [each.after.layers[each.after.outputs["y"]].judged for each in found if each]
    assert judged[0] == judged[1]


OWN, NO_KERNEL = "the model's own dtypes keep it in 16 bits", "no kernel of that dtype on this SoC"


@pytest.mark.parametrize(
    ("soc", "narrow", "reason"),
    [("sim", 10, OWN), ("Ascend310", 10, NO_KERNEL), ("Ascend310", 1, NO_KERNEL)],
)
def test_line_that_cannot_be_in_float32_is_in_none_for_a_reason(
    soc: str, narrow: int, reason: str, tmp_path: Path
) -> None:
    kind = "float16" if narrow == TensorProto.FLOAT16 else "float"
    model = parser.parse_model(
        f"""<ir_version: 8, opset_import: ["" : 13]>
        g (float[1,4,8,8] x, {kind}[4,4,3,3] w) => (float[1,4,8,8] y) {{
            [cast] h = Cast <to = {narrow}> (x)  [conv] c = Conv <pads = [1,1,1,1]> (h, w)
            [back] f = Cast <to = 1> (c)  [sin] y = Sin(f)
        }}"""
    )
    path = tmp_path / "model.onnx"
    onnx.save(model, path)
    plan = atc_py.plan_model(path, target={"snr": 300}, soc=soc)
    assert plan.excluded == (("conv", f"float32: {reason}"),)
    assert in_language(plan.excluded[0][1], "zh") == f"float32：{in_language(reason, 'zh')}"
    assert plan.float32 is not None
    assert [*plan.float32.dtypes] == ["sin"]
    assert {each.line: each.dtype for each in plan.nodes} == {"conv": "float16", "sin": "float32"}
