"""Errors of single nodes: those of a run node by node, of which little runs."""

from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from atc_py.compare.measure import Measure
from atc_py.compare.reference import ReferenceModel
from atc_py.compare.reference_run import ReferenceRun
from atc_py.onnx_graph.reading.read import read_model
from atc_py.quantizing.plan.error_model import ErrorModel, error_share
from atc_py.tensor.dtypes import DType
from tests.quantizing.float_networks import FloatSketch, samples_of

TARGETS = {"snr": 60.0}
FEEDS = samples_of(2, 4, 6)

Array = np.ndarray[Any, Any]


@pytest.fixture
def reference(tmp_path: Path) -> ReferenceModel:
    """Make 50 nodes, in two pieces: products and sums, views, a branch of its own output, a Split."""
    net = FloatSketch()
    x = net.input("x", [4, 6])
    for at in range(5):
        x = net.add("MatMul", [x, net.weight(f"w{at}", 6, 6)], f"product{at}")
        rows = net.add("Transpose", [x], f"turned{at}", perm=[1, 0])
        rows = net.add("Reshape", [rows, net.const(f"dims{at}", np.array([3, 8]))], f"rows{at}")
        back = net.add("Reshape", [rows, net.const(f"back{at}", np.array([6, 4]))], f"back_{at}")
        back = net.add("Transpose", [back], f"again{at}", perm=[1, 0])
        gate = net.add("Sigmoid", [back], f"gate{at}")
        x = net.add("Add", [x, gate], f"sum{at}")
        for step in range(3):
            x = net.add("Mul", [x, net.const(f"f{at}{step}", np.float32(1.01))], f"m{at}{step}")
    model = net.save(tmp_path / "model.onnx", x, "gate1")
    return ReferenceModel(read_model(model))


def rounded(array: Array, dtype: DType) -> Array:
    return array.astype(dtype.numpy).astype(array.dtype) if array.dtype.kind == "f" else array


class NodeByNode:
    """Runs in which each node runs alone, all of them."""

    def __init__(self, reference: ReferenceModel, dtype: DType) -> None:
        self._nodes, self._dtype, self._outputs = reference.graph.nodes, dtype, reference.outputs
        groups = [[node] for node in self._nodes]
        self._plain = reference.cut(groups)
        self._narrow = reference.cut(groups, lambda array: rounded(array, dtype))

    def share(self, values: tuple[str, ...]) -> float:
        """The share of the allowed error with the makers of `values` in the dtype."""
        measures = {name: Measure(DType.FLOAT32) for name in self._outputs}
        for feeds in FEEDS:
            exact, found = self._values(feeds, ()), self._values(feeds, values)
            for name, measure in measures.items():
                measure.add(found[name], exact[name])
        figures = [measure.figures() for measure in measures.values()]
        return max(error_share(each.cosine, each.snr, TARGETS) for each in figures)

    def _values(self, feeds: dict[str, Array], narrow: tuple[str, ...]) -> dict[str, Array]:
        found = dict(feeds)
        for at, node in enumerate(self._nodes):
            fed = {name: found[name] for name in self._plain.pieces[at].reads}
            if not set(node.output_names) & set(narrow):
                found |= self._plain.run_piece(at, fed)
                continue
            fed = {name: rounded(array, self._dtype) for name, array in fed.items()}
            made = self._narrow.run_piece(at, fed)
            found |= {name: rounded(array, self._dtype) for name, array in made.items()}
        return found


def errors_of(reference: ReferenceModel) -> ErrorModel:
    return ErrorModel(
        reference, ((feeds, ReferenceRun(reference, feeds)) for feeds in FEEDS), TARGETS
    )


@pytest.mark.parametrize("dtype", [DType.FLOAT16, DType.BFLOAT16])
def test_shares_are_those_of_runs_node_by_node(reference: ReferenceModel, dtype: DType) -> None:
    errors, alone = errors_of(reference), NodeByNode(reference, dtype)
    assert len(reference.pieces) == 2
    names = [node.output_names[0] for node in reference.graph.nodes]
    for values in [*((name,) for name in names), ("product1", "m42"), ("rows0", "back_0", "sum0")]:
        assert errors.share(values, dtype) == alone.share(values), values


def test_trials_run_little(reference: ReferenceModel, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing before a node; of the pieces after its own nothing where a trial before did the same."""
    ran: Counter[str] = Counter()
    run_piece = ReferenceModel.run_piece

    def counted(model: ReferenceModel, at: int, feeds: Any) -> Any:
        ran["calls"] += 1
        ran["nodes"] += len(model.pieces[at].nodes)
        return run_piece(model, at, feeds)

    monkeypatch.setattr(ReferenceModel, "run_piece", counted)
    errors = errors_of(reference)
    assert ran["nodes"] == 50 * len(FEEDS)
    seen = []
    for value in ("turned2", "rows2", "back_2", "m42"):
        ran.clear()
        errors.share((value,), DType.FLOAT16)
        seen.append((ran["nodes"] // len(FEEDS), ran["calls"] // len(FEEDS)))
    # The 22nd node, 10 more of its piece, and the second piece; then without that; the last alone.
    assert seen == [(11 + 18, 3), (10, 2), (9, 2), (1, 1)]


def test_parts_of_pieces_have_a_bound_together(
    reference: ReferenceModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Weights of the parts that stay are within it, but for those of one; shares are the same."""
    monkeypatch.setattr("atc_py.compare.reference._NODES", 10)
    tens = ReferenceModel(reference.file)
    names = [node.output_names[0] for node in tens.graph.nodes]
    shares: list[list[float]] = []
    most = []
    for bound in (1 << 30, 500, 1):
        monkeypatch.setattr("atc_py.quantizing.plan.error_model.HELD_BYTES", bound)
        errors, held = errors_of(tens), []
        shares.append([])
        for name in names:
            shares[-1].append(errors.share([name], DType.FLOAT16))
            sizes = [part.pieces[0].constant_bytes for part in errors._some.values()]
            held.append((len(sizes), sum(sizes)))
        most.append([max(figures) for figures in zip(*held, strict=True)])
    assert shares == shares[:1] * 3
    (all_parts, weights), (some, bounded), (one, _) = most
    assert all_parts > some > one == 1
    assert weights > 500 >= bounded


def test_another_number_of_results_is_no_error_within_the_target(tmp_path: Path) -> None:
    """Check a model that returns the numbers over 1, of which a rounded one has fewer."""
    net = FloatSketch()
    x = net.input("x", [4])
    scaled = net.add("Mul", [x, net.const("factor", np.float32(1.0001))], "scaled")
    over = net.add("Greater", [scaled, net.const("one", np.float32(1))], "over")
    net.add("Compress", [scaled, over], "y", axis=0)
    reference = ReferenceModel(read_model(net.save(tmp_path / "model.onnx", "y")))
    feeds = {"x": np.array([0.5, 1, 2, 3], np.float32)}
    errors = ErrorModel(reference, [(feeds, ReferenceRun(reference, feeds))], TARGETS)
    assert errors.share(("scaled",), DType.FLOAT16) == float("inf")
    assert errors.share(("y",), DType.FLOAT16) < 1
