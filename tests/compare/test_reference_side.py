"""The original in pieces: the same values as in one run, few held, and what it needs of inputs."""

import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

import atc_py
from atc_py.compare import reference_run
from atc_py.compare.input_roles import Role, fitting_feeds, input_roles
from atc_py.compare.output_recording import Recording
from atc_py.compare.reference import ReferenceModel, open_reference
from atc_py.compare.reference_run import ReferenceRun
from atc_py.diag import AtcError
from atc_py.onnx_graph.reading.read import read_model
from atc_py.onnx_graph.running.piece import NotRunError, Piece
from atc_py.pipeline.running.model import Port
from atc_py.tensor.dtypes import DType
from tests.compare.broken_networks import built, node
from tests.end_to_end import run_with_onnxruntime

LENGTH = 100


def chain(tmp_path: Path) -> tuple[Path, onnx.ModelProto, dict[str, np.ndarray]]:
    """Return a hundred Sin in a row; the last Add also reads the first of them."""
    feeds = {"x": np.linspace(-3, 3, 1000, dtype=np.float32)}
    nodes = [node("Sin", "x", "v0")]
    nodes += [node("Sin", f"v{at - 1}", f"v{at}") for at in range(1, LENGTH)]
    nodes.append(node("Add", f"v0 v{LENGTH - 1}", "y"))
    model = built(nodes, feeds, {})
    path = tmp_path / "chain.onnx"
    onnx.save(model, path)
    return path, model, feeds


def test_pieces_give_what_one_run_gives_and_hold_little(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reference_run, "_JOINED_BYTES", 30 * 4000)  # fewer than a piece has
    path, model, feeds = chain(tmp_path)
    reference = open_reference(path)
    assert len(reference.pieces) > 3
    run = _run_whole(reference, feeds)
    np.testing.assert_array_equal(run.value("y"), run_with_onnxruntime(model, feeds)["y"])
    assert run.total == (LENGTH + 2) * 4000
    assert run.peak < run.total / 2


def test_pieces_with_few_bytes_run_as_one(tmp_path: Path) -> None:
    path, model, feeds = chain(tmp_path)
    reference = open_reference(path)
    for _ in range(2):
        run = _run_whole(reference, feeds)
        np.testing.assert_array_equal(run.value("y"), run_with_onnxruntime(model, feeds)["y"])
        assert {at: stop for at, (stop, _) in reference.joins.items()} == {0: 1, 1: 4}
        assert run.total == (LENGTH + 2) * 4000


class _Moved:
    """One value plus 1."""

    reads: Mapping[str, Collection[str]] = {"v40": ("v39",)}

    def amended(self, name: str, value: Any, feeds: Mapping[str, Any]) -> Any:
        assert (name, [*feeds]) == ("v40", ["v39"])
        return value + np.float32(1)


def test_amended_values_are_read_by_pieces_of_their_own(tmp_path: Path) -> None:
    path, _, feeds = chain(tmp_path)
    reference = open_reference(path).with_amendment(_Moved())
    run = _run_whole(reference, feeds)
    value = feeds["x"]
    for at in range(LENGTH):
        value = np.sin(value) + np.float32(at == 40)
    found = run.value("y")
    assert found is not None
    np.testing.assert_allclose(found, np.sin(feeds["x"]) + value, rtol=1e-5)
    assert {at: stop for at, (stop, _) in reference.joins.items()} == {0: 1, 1: 2, 2: 4}


def test_pieces_run_alone_where_an_engine_does_not_take_them_as_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, model, feeds = chain(tmp_path)
    reference, run = open_reference(path), Piece.run

    def refused(piece: Piece, *args: Any) -> Any:
        if len(piece.nodes) > len(reference.pieces[0].nodes):
            raise NotRunError("too many")
        return run(piece, *args)

    monkeypatch.setattr(Piece, "run", refused)
    found = _run_whole(reference, feeds).value("y")
    np.testing.assert_array_equal(found, run_with_onnxruntime(model, feeds)["y"])
    assert {stop - at for at, (stop, _) in reference.joins.items()} == {1}
    assert reference.engines == ("onnxruntime",)


def _run_whole(reference: ReferenceModel, feeds: dict[str, np.ndarray]) -> ReferenceRun:
    """A run of the chain of which all values were looked at, and `y` is held."""
    run = ReferenceRun(reference, feeds)
    names = [f"v{at}" for at in range(LENGTH)]
    run.expect(dict.fromkeys([*names, "y"], 1))
    for name in names:
        assert run.value(name) is not None
        run.release(name)
    assert run.value("y") is not None
    return run


def test_value_that_is_nowhere_is_none(tmp_path: Path) -> None:
    path, _, feeds = chain(tmp_path)
    assert ReferenceRun(open_reference(path), feeds).value("nowhere") is None


def test_onnx_runs_it_where_onnxruntime_is_missing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, model, feeds = chain(tmp_path)
    expected = run_with_onnxruntime(model, feeds)["y"]
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    reference = open_reference(path)
    run = ReferenceRun(reference, feeds)
    run.expect({"y": 1})
    found = run.value("y")
    assert reference.engines == ("onnx",)
    assert found is not None
    np.testing.assert_allclose(found, expected, rtol=1e-4)


def test_results_of_constant_nodes_are_values(tmp_path: Path) -> None:
    model = onnx.parser.parse_model("""
        <ir_version: 8, opset_import: ["" : 17]>
        g (float[2] x) => (float[2] y, float[2] two) {
            two = Constant<value = float[2] {2.0, 3.0}>()
            three = Constant<value_float = 3.0>()
            doubled = Mul(x, two)
            y = Add(doubled, three)
        }""")
    onnx.save(model, tmp_path / "m.onnx")
    feeds = {"x": np.array([1, -1], np.float32)}
    reference = open_reference(tmp_path / "m.onnx")
    for run in (ReferenceRun(reference, feeds), Recording(reference, feeds, tmp_path / "held")):
        run.expect({"y": 1, "two": 1})
        np.testing.assert_array_equal(run.value("y"), [5, 0])
        np.testing.assert_array_equal(run.value("two"), [2, 3])
        assert run.value("nowhere") is None


@pytest.mark.parametrize("piece_nodes", [1, 2, 3, 4, 8])
def test_sizes_of_a_shape_run_at_any_boundary_between_pieces(
    piece_nodes: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reference_run, "_JOINED_BYTES", 0)
    model = onnx.parser.parse_model("""
        <ir_version: 8, opset_import: ["" : 17]>
        g (float[1,2,6,6] x, float[1,2,12,12] like) => (float[1,2,12,12] y)
        <int64[2] size = {12, 12}> {
            a = Relu(x)
            zero = Constant<value_ints = [0]>()
            two = Constant<value_ints = [2]>()
            shape = Shape(like)
            head = Slice(shape, zero, two, zero)
            sizes = Concat<axis = 0>(head, size)
            b = Resize<mode = "linear">(a, , , sizes)
            scale = Constant<value_float = 0.5>()
            q = QuantizeLinear(b, scale)
            y = DequantizeLinear(q, scale)
        }""")
    onnx.save(model, tmp_path / "m.onnx")
    rng = np.random.default_rng(0)
    feeds = {
        "x": rng.random((1, 2, 6, 6), np.float32),
        "like": rng.random((1, 2, 12, 12), np.float32),
    }
    reference = ReferenceModel(read_model(tmp_path / "m.onnx"))
    nodes = reference.graph.nodes
    reference = reference.cut(
        nodes[at : at + piece_nodes] for at in range(0, len(nodes), piece_nodes)
    )
    run = ReferenceRun(reference, feeds)
    run.expect({"y": 1})
    found = run.value("y")
    assert found is not None
    np.testing.assert_array_equal(found, run_with_onnxruntime(model, feeds)["y"])
    assert reference.engines == ("onnxruntime",)


def test_operator_that_nothing_runs_is_refused_by_name(tmp_path: Path) -> None:
    x = np.zeros(3, np.float32)
    model = built([node("Novelty", "x", "y", domain="nobody")], {"x": x}, {})
    model.opset_import.append(helper.make_opsetid("nobody", 1))
    path = tmp_path / "novelty.onnx"
    onnx.save(model, path)
    run = ReferenceRun(open_reference(path), {"x": x})
    with pytest.raises(AtcError, match="Novelty") as caught:
        run.value("y")
    assert caught.value.diagnostics[0].code.id == "ATC7005"


def test_roles_follow_from_readers(tmp_path: Path) -> None:
    feeds: dict[str, np.ndarray] = {
        "ids": np.zeros((1, 4), np.int64),
        "types": np.zeros((1, 4), np.int32),
        "x": np.zeros((1, 4), np.float32),
    }
    nodes = [
        node("Gather", "words ids", "a"),
        node("Cast", "types", "cast", to=onnx.TensorProto.INT64),
        node("Gather", "kinds cast", "b"),
        node("Add", "a b", "y"),
    ]
    constants = {"words": np.zeros((500, 8), np.float32), "kinds": np.zeros((2, 8), np.float32)}
    path = tmp_path / "ids.onnx"
    onnx.save(built(nodes, feeds, constants), path)
    assert input_roles(open_reference(path)) == {"ids": Role(500), "types": Role(2)}


def test_indices_into_a_table_that_is_absent_have_no_role(tmp_path: Path) -> None:
    ids, kinds = np.zeros((1, 4), np.int32), np.zeros((1, 4), np.int32)
    path = tmp_path / "ids.onnx"
    tables = {name: np.zeros((9, 8), np.float32) for name in ("words", "places")}
    reader = node("EmbedLayerNormalization", "ids kinds words places", "y", domain="com.microsoft")
    onnx.save(built([reader], {"ids": ids, "kinds": kinds}, tables), path)
    assert input_roles(open_reference(path)) == {"ids": Role(9)}


def test_indices_are_into_the_constant_that_a_node_replaces_elements_of(tmp_path: Path) -> None:
    feeds: dict[str, np.ndarray] = {
        "ids": np.zeros((2, 3), np.int64),
        "x": np.zeros((2, 3), np.float32),
    }
    path = tmp_path / "placed.onnx"
    nodes = [node("ScatterElements", "table ids x", "y", axis=1)]
    onnx.save(built(nodes, feeds, {"table": np.zeros((2, 7), np.float32)}), path)
    assert input_roles(open_reference(path)) == {"ids": Role(7)}


@pytest.mark.parametrize(
    ("body", "role"),
    [
        ("t = Relu (x) y = Gather (t, ids)", Role(5)),
        ("t = Transpose (x) y = Gather <axis = 1> (t, ids)", Role(5)),
        ("t = Relu (x) y = GatherND <batch_dims = 1> (t, pairs)", Role(4)),
        ("t = Relu (x) y = ScatterElements <axis = 1> (t, pairs, u)", Role(4)),
        ("t = Relu (x) i = Add (ids, two) y = Gather (t, i)", Role(3)),
        ("t = Relu (x) i = Sub (ids, two) y = Gather (t, i)", Role(7, first=2)),
        ("t = Relu (x) m = Mul (ids, two) i = Cast <to = 6> (m) y = Gather (t, i)", Role(3)),
        ("t = Shape (x) m = Mul (t, two) r = Reshape (x, m) y = Gather (x, ids)", Role(5)),
        ("y = OneHot (ids, two, u)", Role(2)),
        ("y = Add (ids, ids)", Role()),
    ],
)
def test_indices_fit_tables_that_are_computed(body: str, role: Role, tmp_path: Path) -> None:
    text = f"""<ir_version: 8, opset_import: ["" : 16]>
        g (float[5,4] x, int64[3] ids, int64[5,1] pairs, float[5,1] u) => (y)
        <int64 two = {{2}}> {{ {body} }}"""
    onnx.save(onnx.parser.parse_model(text), tmp_path / "m.onnx")
    dims = {"x": (5, 4), "ids": (3,), "pairs": (5, 1), "u": (5, 1)}
    ports = [
        Port(name, DType.INT64 if name in {"ids", "pairs"} else DType.FLOAT32, shape)
        for name, shape in dims.items()
    ]
    (found,) = [*input_roles(open_reference(tmp_path / "m.onnx"), ports).values()] or [Role()]
    assert found == role
    for seed in range(4):
        feeds = fitting_feeds(ports, {"ids": role, "pairs": role}, seed)
        assert role.ids is None or role.first <= feeds["ids"].min() <= feeds["ids"].max() < role.ids


def test_random_data_fit_the_roles() -> None:
    ports = [
        Port("ids", DType.INT64, (4, 50)),
        Port("attention_mask", DType.INT64, (4, 50)),
        Port("lengths", DType.INT32, (4,)),
        Port("x", DType.FLOAT32, (9, 4, 2)),
    ]
    roles = {"ids": Role(70000), "lengths": Role(lengths_of="x")}
    feeds = fitting_feeds(ports, roles, 3)
    assert feeds["ids"].max() == 69999
    assert feeds["ids"].min() >= 0
    mask = feeds["attention_mask"]
    assert set(np.unique(mask)) <= {0, 1}
    assert (np.diff(mask) <= 0).all()
    assert mask[:, 0].all()
    assert feeds["lengths"].min() >= 1
    assert feeds["lengths"].max() <= 9
    assert fitting_feeds([Port("mask", DType.INT64, ())], {}, 3)["mask"] == 1
    again = fitting_feeds(ports, roles, 3)
    other = fitting_feeds(ports, roles, 4)
    assert all((feeds[name] == again[name]).all() for name in feeds)
    assert (feeds["x"] != other["x"]).any()


@pytest.mark.parametrize(("content", "code"), [(b"no model", "ATC2003"), (None, "ATC2001")])
def test_file_that_is_not_a_model_is_a_coded_error(
    tmp_path: Path, content: bytes | None, code: str
) -> None:
    path = tmp_path / "model.onnx"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(AtcError) as caught:
        open_reference(path)
    assert caught.value.diagnostics[0].code.id == code


@pytest.mark.parametrize("held", [0, 50_000, 1 << 20])
def test_recording_has_every_value_in_memory_or_in_files(tmp_path: Path, held: int) -> None:
    path, _, feeds = chain(tmp_path)
    folder = tmp_path / "values"
    recording = Recording(open_reference(path), feeds, folder, held)
    run = ReferenceRun(open_reference(path), feeds)
    run.expect({f"v{at}": 1 for at in range(LENGTH)})
    for at in range(LENGTH):
        found = recording.value(f"v{at}")
        assert found is not None
        np.testing.assert_array_equal(found, run.value(f"v{at}"))
    np.testing.assert_array_equal(recording.value("x"), feeds["x"])
    assert recording.value("nowhere") is None
    assert recording.peak <= held
    assert recording.total == (LENGTH + 2) * 4000
    files = len(list(folder.iterdir())) if folder.exists() else 0
    assert files == LENGTH + 2 - held // 4000 if held < recording.total else files == 0


def test_recording_without_room_is_a_coded_error(tmp_path: Path) -> None:
    path, _, feeds = chain(tmp_path)
    blocked = tmp_path / "file"
    blocked.touch()
    with pytest.raises(AtcError) as caught:
        Recording(open_reference(path), feeds, blocked, 0)
    assert caught.value.diagnostics[0].code.id == "ATC2007"


@pytest.mark.parametrize(
    ("refuses", "tries"), [(False, [(2, True)]), (True, [(2, True), (1, False), (1, False)])]
)
def test_large_constants_are_fed_and_held_where_an_engine_wants_that(
    refuses: bool, tries: list[tuple[int, bool]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    feeds = {"x": np.linspace(-1, 1, 400, dtype=np.float32).reshape(2, 200)}
    weights = {"w": np.linspace(-1, 1, 40_000, dtype=np.float32).reshape(200, 200)}
    nodes = [node("MatMul", "x w", "h"), node("Neg", "h", "y")]
    model = built(nodes, feeds, weights)
    onnx.save(model, tmp_path / "m.onnx")
    run, seen = Piece.run, []

    def watched(piece: Piece, fed: Any, engine: str) -> Any:
        seen.append((len(piece.nodes), piece.settings.fed_bytes is not None))
        if refuses and seen[-1][1]:
            raise NotRunError("wants a constant")
        return run(piece, fed, engine)

    monkeypatch.setattr(Piece, "run", watched)
    reference = open_reference(tmp_path / "m.onnx")
    reference.feed_constants()
    tried = ReferenceRun(reference, feeds)
    tried.expect({"y": 1})
    found = tried.value("y")
    assert found is not None
    expected = run_with_onnxruntime(model, feeds)["y"]
    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-5)
    assert (seen, reference.engines) == (tries, ("onnxruntime",))


@pytest.mark.parametrize(("samples", "calls"), [(16, 1), (17, 0)])
def test_constants_are_fed_to_the_original_of_few_samples(
    samples: int, calls: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, _, _ = chain(tmp_path)
    called: list[ReferenceModel] = []

    def counted(model: ReferenceModel) -> None:
        called.append(model)

    monkeypatch.setattr(ReferenceModel, "feed_constants", counted)
    atc_py.compare_model(path, samples=samples)
    assert len(called) == calls


@pytest.mark.parametrize("external", [False, True])
def test_weights_beyond_the_limit_are_cut_into_more_pieces(
    tmp_path: Path, *, external: bool
) -> None:
    """Check with 10 KB what holds for the gigabyte that one message cannot pass."""
    feeds = {"x": np.ones((2, 32), np.float32)}
    weights = {f"w{at}": np.full((32, 32), at / 32, np.float32) for at in range(8)}
    nodes = [node("MatMul", "x w0", "h0")]
    nodes += [node("MatMul", f"h{at - 1} w{at}", f"h{at}") for at in range(1, 8)]
    nodes.append(node("Neg", "h7", "y"))
    model = built(nodes, feeds, weights)
    expected = run_with_onnxruntime(model, feeds)["y"]
    path = tmp_path / "model.onnx"
    onnx.save(model, path, save_as_external_data=external, size_threshold=0)
    reference = ReferenceModel(read_model(path), weight_bytes=10_000)
    assert [len(piece.nodes) for piece in reference.pieces] == [2, 2, 2, 3]
    run = ReferenceRun(reference, feeds)
    run.expect({"y": 1})
    found = run.value("y")
    assert found is not None
    np.testing.assert_array_equal(found, expected)
    assert reference.engines == ("onnxruntime",)
    assert {stop - at for at, (stop, _) in reference.joins.items()} == {1}
    assert not atc_py.compare_model(path, inputs=feeds).stopped
