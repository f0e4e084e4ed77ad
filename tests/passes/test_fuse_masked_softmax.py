"""The softmax of masked scores becomes ScaledMaskedSoftmax, or stays with a reason."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from atc_py.ir import Graph
from atc_py.ir.parser import parse_graph
from atc_py.options.compile_options import PrecisionMode
from atc_py.passes.base import PassContext
from atc_py.passes.fusion.fuse_masked_softmax import FuseMaskedSoftmaxPass
from atc_py.passes.layout.assign_formats import AssignFormatsPass
from atc_py.passes.precision.assign_precision import AssignPrecisionPass
from atc_py.passes.precision.fold_constant_casts import FoldConstantCastsPass
from atc_py.target import find_soc
from tests.device.models import Array
from tests.failures import in_one_item
from tests.passes.fusing import changed, fuse
from tests.passes.numbers import results_of_typed
from tests.sampling import examples

LOWEST, LOWEST_HALF = float(np.finfo(np.float32).min), -65504.0
MASK = "input %k : bool[2,1,5,8] ND"
CHOICE = "%m = SelectV2(%k, %f, %s)"
SOFTMAX = "%y = SoftmaxV2(%m) {axes=[3]}"
MASKED = f"""
graph @g phase lowered {{
  input %x : float32[2,3,5,8] ND
  {MASK}
  const %f : float32[] ND = dense [-10000.0]
  const %c : float32[] ND = dense [0.3]
  %s = Mul(%x, %c) : float32[2,3,5,8] ND from [0 "scale" Mul]
  {CHOICE} : float32[2,3,5,8] ND from [1 "where" Where]
  {SOFTMAX} : float32[2,3,5,8] ND from [2 "softmax" Softmax]
  output %y
}}
"""
FILL, SCALE = "dense [-10000.0]", "%s = Mul(%x, %c) : float32[2,3,5,8] ND"
ADDED = {
    "%m = SelectV2(%k, %f, %s) : float32[2,3,5,8] ND": "const %o : float32[] ND = dense [0.0]\n"
    '  %w = SelectV2(%k, %f, %o) : float32[2,1,5,8] ND from [3 "choice" Where]\n  %m = Add(%s, %w) : float32[2,3,5,8] ND',
    FILL: f"dense [{LOWEST}]",
}
"""The fill is added to the scores, as exporters of transformers write it."""

CAUSAL = np.broadcast_to(np.triu(np.ones((5, 8), bool), 1), (2, 1, 5, 8))
WHOLE = CAUSAL[0, 0] | (np.arange(5)[:, None] == 3)
INFINITE = {FILL: "dense [-inf]"}


def fixed(mask: Array) -> dict[str, str]:
    """Return the mask as a constant."""
    extents, elements = ",".join(map(str, mask.shape)), ", ".join(map(str, mask.reshape(-1)))
    return {MASK: f"const %k : bool[{extents}] ND = dense [{elements.lower()}]"}


FORMS: dict[str, tuple[dict[str, str], bool, float]] = {
    "scores beside the fill": ({}, True, 0.3),
    "fill beside the scores": ({CHOICE: "%m = SelectV2(%k, %s, %f)"}, False, 0.3),
    "fill of -1e9": ({FILL: "dense [-1e9]"}, True, 0.3),
    "lowest fill": ({FILL: f"dense [{LOWEST}]"}, True, 0.3),
    "fill of all extents": (
        {f"[] ND = {FILL}": "[2,3,5,8] ND = splat -10000.0"}, True, 0.3),
    "divided scores": ({SCALE: "%s = RealDiv(%x, %c) : float32[2,3,5,8] ND"}, True, 1 / 0.3),
    "scaled by an attribute": (
        {SCALE: "%s = Muls(%x) {value=0.3} : float32[2,3,5,8] ND"}, True, 0.3),
    "constant before the scores": ({"Mul(%x, %c)": "Mul(%c, %x)"}, True, 0.3),
    "no scale": ({SCALE: "%s = Abs(%x) : float32[2,3,5,8] ND"}, True, 1.0),
    "axis counted from the end": ({SOFTMAX: "%y = SoftmaxV2(%m) {axes=[-1]}"}, True, 0.3),
    "mask of one row": ({MASK: "input %k : bool[8] ND"}, True, 0.3),
    "mask turned over before": (
        {CHOICE: "%n = LogicalNot(%k) : bool[2,1,5,8] ND\n  %m = SelectV2(%n, %s, %f)"}, True, 0.3),
    "added": (ADDED, True, 0.3),
    "added, and kept where the mask is true": (
        ADDED | {"%w = SelectV2(%k, %f, %o)": "%w = SelectV2(%k, %o, %f)"}, False, 0.3),
    "constant mask and -inf": (fixed(CAUSAL) | INFINITE, True, 0.3),
    "constant mask of what stays": (
        fixed(~CAUSAL) | INFINITE | {CHOICE: "%m = SelectV2(%k, %s, %f)"}, False, 0.3),
    "constant mask and -inf added": (ADDED | fixed(CAUSAL) | {f"dense [{LOWEST}]": "dense [-inf]"},
        True, 0.3),
}  # fmt: skip
"""What is written, whether the mask says what goes, and the scale that is found."""

REFUSALS = {
    "weak fill": ({FILL: "dense [-100.0]"}, "the fill must be at most -10000, found -100"),
    "no fill": ({CHOICE: "%m = SelectV2(%k, %x, %s)"}, "a constant as its fill"),
    "-inf that a fed mask may give a row": (INFINITE, "the mask must be constant, found bool"),
    "-inf throughout a row": (fixed(WHOLE) | INFINITE, "without such rows, found 1"),
    "added, and not so low": (
        ADDED | {FILL: "dense [-1e9]"}, "must leave the fill as it is when 65504 is added"),
    "added something else": (
        {**ADDED, "%o : float32[] ND = dense [0.0]": "%o : float32[] ND = dense [0.5]"},
        "SelectV2 must choose 0 or the fill"),
    "added, and nothing chosen": (
        {CHOICE: "%m = Add(%x, %s)"}, "SelectV2 must compute what is added"),
    "another axis": ({SOFTMAX: "%y = SoftmaxV2(%m) {axes=[2]}"}, "the last axis, 3, must be"),
    "two axes": ({SOFTMAX: "%y = SoftmaxV2(%m) {axes=[2, 3]}"}, "the last axis, 3, must be"),
    "unmasked": ({SOFTMAX: "%y = SoftmaxV2(%s) {axes=[3]}"}, "SelectV2 or Add must compute %s"),
    "masked scores read elsewhere": (
        {"output %y": "output %y\n  output %m"}, "nothing else may read %m"),
    "scores repeated by the mask": (
        {"%x : float32[2,3,5,8]": "%x : float32[3,5,8]", SCALE: "%s = Mul(%x, %c) : float32[3,5,8] ND"},
        "the result must be float32[3,5,8]"),
    "open extents": (
        {"input %x : float32[2,3,5,8] ND": "input %z : float32[2,3,5,8] ND\n  input %e : int64[4] ND\n"
         "  %x = Reshape(%z, %e) : float32[?,3,5,8] ND",
         SCALE: "%s = Mul(%x, %c) : float32[?,3,5,8] ND",
         f"{CHOICE} : float32[2,3,5,8]": f"{CHOICE} : float32[?,3,5,8]",
         f"{SOFTMAX} : float32[2,3,5,8]": f"{SOFTMAX} : float32[?,3,5,8]"},
        "dims must be known"),
    "kept as it is": ({}, "SoftmaxV2 keeps its dtype (keep-dtype), but"),
}  # fmt: skip


def feeds(text: str) -> dict[str, Array]:
    """Return scores and a mask with rows that go as a whole, that stay as a whole, and others."""
    random = np.random.default_rng(8)
    made: dict[str, Array] = {"x": (random.normal(size=(2, 3, 5, 8)) * 4).astype(np.float32)}
    if "input %k" in text:
        mask = random.random((8,) if "bool[8]" in text else (2, 1, 5, 8)) < 0.5
        if mask.ndim > 1:
            mask[0, 0, 1], mask[1, 0, 3] = True, False
        made["k"] = mask
    return made


def results(graph: Graph | str, fed: dict[str, Array], mode: str) -> dict[str, Array]:
    """Return a lowered graph's results; its constants are cast as a compilation casts them."""
    typed = parse_graph(graph) if isinstance(graph, str) else graph
    context = PassContext(find_soc("sim"), PrecisionMode(mode), "model.onnx")
    for step in (AssignPrecisionPass(), FoldConstantCastsPass(), AssignFormatsPass()):
        step.run(typed, context)
        typed.sort()
    return results_of_typed(typed, fed)


@in_one_item("form", FORMS)
def test_masked_softmax_is_found_as_exporters_write_it(form: str) -> None:
    changes, hides, scale = FORMS[form]
    graph, record = fuse(FuseMaskedSoftmaxPass, changed(MASKED, changes))
    found = {node.op: node for node in graph.nodes}
    last = found["ScaledMaskedSoftmax"]
    assert last.output.name == "y"
    assert last.attributes == {"scale": pytest.approx(scale, rel=1e-6)}
    constant = "input %k" not in changed(MASKED, changes)
    inverted = {"LogicalNot"} if not hides and not constant else set()
    assert set(found) - {"Abs"} == {"ScaledMaskedSoftmax"} | inverted
    assert (record.matched, record.effective) == (1, 1)
    names = {origin.name for origin in last.origins}
    assert {"where", "softmax"} <= names <= {"scale", "where", "softmax", "choice"}
    assert ("choice" in names) == form.startswith(("added", "constant mask and -inf added"))


@in_one_item("reason", REFUSALS)
def test_masked_softmax_is_left_alone_and_says_why(reason: str) -> None:
    changes, message = REFUSALS[reason]
    keep = frozenset({"softmax"}) if reason == "kept as it is" else frozenset()
    graph, record = fuse(FuseMaskedSoftmaxPass, changed(MASKED, changes), keep=keep)
    assert "ScaledMaskedSoftmax" not in {node.op for node in graph.nodes}
    assert "LogicalNot" not in {node.op for node in graph.nodes}
    assert record.nearest is not None
    assert message in record.nearest.reason


@pytest.mark.parametrize("mode", ["force_fp32", "force_fp16"])
@pytest.mark.parametrize("form", FORMS)
def test_masked_softmax_keeps_the_numbers(form: str, mode: str) -> None:
    text = changed(MASKED, FORMS[form][0])
    fed = feeds(text)
    fused = results(fuse(FuseMaskedSoftmaxPass, text)[0], fed, mode)["y"]
    apart = results(text, fed, mode)["y"]
    # Unfused, scores below 8 are rounded to float16 before they are exponents, by 2^-9 at most, and
    # shares change by no more than twice that; unscaled ones reach 16.
    assert np.abs(fed["x"]).max() < 16
    bound = 1e-6 if mode == "force_fp32" else 2.0**-8
    np.testing.assert_allclose(fused, apart, rtol=0, atol=bound)
    assert np.abs(fused - 1.02 * apart).max() > bound


def test_mask_that_layers_share_goes_with_the_last_of_them() -> None:
    again = """%y = SoftmaxV2(%m) {axes=[3]} : float32[2,3,5,8] ND
  %n = Add(%w, %y) : float32[2,3,5,8] ND
  %z = SoftmaxV2(%n) {axes=[3]}"""
    text = changed(MASKED, {**ADDED, SOFTMAX: again, "output %y": "output %z"})
    graph, record = fuse(FuseMaskedSoftmaxPass, text)
    assert [node.op for node in graph.nodes] == ["ScaledMaskedSoftmax"] * 2
    assert record.effective == 2
    assert all("choice" in {each.name for each in node.origins} for node in graph.nodes)
    fed = feeds(text)
    for name, found in results(graph, fed, "force_fp32").items():
        expected = results(text, fed, "force_fp32")[name]
        np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


def test_scale_that_is_read_elsewhere_stays_before_and_numbers_stay() -> None:
    text = changed(MASKED, {"output %y": "output %y\n  output %s"})
    graph, _ = fuse(FuseMaskedSoftmaxPass, text)
    assert [node.op for node in graph.nodes] == ["Mul", "ScaledMaskedSoftmax"]
    assert graph.nodes[1].attributes == {"scale": 1.0}


FILLS = [
    (dtype, fill, places)
    for dtype, fills in {
        "float16": {-9992.0: "", -1e4: "chosen", LOWEST_HALF: "chosen"},
        "bfloat16": {-9920.0: "", -9984.0: "chosen", -1e9: "chosen added", -3.38e38: "chosen added"},
        "float32": {-9999.0: "", -1e4: "chosen", -1e9: "chosen", -1e12: "chosen",
                    -1e13: "chosen added", LOWEST: "chosen added"},
        "float64": {-1e4: "", -1e300: ""},
    }.items()
    for fill, places in fills.items()
]  # fmt: skip
"""Where a fill of a dtype may stand."""


@in_one_item(("dtype", "fill", "places"), FILLS)
def test_fill_is_low_enough_in_its_dtype_or_left_alone(
    dtype: str, fill: float, places: str
) -> None:
    for place, changes in {"chosen": {}, "added": ADDED}.items():
        text = changed(MASKED, changes)
        for old in (FILL, f"dense [{LOWEST}]"):
            text = text.replace(f"[] ND = {old}", f"[] ND = splat {fill}")
        graph, _ = fuse(FuseMaskedSoftmaxPass, text.replace("float32", dtype))
        fused = "ScaledMaskedSoftmax" in {node.op for node in graph.nodes}
        assert fused == (place in places.split()), place


@pytest.mark.parametrize(("above", "agrees"), [(104.0, True), (90.0, False)])
def test_scores_agree_that_are_104_above_the_fill(above: float, *, agrees: bool) -> None:
    """Check that nearer ones do not: the page says so, and this is why."""
    text = changed(MASKED, FORMS["no scale"][0] | {"Abs(%x)": "Neg(%x)"})
    fed = {"x": np.full((2, 3, 5, 8), 1e4 - above, np.float32), "k": np.zeros((2, 1, 5, 8), bool)}
    fed["k"][..., 0] = True
    graph, _ = fuse(FuseMaskedSoftmaxPass, text)
    found, apart = (results(each, fed, "force_fp32")["y"][..., 0] for each in (graph, text))
    assert not found.any()
    assert bool(apart.any()) != agrees


SPECIALS = {
    "masked NaN": (0, np.nan), "masked inf": (0, np.inf), "masked -inf": (0, -np.inf),
    "NaN": (7, np.nan), "inf": (7, np.inf), "-inf": (7, -np.inf),
}  # fmt: skip


@pytest.mark.parametrize("mode", ["force_fp32", "force_fp16"])
@pytest.mark.parametrize("name", SPECIALS)
def test_scores_that_are_nan_keep_their_effect(name: str, mode: str) -> None:
    """Check a mask that hides the first half of every row, and the whole of some."""
    place, number = SPECIALS[name]
    fed = feeds(MASKED)
    fed["k"][..., :4], fed["k"][..., 4:], fed["k"][1, 0, 3] = True, False, True
    fed["x"][..., place] = number
    fused = results(fuse(FuseMaskedSoftmaxPass, MASKED)[0], fed, mode)["y"]
    apart = results(MASKED, fed, mode)["y"]
    np.testing.assert_array_equal(np.isnan(fused), np.isnan(apart))
    assert np.isnan(fused).any() == (name in {"NaN", "inf"})
    np.testing.assert_allclose(fused, apart, rtol=0, atol=2.0**-6)


def listed(extents: list[int]) -> str:
    """Return dims in the text form."""
    return ",".join(map(str, extents))


@given(data=st.data())
@examples(60)
def test_masks_broadcast_along_every_axis_keep_the_numbers(data: st.DataObject) -> None:
    shape = data.draw(st.lists(st.integers(1, 6), min_size=1, max_size=4))
    rank = data.draw(st.integers(0, len(shape)))
    extents = [data.draw(st.sampled_from([1, extent])) for extent in shape[len(shape) - rank :]]
    random = np.random.default_rng(data.draw(st.integers(0, 99)))
    share = data.draw(st.sampled_from([0.0, 0.3, 0.8, 1.0]))
    added, hides = data.draw(st.booleans()), data.draw(st.booleans())
    fill = LOWEST if added else data.draw(st.sampled_from([-1e4, -1e9, LOWEST]))
    kind, masks = f"float32[{listed(shape)}] ND", f"bool[{listed(extents)}] ND"
    pair = ["%o" if added else "%x", "%f"]
    then, other = reversed(pair) if hides else pair
    result = masks.replace("bool", "float32") if added else kind
    chosen = f"%m = SelectV2(%k, {then}, {other}) : {result}"
    tail = f"%n = Add(%m, %x) : {kind}" if added else ""
    text = f"""graph @g phase lowered {{
      input %x : {kind}
      input %k : {masks}
      const %f : float32[] ND = dense [{fill}]
      const %o : float32[] ND = dense [0.0]
      {chosen}
      {tail}
      %y = SoftmaxV2(%{"n" if added else "m"}) {{axes=[-1]}} : {kind}
      output %y
    }}"""
    graph, record = fuse(FuseMaskedSoftmaxPass, text)
    assert record.effective == 1
    x = (random.normal(size=shape) * 4).astype(np.float32)
    mask = np.asarray(random.random(extents) < share)
    fed: dict[str, Array] = {"x": x, "k": mask}
    fused, apart = (results(each, fed, "force_fp32")["y"] for each in (graph, text))
    np.testing.assert_allclose(fused, apart, rtol=0, atol=1e-6)
    hidden = np.broadcast_to(mask if hides else ~mask, shape)
    whole = np.asarray(hidden.all(axis=-1))
    assert not fused[hidden & ~whole[..., None]].any()
    np.testing.assert_allclose(fused[whole], 1 / shape[-1], rtol=1e-6)
