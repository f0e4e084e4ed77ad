"""If, whose branches become nodes side by side of which only some run, against onnxruntime."""

from itertools import product
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import NDArray

from tests.lowering.branching import agree, parsed, random_program, reference
from tests.lowering.opened import KEEP, MODES, NARROW, loaded

Array = NDArray[Any]

FLAGS = (True, False)


def small(*shape: int, seed: int = 0) -> Array:
    """Return multiples of 1/16 between -2 and 2."""
    generator = np.random.default_rng([seed, *shape])
    return np.asarray(generator.integers(-32, 33, shape) / 16).astype(np.float32)


def both_ways(
    turns: tuple[bool, ...] = (True, False, True, False), x: Array | None = None, **others: Array
) -> list[dict[str, Array]]:
    """Return runs that take turns; x differs from run to run where it is not given."""
    return [
        {"x": small(2, 3, seed=n) if x is None else x, "c": np.array(turn), **others}
        for n, turn in enumerate(turns)
    ]


RELU = "t () => (float[n,3] a) { a = Relu (x) }"
NEG = "e () => (float[n,3] b) { b = Neg (x) }"
TWO = "two () => (float[2,3] w) <float[2,3] w = {1, 2, 3, 4, 5, 6}> {}"
SQUARE = "then_branch = t () => (float[2,3] a) { a = Mul (x, x) }"


def chosen(then: str, otherwise: str, after: str = "", outputs: str = "y") -> str:
    """Return a model that takes one of two branches by its input c."""
    taken = f"{outputs} = If (c) <then_branch = {then}, else_branch = {otherwise}>"
    results = "z" if after else outputs
    return f"g (float[2,3] x, bool c) => ({results}) {{ u = Exp (x) {taken} {after} }}"


MODELS = {
    "plain": chosen(RELU, NEG),
    "other extents": chosen(
        RELU, "e () => (float[n,3] b) { b = Concat <axis = 0> (x, u, x) }", "z = Exp (y)"
    ),
    "captured and handed out": chosen(RELU, "e () => (float[2,3] x) {}"),
    "both captured": chosen("t () => (float[2,3] u) {}", "e () => (float[2,3] x) {}"),
    "one value both ways": chosen("t () => (float[2,3] u) {}", "e () => (float[2,3] u) {}"),
    "constant": chosen(TWO, NEG),
    "both constant": chosen(
        "t () => (float[1,3] w) <float[1,3] w = {7, 8, 9}> {}", TWO, "z = Add (x, y)"
    ),
    "constant node": chosen(
        "t () => (float[n] k) { k = Constant <value = float[2] {1, 2}> () }",
        "e () => (float[n] k) { k = Constant <value = float[1] {3}> () }",
    ),
    "condition handed out": chosen(
        "t () => (bool c) {}", "e () => (bool k) { k = Not (c) }", "z = Not (y)"
    ),
    "twice": chosen(
        "t () => (float[2,3] a, float[2,3] a) { a = Relu (x) }",
        "e () => (float[2,3] b, float[2,3] x) { b = Neg (x) }",
        outputs="y, v",
    ),
    "unused output": chosen(
        "t () => (float[2,3] a, float[2,3] d) { a = Relu (x) d = Exp (a) }",
        "e () => (float[2,3] b, float[n,3] d) { b = Neg (x) d = Concat <axis = 0> (b, b) }",
        "z = Abs (v)",
        "y, v",
    ),
    "results unused": chosen(RELU, NEG, "z = Abs (u)"),
    "used before, within and after": chosen(
        "t () => (float[2,3] a) { a = Relu (u) }",
        "e () => (float[2,3] a) { a = Sqrt (u) }",
        "z = Add (y, u)",
    ),
    "one name in both": chosen(
        "t () => (float[2,3] y0) { a = Relu (x) y0 = Exp (a) }",
        "e () => (float[2,3] y0) { a = Neg (x) y0 = Abs (a) }",
    ),
    "shape behind": chosen(
        "t () => (float[n,3] a) { a = Concat <axis = 0> (x, x) }", NEG,
        "s = Shape (y) k = Constant <value = int64[1] {-1}> () q = Concat <axis = 0> (k, s) "
        "i = Constant <value = int64[1] {0}> () d = Gather (s, i) "
        "v = Concat <axis = 0> (k, d) z = Reshape (y, v)",
    ),
    "another If behind": chosen(
        RELU, "e () => (float[n,3] b) { b = Concat <axis = 0> (x, x) }",
        "z = If (c) <then_branch = p () => (float[n,3] a) { a = Neg (y) }, "
        "else_branch = q () => (float[n,3] a) { a = Mul (y, y) }>",
    ),
    "picked rows": chosen(
        "t () => (float[n] a) { n = NonZero (x) m = Transpose (n) a = GatherND (x, m) }",
        "e () => (float[6] b) <int64[1] k = {-1}> { b = Reshape (x, k) }",
        "z = Relu (y)",
    ),
}  # fmt: skip


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("name", MODELS)
def test_branches_agree_with_onnxruntime(name: str, mode: str) -> None:
    agree(parsed(MODELS[name]), both_ways(), mode)


@pytest.mark.parametrize("shape", ["", "[1]", "[1,1]"])
def test_condition_is_one_truth_value_of_any_rank(shape: str) -> None:
    text = chosen(RELU, NEG).replace("bool c", f"bool{shape} c")
    rank = shape.count("1")
    runs = [{**run, "c": run["c"].reshape((1,) * rank)} for run in both_ways()]
    agree(parsed(text), runs)


@pytest.mark.parametrize("mode", MODES)
def test_condition_is_computed(mode: str) -> None:
    text = f"""g (float[2,3] x) => (y) <float k = {{2}}> {{
        m = ReduceMax <keepdims = 0> (x) c = Greater (m, k)
        y = If (c) <then_branch = {RELU}, else_branch = {NEG}> }}"""
    runs = [{"x": small(2, 3) + shift} for shift in (np.float32(0), np.float32(4), np.float32(0))]
    agree(parsed(text), runs, mode)


@pytest.mark.parametrize("mode", MODES)
def test_inner_branches_capture_from_two_levels_up(mode: str) -> None:
    """Check both conditions; the inner one is computed within, and once the outer one again."""
    text = """g (float[2,3] x, bool c) => (y) { u = Exp (x)
        y = If (c) <
          then_branch = t () => (float[n,3] o) <float k = {0}> {
            s = ReduceSum <keepdims = 0> (x) p = Greater (s, k)
            i = If (p) <
              then_branch = tt () => (float[2,3] a) { a = Mul (u, s) },
              else_branch = te () => (float[n,3] a) { a = Concat <axis = 0> (x, u) }>
            o = Abs (i) },
          else_branch = e () => (float[2,3] i) {
            i = If (c) <
              then_branch = et () => (float[2,3] a) { a = Neg (x) },
              else_branch = ee () => (float[2,3] u) {}> }> }"""
    runs = [
        {"x": sign * (small(2, 3) + 1), "c": np.array(c)} for c, sign in product(FLAGS, (1, -1))
    ]
    agree(parsed(text), [{**run, "x": run["x"].astype(np.float32)} for run in runs * 2], mode)


def test_one_inner_if_uses_what_another_returns() -> None:
    """Check that the types of the first are known for a look into the second, at every depth."""
    inner = """p{n} = If (d) <
      then_branch = t{n} () => (float[s{n},3] a{n}) {{ a{n} = Concat <axis = 0> ({x}, x) }},
      else_branch = e{n} () => (float[r{n},3] b{n}) {{ b{n} = Neg ({x}) }}>"""
    chain = " ".join(inner.format(n=n, x="x" if not n else f"p{n - 1}") for n in range(4))
    text = f"""g (float[2,3] x, bool c, bool d) => (y) {{
        y = If (c) <then_branch = t () => (float[q,3] p3) {{ {chain} }},
                    else_branch = {NEG}> }}"""
    runs = [{**run, "d": np.array(d)} for run in both_ways() for d in FLAGS]
    agree(parsed(text), runs)


@given(st.integers(0, 2**16), st.sampled_from([11, 12]), st.sampled_from(MODES))
def test_random_program_agrees_with_onnxruntime(seed: int, opset: int, mode: str) -> None:
    model = parsed(random_program(seed), opset)
    runs = [
        {"x": small(2, 3, seed=seed), "c": np.array(c), "d": np.array(d)}
        for c, d in product(FLAGS, FLAGS)
    ]
    agree(model, [*runs, runs[0]], mode)


# What is not taken does not run -------------------------------------------------------------------

FAILING = {
    "range": "t () => (float[n] a) { s = ReduceSum <keepdims = 0> (x) d = Sub (s, s) "
    "a = Range (d, s, d) }",
    "gather": "t () => (float[n] a) <int64[1] i = {100}> { s = Shape (x) m = NonZero (x) "
    "r = Gather <axis = 1> (m, i) f = Cast <to = 1> (r) k = Constant <value = int64[1] {-1}> () "
    "a = Reshape (f, k) }",
    "reshape": "t () => (float[n] a) { n = NonZero (x) s = Shape (n) k = Constant "
    "<value = int64[1] {1}> () p = Gather (s, k) a = Reshape (x, p) }",
}
FLAT = "e () => (float[n] b) <int64[1] k = {-1}> { b = Reshape (x, k) }"


@pytest.mark.parametrize("mode", [KEEP, NARROW])
@pytest.mark.parametrize("name", FAILING)
def test_branch_that_would_fail_is_left_alone(name: str, mode: str) -> None:
    x = np.array([[1, 0, 2], [0, 0, 3]], np.float32)
    text, swapped = chosen(FAILING[name], FLAT), chosen(FLAT, FAILING[name])
    agree(parsed(text), both_ways((False, False), x), mode)
    agree(parsed(swapped), both_ways((True, True), x), mode)


@pytest.mark.parametrize("side", FLAGS)
@pytest.mark.parametrize("seed", range(1, 9))
def test_random_inner_condition_brings_no_branch_to_life(seed: int, side: bool) -> None:
    """Check a condition on nothing outside, which is computed whichever way is taken."""
    drawn = f"""w () => (float[2,3] i) <float[1] h = {{0.5}}> {{
        r = RandomUniform <shape = [1], seed = {seed}.0> () g = Greater (r, h)
        i = If (g) <then_branch = p () => (float[2,3] a) {{ a = Neg (x) }},
                    else_branch = {TWO}> }}"""
    text = chosen(drawn, RELU) if side else chosen(RELU, drawn)
    agree(parsed(text), both_ways((not side,)))


def test_branch_that_is_not_taken_makes_nothing() -> None:
    heavy = "h () => (float[2,3] o) { p = Exp (x) q = Sqrt (p) o = Sigmoid (q) }"
    model = parsed(chosen(heavy, NEG))
    with loaded(model, op_specs=None) as ready:
        for feeds in both_ways():
            ready.agree(feeds)
            made = {row.op: row.output_bytes for row in ready.model.profile()}
            (sigmoid,) = (nbytes for op, nbytes in made.items() if "Sigmoid" in op)
            taken = bool(feeds["c"])
            assert (sigmoid > 0, made["Neg"] > 0) == (taken, not taken)
            assert made["Merge"] > 0


# Within branches ----------------------------------------------------------------------------------


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("opset", [11, 12, 13])
def test_statistics_are_fused_within_a_branch(opset: int, mode: str) -> None:
    """Check a convolution that takes in BatchNormalization, its filter shared by both branches."""
    text = """g (float[1,2,5,5] x, bool c) => (y)
        <float[3,2,1,1] w = {1, 2, -1, 0.5, 3, 1}, float[3] s = {1, 2, 0.5},
         float[3] m = {0, 1, -1}, float[3] v = {1, 4, 0.25}> {
      y = If (c) <
        then_branch = t () => (float[1,3,5,5] a) {
          p = Conv (x, w) q = BatchNormalization (p, s, m, m, v) a = Relu (q) },
        else_branch = e () => (float[n,3,5,5] b) { b = Conv (x, w, s) }> }"""
    runs = both_ways(x=small(1, 2, 5, 5))
    model = parsed(text, opset)
    with loaded(model, mode, op_specs=None) as ready:
        operators = [node.op for node in ready.model.description.nodes]
        assert operators.count("Conv2D") == 2
        assert not {"BatchNorm", "BNInfer"} & set(operators)
        for feeds in runs:
            ready.agree(feeds, rounds=6)


@pytest.mark.parametrize("mode", MODES)
def test_boxes_are_suppressed_within_a_branch(mode: str) -> None:
    text = """g (float[1,4,4] boxes, float[1,1,4] scores, bool c) => (z)
        <int64[1] k = {3}, float[1] t = {0.5}> {
      y = If (c) <
        then_branch = p () => (int64[n,3] a) { a = NonMaxSuppression (boxes, scores, k, t) },
        else_branch = q () => (int64[1,3] b) <int64[1,3] b = {0, 0, 2}> {}>
      i = Constant <value = int64[1] {2}> () j = Gather <axis = 1> (y, i) z = Cast <to = 1> (j) }"""
    boxes = [[[0, 0, 1, 1], [0, 0, 1, 0.875], [2, 2, 3, 3], [0, 0, 0.25, 0.25]]]
    fed = {
        "boxes": np.array(boxes, np.float32),
        "scores": np.array([[[0.5, 0.75, 0.25, 1]]], np.float32),
    }
    agree(parsed(text), [{**fed, "c": np.array(c)} for c in (True, False, True)], mode)


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("opset", [13, 16, 17, 18])
def test_nodes_within_are_restated_at_a_listed_opset(opset: int, mode: str) -> None:
    """Check ReduceMax with axes as an input of opset 18, and older Pad, Where and Split."""
    axes = "(x, k)" if opset >= 18 else "(x)"
    named = "" if opset >= 18 else "axes = [1], "
    parts = ", num_outputs = 2" if opset >= 18 else ""
    text = f"""g (float[2,3] x, bool c, bool[2,3] q) => (y) <int64[1] k = {{1}}> {{
      y = If (c) <
        then_branch = t () => (float[2,3] a) <float[1] s = {{0.5}}> {{
          m = ReduceMax <{named}keepdims = 1> {axes} w = Where (q, x, m) a = PRelu (w, s) }},
        else_branch = e () => (float[n,3] b) <int64[4] p = {{1, 0, 1, 0}}> {{
          d = Pad (x, p) b, r = Split <axis = 0{parts}> (d) }}> }}"""
    agree(parsed(text, opset), both_ways(q=np.array([[1, 0, 1], [0, 0, 1]], np.bool_)), mode)


def test_results_keep_their_dtype_in_float16() -> None:
    """Check a branch rounded to float16 and one of float32; the model's output is float32."""
    model = parsed(chosen("t () => (float[2,3] a) { a = Exp (x) }", "e () => (float[2,3] x) {}"))
    with loaded(model, NARROW, reference=reference(model), op_specs=None) as ready:
        for feeds in both_ways():
            assert ready.agree(feeds)["y"].dtype == np.float32


@pytest.mark.parametrize("dtype", ["float16", "int64", "bool"])
def test_results_of_other_dtypes(dtype: str) -> None:
    number = {"float16": 10, "int64": 7, "bool": 9}[dtype]
    text = chosen(
        f"t () => ({dtype}[2,3] a) {{ a = Cast <to = {number}> (x) }}",
        f"e () => ({dtype}[n,3] b) {{ p = Neg (x) q = Cast <to = {number}> (p) "
        "b = Concat <axis = 0> (q, q) }",
    )
    agree(parsed(text), both_ways())


def test_both_branches_share_a_constant_from_around_them() -> None:
    text = """g (float[2,3] x, bool c) => (y) <float[1,3] k = {1, 2, 3}> {
      y = If (c) <then_branch = t () => (float[2,3] a) { a = Add (x, k) },
                  else_branch = e () => (float[2,3] b) { b = Mul (k, x) }> }"""
    with loaded(parsed(text), op_specs=None) as ready:
        held = [each.member for each in ready.model.description.tensors if each.member]
        assert len(held) == 1
        for feeds in both_ways():
            ready.agree(feeds)


@pytest.mark.parametrize(("then", "switches"), [(RELU, 1), ("t () => (float[2,3] u) {}", 2)])
def test_what_a_branch_computes_of_gated_values_passes_no_gate_again(
    then: str, switches: int
) -> None:
    model = parsed(chosen(then, NEG))
    with loaded(model, KEEP, reference=reference(model), op_specs=None) as ready:
        nodes = ready.model.description.nodes
        ready.agree({"x": small(2, 3), "c": np.ones((), bool)})
    assert [node.op for node in nodes].count("Switch") == switches
