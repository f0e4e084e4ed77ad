"""What of control flow is refused: the code, the place, a hint; and what is let pass."""

from pathlib import Path

import onnx
import pytest

import atc_py
from atc_py.diag import AtcError
from tests.lowering.branching import parsed

THEN = "then_branch = t () => (float[2,3] a) { a = Relu (x) }"
ELSE = "else_branch = e () => (float[2,3] b) { b = Neg (x) }"
LOOP = """r = Loop (n, c, x) <body = w (int64 i, bool p, float[2,3] v) => (bool q, float[2,3] o)
    { q = Identity (p) o = Relu (v) }>"""
SCAN = """r = Scan <num_scan_inputs = 1, body = w (float[3] v) => (float[3] o)
    { o = Relu (v) }> (x)"""


def taken(branches: str, outputs: str = "y") -> str:
    """Return a model of one If."""
    head = f"g (float[2,3] x, bool c, int64 n) => ({outputs})"
    return f"{head} {{ {outputs} = If (c) <{branches}> }}"


REFUSED = {
    "no else": (taken(THEN), "attr-missing", "else_branch"),
    "two truths": (
        taken(f"{THEN}, {ELSE}").replace("bool c", "bool[2] c"), "dim-out-of-range", "elements",
    ),
    "no truth": (taken(f"{THEN}, {ELSE}").replace("bool c", "float c"), "dtype-not-listed", "bool"),
    "more outputs than results": (
        taken(f"{THEN}, {ELSE}", "y, z"), "invalid-model", "then_branch has 1",
    ),
    "fewer outputs than results": (
        taken(f"{THEN}, else_branch = e () => (float[2,3] b, float[2,3] a2) "
              "{ b = Neg (x) a2 = Abs (x) }"), "invalid-model", "else_branch has 2",
    ),
    "other rank": (
        taken(f"{THEN}, else_branch = e () => (float[3] b) {{ b = ReduceMax <axes = [0], "
              "keepdims = 0> (x) }"), "unknown-shape",
        "'y' has rank 2 in then_branch and rank 1 in else_branch",
    ),
    "other dtype": (
        taken(f"{THEN}, else_branch = e () => (int64[2] b) {{ b = Shape (x) }}"),
        "invalid-model", "'y' is float32 in then_branch and int64 in else_branch",
    ),
    "name from nowhere": (
        taken(f"{THEN.replace('(x)', '(nothing)')}, {ELSE}"), "invalid-model", "nothing",
    ),
    "own result within": (
        taken(f"{THEN.replace('(x)', '(y)')}, {ELSE}"), "invalid-model", "cycle",
    ),
    "unlisted node": (
        taken(f"{THEN.replace('Relu', 'Binarizer')}, {ELSE}"), "unknown-operator", "Binarizer",
    ),
    "loop": (f"g (float[2,3] x, bool c, int64 n) => (r) {{ {LOOP} }}", "unknown-operator", "Loop"),
    "scan": (f"g (float[2,3] x) => (r) {{ {SCAN} }}", "unknown-operator", "Scan"),
    "loop within": (
        taken(f"then_branch = t () => (float[2,3] r) {{ {LOOP} }}, {ELSE}"),
        "unknown-operator", "Loop",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_model_is_refused_with_its_place(name: str, tmp_path: Path) -> None:
    text, code, part = REFUSED[name]
    onnx.save(parsed(text), tmp_path / "model.onnx")
    with pytest.raises(AtcError) as caught:
        atc_py.convert(tmp_path / "model.onnx", tmp_path / "model.om")
    found = caught.value.diagnostics[0]
    assert found.code.name == code
    assert part in found.message
    assert found.place is not None
    assert found.place.node == 0
    assert found.help or found.code.remedy
    assert not (tmp_path / "model.om").exists()


@pytest.mark.parametrize("name", ["more outputs than results", "other rank", "other dtype"])
def test_check_says_what_conversion_says(name: str, tmp_path: Path) -> None:
    text, code, part = REFUSED[name]
    onnx.save(parsed(text), tmp_path / "model.onnx")
    (model,) = atc_py.check_models(tmp_path / "model.onnx").models
    assert model.faults[0].code.name == code
    assert part in model.faults[0].message


def test_rank_of_what_nothing_uses_does_not_matter(tmp_path: Path) -> None:
    then = "then_branch = t () => (float[2,3] a, float[2,3] u) { a = Relu (x) u = Abs (x) }"
    other = "(float[2,3] b, float[] v) { b = Neg (x) v = ReduceMax <keepdims = 0> (x) }"
    text = taken(f"{then}, else_branch = e () => {other}", "y, z").replace(
        "=> (y, z) {", "=> (y) {", 1
    )
    onnx.save(parsed(text), tmp_path / "model.onnx")
    assert atc_py.convert(tmp_path / "model.onnx", tmp_path / "model.om").facts.target_operators


def test_nodes_of_both_branches_are_all_looked_at(tmp_path: Path) -> None:
    text = taken(
        "then_branch = t () => (float[2,3] a) { a = LRN <size = 2> (x) }, "
        'else_branch = e () => (float[2,3] b) { p = Einsum <equation = "ij->ij"> (x) '
        "b = Neg (p) }"
    )
    onnx.save(parsed(text), tmp_path / "model.onnx")
    with pytest.raises(AtcError) as caught:
        atc_py.convert(tmp_path / "model.onnx", tmp_path / "model.om")
    places = [found.place.op_type for found in caught.value.diagnostics if found.place]
    assert set(places) == {"LRN", "Einsum"}
