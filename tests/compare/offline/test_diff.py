"""`diff` of offline models: groups of launches, conversions, constants, score."""

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import atc_py
from atc_py.compare.offline.diff import diff_models, matched_constants, matched_launches
from atc_py.compare.offline.sides import Side, SideConstant, SideLaunch, _logical
from atc_py.diag import AtcError
from atc_py.report.diff.tables import diff_html, diff_tables
from atc_py.report.tables import plain_lines
from atc_py.results.model_diff import DiffLaunch, DiffTensor
from tests.package.ge.om_files import om_file, small_model

REAL = Path(__file__).resolve().parents[3].parent / "shared" / "real"
needs_real = pytest.mark.skipif(not REAL.is_dir(), reason="files of other makers stay outside")


def side(*launches: SideLaunch) -> Side:
    return Side("maker", "sim", list(launches), [], {})


def launch(nodes: str, operators: str, dtype: str = "float16", form: str = "NC1HWC0") -> SideLaunch:
    tensors = (DiffTensor(dtype, form),)
    names = tuple(nodes.split())
    return SideLaunch(
        DiffLaunch(f"launch of {nodes}", names, tuple(operators.split()), tensors, tensors), "", ""
    )


def differences(first: Side, second: Side) -> list[tuple[tuple[str, ...], int, int]]:
    groups = matched_launches(first, second)
    return [(group.differs, len(group.first), len(group.second)) for group in groups]


def test_launches_of_the_same_nodes_meet_whatever_they_are_called() -> None:
    first = side(launch("a", "Conv2D"), launch("b", "Relu"))
    second = side(launch("b", "Relu"), launch("a", "Conv2D"))
    assert differences(first, second) == [((), 1, 1), ((), 1, 1)]


def test_fusion_is_one_group_of_all_launches_with_its_nodes() -> None:
    first = side(launch("a b c", "Conv2D PRelu Add"), launch("d", "Relu"))
    second = side(
        launch("a", "Conv2D"), launch("b", "PRelu"), launch("c", "Add"), launch("d", "Relu")
    )
    assert differences(first, second) == [(("fusion",), 1, 3), ((), 1, 1)]


def test_several_launches_of_one_node_are_equal_or_one_group() -> None:
    first = side(launch("a", "DynamicRNN"), launch("a", "ConcatD"))
    assert differences(first, first) == [((), 2, 2)]
    second = side(launch("a", "DynamicRNN"), launch("a", "PackD"))
    assert differences(first, second) == [(("fusion",), 2, 2)]


def test_fusions_that_overlap_are_one_group() -> None:
    first = side(launch("a b", "Conv2D Relu"), launch("c", "Add"))
    second = side(launch("a", "Conv2D"), launch("b c", "Relu Add"))
    assert differences(first, second) == [(("fusion",), 2, 2)]


@pytest.mark.parametrize(
    ("other", "differs"),
    [
        (launch("a", "Conv2DV2"), ("operators",)),
        (launch("a", "Conv2D", "float32"), ("dtype",)),
        (launch("a", "Conv2D", form="NCHW"), ("format",)),
        (launch("a", "Resize", "float32", "ND"), ("operators", "dtype", "format")),
        (launch("a x", "Conv2D"), ("nodes",)),
        (launch("b", "Conv2D"), ("only in one",)),
    ],
)
def test_each_difference_is_named(other: SideLaunch, differs: tuple[str, ...]) -> None:
    assert differences(side(launch("a", "Conv2D")), side(other))[0][0] == differs


def test_formats_stored_row_by_row_are_one() -> None:
    groups = differences(side(launch("a", "Add", form="ND")), side(launch("a", "Add", form="NCHW")))
    assert groups == [((), 1, 1)]


def constant(
    name: str, nodes: str, values: np.ndarray, stored: bytes | None = None
) -> SideConstant:
    return SideConstant(
        name=name,
        nodes=tuple(nodes.split()),
        dtype=str(values.dtype),
        format="ND",
        stored=lambda: values.tobytes() if stored is None else stored,
        value=lambda: values,
    )


def relations(first: list[SideConstant], second: list[SideConstant]) -> list[str]:
    return [row.relation for row in matched_constants(first, second)]


NUMBERS = np.array([0.1, 2.0, -3.0], np.float32)


def test_constants_are_equal_in_bytes_in_value_or_rounded() -> None:
    one = constant("w", "a", NUMBERS)
    assert relations([one], [constant("v", "a", NUMBERS)]) == ["bytes"]
    assert relations([one], [constant("v", "a", NUMBERS, b"otherwise")]) == ["value"]
    assert relations([one], [constant("v", "a", NUMBERS.astype(np.float16))]) == ["rounded"]
    (row,) = matched_constants([one], [constant("v", "a", NUMBERS + 1)])
    assert row.relation == "different"
    assert row.error == pytest.approx(1.0)
    assert relations([one], [constant("v", "a", NUMBERS[:2])]) == ["first", "second"]
    assert relations([one], [constant("v", "b", NUMBERS)]) == ["first", "second"]


def test_constants_pair_by_the_nearest_values() -> None:
    first = [constant("w", "a b", NUMBERS), constant("b", "a b", NUMBERS * 2)]
    second = [constant("b", "b", NUMBERS * 2 + 0.5), constant("w", "a", NUMBERS, b"otherwise")]
    rows = list(matched_constants(first, second))
    pairs = {(row.relation, row.first[2], row.second[2]) for row in rows}
    assert pairs == {("value", "w", "w"), ("different", "b", "b")}


def test_constant_without_order_is_compared_by_bytes_alone() -> None:
    odd = SideConstant("w", ("a",), "float16", "FRACTAL_X", lambda: b"12", lambda: None)
    assert relations([odd], [odd]) == ["bytes"]
    assert relations([odd], [constant("v", "a", NUMBERS)]) == ["first", "second"]


def test_nan_is_equal_to_itself() -> None:
    values = np.array([np.nan, 1.0], np.float32)
    assert relations([constant("w", "a", values)], [constant("v", "a", values, b"x")]) == ["value"]


@pytest.fixture
def ours(tmp_path: Path) -> Callable[..., Path]:
    """Return a function that compiles a convolution and what follows it."""

    def make(name: str, operator: str = "Relu", scale: float = 1.0, **options: Any) -> Path:
        weights = np.random.default_rng(0).standard_normal((16, 16, 1, 1)).astype(np.float32)
        graph = helper.make_graph(
            [
                helper.make_node("Conv", ["x", "w"], ["c"], name="conv"),
                helper.make_node(operator, ["c"], ["y"], name="relu"),
            ],
            "net",
            [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 16, 4, 4])],
            [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
            [numpy_helper.from_array(weights * np.float32(scale), "w")],
        )
        opsets = [helper.make_opsetid("", 13)]
        path = tmp_path / f"{name}.onnx"
        onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
        atc_py.convert(path, path.with_suffix(".om"), soc="Ascend310B4", **options)
        return path.with_suffix(".om")

    return make


def test_model_is_equal_to_itself(ours: Callable[..., Path], tmp_path: Path) -> None:
    real = tmp_path / "real.om"
    real.write_bytes(small_model())
    for path in (ours("one"), real):
        found = diff_models(path, path)
        assert found.score == 1.0
        assert found.is_equal
        assert found.equal == found.first.launches


def test_two_of_ours_differ_in_constants_and_operators(ours: Callable[..., Path]) -> None:
    one = ours("one")
    found = diff_models(one, ours("scaled", scale=2.0))
    assert found.score == 1.0
    assert not found.is_equal
    assert [row.relation for row in found.constants] == ["different"]
    other = diff_models(one, ours("other", operator="Sigmoid"))
    assert other.score < 1.0
    assert any(group.differs for group in other.launches)


def test_precision_shows_as_dtypes_and_conversions(ours: Callable[..., Path]) -> None:
    found = diff_models(ours("half"), ours("full", precision_mode="must_keep_origin_dtype"))
    assert any(row.operator == "Cast" and row.first != row.second for row in found.conversions)
    assert "rounded" in {row.relation for row in found.constants}


def test_ours_meets_a_real_one_by_the_nodes(ours: Callable[..., Path], tmp_path: Path) -> None:
    real = tmp_path / "real.om"
    real.write_bytes(small_model())
    found = diff_models(real, ours("net"))
    (group,) = [group for group in found.launches if "conv" in group.first[0].nodes]
    assert group.first[0].nodes == ("conv", "relu")
    assert group.second[0].nodes == ("conv", "relu")
    assert group.differs == ()
    assert found.first.memory["arena"] == 2048
    assert {row.operator for row in found.conversions} == {"Cast", "TransData"}


def test_tables_and_page_show_the_score_and_every_kind(
    ours: Callable[..., Path], tmp_path: Path
) -> None:
    real = tmp_path / "real<b>.om"
    real.write_bytes(small_model())
    found = diff_models(real, ours("net"))
    lines = "\n".join(line for table in diff_tables(found) for line in plain_lines(table))
    for text in (
        "% of the launches are equal",
        "Conversions that only one has",
        "Constants",
        "arena",
    ):
        assert text in lines
    page = diff_html(found)
    shown, _, other = page.partition("<template")
    assert "<h1>Differences of two offline models</h1>" in shown
    assert "<h1>两个离线模型的差异</h1>" in other
    assert "real<b>" not in page
    assert json.dumps(found.as_json())


def test_file_without_a_graph_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "locked.om"
    path.write_bytes(om_file([(0, b"\xff")], encrypted=True))
    with pytest.raises(AtcError, match=r"ATC5006.*has no graph that could be compared"):
        diff_models(path, path)


@needs_real
def test_lanenet_beside_our_own_compilation(tmp_path: Path) -> None:
    own = tmp_path / "own.om"
    atc_py.convert(
        REAL / "lanenet_310B4.onnx", own, soc="Ascend310B4", input_shape="input_image:1,3,256,512"
    )
    found = diff_models(REAL / "lanenet_310B4_cann8.0.0.om", own)
    assert found.first.launches == 152
    assert found.first.conversions == 6
    assert found.equal == found.second.launches == 152
    assert Counter(row.relation for row in found.constants) == {"bytes": 398}
    nodes = {
        node
        for group in found.launches
        for side in (group.first, group.second)
        for one in side
        for node in one.nodes
    }
    assert len(nodes) > 300


@pytest.mark.parametrize(
    ("layout", "dims", "known"),
    [("NCHW", (1, 2, 3, 4), True), ("NHWC", (1, 2, 3, 4), True), ("NHWC", (1, 3, 4, 2), False)],
)
def test_constants_in_another_order_are_not_compared(
    layout: str, dims: tuple[int, ...], known: bool
) -> None:
    desc: Any = SimpleNamespace(
        dtype="float32", layout=layout, dims=dims, origin_layout="NCHW", origin_dims=(1, 2, 3, 4)
    )
    values = np.arange(24, dtype=np.float32)
    found = _logical(desc, memoryview(values.tobytes()))
    assert (found is not None) is known
    assert found is None or found.tobytes() == values.tobytes()
