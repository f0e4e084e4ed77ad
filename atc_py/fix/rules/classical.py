"""Rules of ai.onnx.ml, the operators of classical machine learning: scaling, linear models, trees.

Trees are written with decisions as comparisons, and paths and leaves as products. Over 400 lines
because a page holds its whole family.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from atc_py.fix import tables
from atc_py.fix.case import CaseInput, Fed, RuleCase, case
from atc_py.fix.context import RuleContext
from atc_py.fix.parts.codes import INTEGERS
from atc_py.fix.rule import EQUAL, REORDERED, rule
from atc_py.fix.unfit import require
from atc_py.tensor.dtypes import DType

_DOMAIN = "ai.onnx.ml"
_MATRIX = 2


def ml_case(op_type: str, *inputs: CaseInput, outputs: int = 1, **attributes: Any) -> RuleCase:
    return case(op_type, *inputs, opset=3, outputs=outputs, domain=_DOMAIN, **attributes)


def number_list(ctx: RuleContext, name: str) -> NDArray[np.float32]:
    value = ctx.node.attributes.get(name, ())
    require(isinstance(value, tuple), "{name} is a list of numbers", name=name)
    return np.array(cast("tuple[float, ...]", value), np.float32)


def features_of(ctx: RuleContext) -> tuple[str, int]:
    """The input as float32, and how many features a sample has."""
    dims = ctx.dims(0)
    require(
        len(dims) == _MATRIX and dims[1] is not None,
        "X has samples of as many features as are known",
    )
    require(ctx.element is DType.FLOAT32 or ctx.element in INTEGERS, "X is float32 or integer")
    x = ctx.name(0)
    return (x if ctx.element is DType.FLOAT32 else ctx.cast(x, DType.FLOAT32)), dims[1] or 0


def floats(ctx: RuleContext, data: NDArray[Any], label: str) -> str:
    return ctx.const(data, DType.FLOAT32, label)


Transform = Callable[[RuleContext, str], str]
"""Writer of what is done to scores in the end."""

_TRANSFORMS: Mapping[str, Transform] = {
    "NONE": lambda _ctx, y: y,
    "LOGISTIC": lambda ctx, y: ctx.op("Sigmoid", y),
    "SOFTMAX": lambda ctx, y: ctx.op("Softmax", y, axis=1),
}


def transform_of(ctx: RuleContext) -> Transform:
    name = ctx.text("post_transform", "NONE")
    require(name in _TRANSFORMS, "post_transform is NONE, LOGISTIC or SOFTMAX")
    return _TRANSFORMS[name]


def labels_of(ctx: RuleContext) -> NDArray[np.int64] | None:
    """The labels, by class; None where nothing reads them."""
    labels = ctx.integers("classlabels_ints") or ctx.integers("classlabels_int64s")
    read = ctx.output(0) is not None
    require(labels or not read, "labels are integers, or nothing reads them")
    return np.array(labels, np.int64) if read else None


def label_of(ctx: RuleContext, labels: NDArray[np.int64] | None, best: str) -> str:
    """Write the labels of classes, given their numbers; "" where nothing reads them."""
    if labels is None:
        return ""
    if (labels == range(labels.size)).all():
        return best
    return ctx.op("Gather", ctx.const(labels, label="labels"), best, axis=0)


def ranked_classes(
    ctx: RuleContext, labels: NDArray[np.int64] | None, transform: Transform, scores: str
) -> Sequence[str]:
    """Write the label of the largest score of each sample, and the transformed scores."""
    best = "" if labels is None else ctx.op("ArgMax", scores, axis=1, keepdims=0)
    return [label_of(ctx, labels, best), transform(ctx, scores)]


def class_count(ctx: RuleContext) -> int:
    names = ("classlabels_ints", "classlabels_int64s", "classlabels_strings")
    lists = (ctx.node.attributes.get(name, ()) for name in names)
    return max(len(value) if isinstance(value, tuple) else 0 for value in lists)


@rule(
    REORDERED,
    ml_case("Scaler", [4, 3], offset=[1.0, 2.0, 3.0], scale=[0.5, 2.0, 1.0]),
    miss=ml_case("Scaler", Fed((4, 3), DType.FLOAT64), offset=[1.0], scale=[0.5]),
)
def scaler_as_product(ctx: RuleContext) -> str:
    """Scaler of ai.onnx.ml -> Sub, Mul, if X is float32 or integer."""
    x, count = features_of(ctx)
    offset, scale = (number_list(ctx, name) for name in ("offset", "scale"))
    sizes = {1, count}
    require(
        offset.size == scale.size and offset.size in sizes, "there is one factor, or one a feature"
    )
    return ctx.op(
        "Mul", ctx.op("Sub", x, floats(ctx, offset, "offset")), floats(ctx, scale, "scale")
    )


@rule(
    REORDERED,
    ml_case("Normalizer", [4, 3], norm="L2"),
    miss=ml_case("Normalizer", [4, 3], norm="MAX"),
)
def normalizer_as_quotient(ctx: RuleContext) -> str:
    """Normalizer of ai.onnx.ml -> ReduceL1 or ReduceL2, Where, Div, if norm is L1 or L2.

    Samples of zeros stay.
    """
    x, _ = features_of(ctx)
    norm = ctx.text("norm", "MAX")
    require(norm in {"L1", "L2"}, "norm is L1 or L2")
    size = ctx.reduce(f"Reduce{norm}", x, [1])
    zero, one = (floats(ctx, np.array(value), "number") for value in (0, 1))
    return ctx.op("Div", x, ctx.op("Where", ctx.op("Equal", size, zero), one, size))


@rule(
    EQUAL,
    ml_case("Binarizer", [4, 3], threshold=0.25),
    miss=ml_case("Binarizer", Fed((4, 3), DType.FLOAT64), threshold=0.25),
)
def binarizer_as_comparison(ctx: RuleContext) -> str:
    """Binarizer of ai.onnx.ml -> Greater, Cast, if X is float32."""
    require(ctx.element is DType.FLOAT32, "X is float32", found=ctx.element.value)
    threshold = floats(ctx, np.array(ctx.number("threshold", 0.0)), "threshold")
    return ctx.cast(ctx.op("Greater", ctx.name(0), threshold), DType.FLOAT32)


def _linear(ctx: RuleContext, results: int) -> str:
    x, count = features_of(ctx)
    weights, bias = number_list(ctx, "coefficients"), number_list(ctx, "intercepts")
    require(weights.size == results * count, "coefficients are as many as features and results")
    require(bias.size in {0, results}, "there is an intercept for each result")
    y = ctx.op("MatMul", x, floats(ctx, weights.reshape(results, count).T, "coefficients"))
    return ctx.op("Add", y, floats(ctx, bias, "intercepts")) if bias.size else y


_COEFFICIENTS = [0.1, 0.2, -0.3, 0.4, 0.5, 0.6, -0.1, -0.2, 0.3]


@rule(
    REORDERED,
    ml_case("LinearRegressor", [4, 3], coefficients=_COEFFICIENTS[:3], intercepts=[0.5]),
    miss=ml_case("LinearRegressor", [4, 2], coefficients=_COEFFICIENTS[:3], intercepts=[0.5]),
)
def linear_regressor_as_product(ctx: RuleContext) -> str:
    """LinearRegressor of ai.onnx.ml -> MatMul, Add, if coefficients are as many as features and
    targets.
    """
    transform = transform_of(ctx)
    return transform(ctx, _linear(ctx, ctx.integer("targets", 1)))


@rule(
    REORDERED,
    ml_case(
        "LinearClassifier", [4, 3], outputs=2, coefficients=_COEFFICIENTS,
        intercepts=[0.1, 0.2, 0.3], classlabels_ints=[3, 5, 7], post_transform="SOFTMAX",
        multi_class=1,
    ),
    miss=ml_case(
        "LinearClassifier", [4, 3], outputs=2, coefficients=_COEFFICIENTS[:3], intercepts=[0.1],
        classlabels_ints=[0, 1],
    ),
    boundary=ml_case(
        "LinearClassifier", [4, 3], outputs=2, coefficients=_COEFFICIENTS[:6],
        intercepts=[0.1, 0.2], classlabels_ints=[0, 1], post_transform="LOGISTIC",
    ),
)  # fmt: skip
def linear_classifier_as_product(ctx: RuleContext) -> Sequence[str]:
    """LinearClassifier of ai.onnx.ml -> MatMul, Add, ArgMax, Gather, if each class has
    coefficients, and labels are integers or unread.
    """
    labels, transform, count = labels_of(ctx), transform_of(ctx), class_count(ctx)
    require(count >= 2, "there are two classes or more")  # noqa: PLR2004
    return ranked_classes(ctx, labels, transform, _linear(ctx, count))


_MOST_PATHS = 2**22
"""Entries of the tables of paths: trees, times the decisions and the leaves of the largest."""

_COMPARISONS = {
    "BRANCH_LEQ": "LessOrEqual", "BRANCH_LT": "Less", "BRANCH_GTE": "GreaterOrEqual",
    "BRANCH_GT": "Greater",
}  # fmt: skip
_SINCE = 12
_PAIR = 2


@dataclass(frozen=True, slots=True)
class _Tree:
    """A tree: its decisions, and the path to each leaf."""

    decisions: list[int]  # positions of the nodes that decide
    # numbers of the leaves, with the decisions on the way and how they went
    leaves: list[tuple[int, list[tuple[int, bool]]]]


def _trees(ctx: RuleContext) -> dict[int, _Tree]:
    names = ("treeids", "nodeids", "truenodeids", "falsenodeids")
    ids, numbers, true, false = (ctx.integers(f"nodes_{name}") for name in names)
    modes = _modes(ctx)
    sound = len({len(ids), len(numbers), len(true), len(false), len(modes)}) == 1
    at = {pair: place for place, pair in enumerate(zip(ids, numbers, strict=False))}
    require(sound and len(at) == len(ids), "each node of a tree has its branches")
    sizes = Counter(ids)
    trees: dict[int, _Tree] = {}
    for place, number in enumerate(ids):
        if number in trees:
            continue
        trees[number] = tree = _Tree([], [])
        waiting: list[tuple[int, list[tuple[int, bool]]]] = [(place, [])]
        left = sizes[number]
        while waiting:
            node, path = waiting.pop()
            left -= 1
            require(left >= 0, "each node of a tree has its branches")
            if modes[node] == "LEAF":
                tree.leaves.append((numbers[node], path))
                continue
            tree.decisions.append(node)
            for branch, went in ((false[node], False), (true[node], True)):
                after = at.get((number, branch), -1)
                require(after >= 0, "each node of a tree has its branches")
                waiting.append((after, [*path, (len(tree.decisions) - 1, went)]))
    return trees


def _modes(ctx: RuleContext) -> tuple[str, ...]:
    value = ctx.node.attributes.get("nodes_modes", ())
    require(isinstance(value, tuple), "nodes_modes is a list of strings")
    return tuple(map(str, cast("tuple[object, ...]", value)))


def _leaf_choice(ctx: RuleContext, trees: Mapping[int, _Tree]) -> str:
    """Write 1 for the leaf that a sample reaches, and 0 for others, by trees, samples and leaves.

    A leaf is reached where all of its decisions went its way: where the true ones on its way, less
    those that had to be false, are as many as had to be true. A sum is never more.
    """
    x, count = features_of(ctx)
    decisions = max(1, *(len(tree.decisions) for tree in trees.values()))
    leaves = max(len(tree.leaves) for tree in trees.values())
    require(
        len(trees) * decisions * leaves <= _MOST_PATHS,
        "trees, decisions and leaves of the largest tree multiply to at most 2^22",
    )
    values, features = number_list(ctx, "nodes_values"), ctx.integers("nodes_featureids")
    require(not any(ctx.integers("nodes_missing_value_tracks_true")), "NaN takes the false branch")
    require(values.size == len(features) and values.size, "each node has a feature and a value")
    require(max(features) < count and min(features) >= 0, "X has the features")
    chosen = tables.zeros((len(trees), decisions), np.int64)
    limits = tables.zeros((len(trees), decisions), np.float32)
    ways = tables.zeros((len(trees), decisions, leaves), np.float32)
    wanted = tables.full((len(trees), 1, leaves), -decisions, np.float32)
    for at, tree in enumerate(trees.values()):
        for place, node in enumerate(tree.decisions):
            chosen[at, place], limits[at, place] = features[node], values[node]
        for leaf, (_, path) in enumerate(tree.leaves):
            for place, went in path:
                ways[at, place, leaf] = 1 if went else -1
            wanted[at, 0, leaf] = 1 - sum(went for _, went in path)
    picked = ctx.op("Gather", x, ctx.const(chosen.reshape(-1), label="features"), axis=1)
    picked = ctx.reshape(picked, [-1, len(trees), decisions])
    above = ctx.op(_comparison(ctx), picked, floats(ctx, limits, "limits"))
    above = ctx.transpose(ctx.cast(above, DType.FLOAT32), [1, 0, 2])
    sums = ctx.op("MatMul", above, floats(ctx, ways, "paths"))
    return ctx.op("Relu", ctx.op("Add", sums, floats(ctx, wanted, "wanted")))


def _comparison(ctx: RuleContext) -> str:
    modes = {mode for mode in _modes(ctx) if mode != "LEAF"} or {"BRANCH_LT"}
    (mode, *others) = sorted(modes)
    require(mode in _COMPARISONS and not others, "all decisions are of one kind of order")
    if mode in {"BRANCH_LEQ", "BRANCH_GTE"}:
        ctx.require_opset(_SINCE)
    return _COMPARISONS[mode]


_REDUCTIONS = {"AVERAGE": "ReduceMean", "MAX": "ReduceMax", "MIN": "ReduceMin", "SUM": "ReduceSum"}


def _ensemble(ctx: RuleContext, what: str, results: int, *, ranked: bool = False) -> str:
    """Write the values of the leaves that samples reach, put together, by samples and results.

    `what` is `target` or `class`, as the attributes of leaves are called; `ranked`: the largest is
    looked for.
    """
    trees = _trees(ctx)
    require(trees, "there is a tree")
    names = (f"{what}_{name}" for name in ("treeids", "nodeids", "ids"))
    ids, numbers, targets = (ctx.integers(name) for name in names)
    weights = number_list(ctx, f"{what}_weights")
    reduction = ctx.text("aggregate_function", "SUM")
    summed = reduction in {"AVERAGE", "SUM"}
    require(reduction in _REDUCTIONS and (summed or results == 1), "trees are added up")
    sizes = {len(ids), len(numbers), len(targets), weights.size}
    require(len(sizes) == 1 and ids, "each leaf has its value")
    leaves = max(len(tree.leaves) for tree in trees.values())
    values = tables.zeros((len(trees), leaves, results), np.float32)
    named = tables.zeros((len(trees), results), np.int64)
    at = {
        (number, leaf): (position, place)
        for position, (number, tree) in enumerate(trees.items())
        for place, (leaf, _) in enumerate(tree.leaves)
    }
    require(
        min(targets) >= 0 and max(targets) < results,
        "the number of results is what the leaves name",
    )
    for number, leaf, target, weight in zip(ids, numbers, targets, weights, strict=True):
        place = at.get((number, leaf))
        if place is not None:
            values[place[0], place[1], target] += weight
            named[place[0], target] += 1
    each = ctx.op("MatMul", _leaf_choice(ctx, trees), floats(ctx, values, "leaves"))
    y = ctx.reduce(_REDUCTIONS[reduction], each, [0], keepdims=False)
    base = number_list(ctx, "base_values")
    require(base.size in {0, results}, "there is a base_value for each result")
    # A result that no leaf of a sample names has no base, and is never the largest.
    counts = np.array([[len(tree.leaves)] for tree in trees.values()])
    whole = results == 1 or bool((named == counts).any(axis=0).all())
    unlike = base.any() or (ranked and bool((weights < 0).any()))
    require(whole or not unlike, "each result has a tree whose leaves all name it")
    return ctx.op("Add", y, floats(ctx, base, "base")) if base.size else y


def _stump(mode: str = "BRANCH_LEQ", **leaves: Any) -> dict[str, Any]:
    """Attributes of two trees: one of two decisions, and a leaf alone."""
    return {
        "nodes_treeids": [0, 0, 0, 0, 0, 1],
        "nodes_nodeids": [0, 1, 2, 3, 4, 0],
        "nodes_modes": [mode, "LEAF", mode, "LEAF", "LEAF", "LEAF"],
        "nodes_featureids": [1, 0, 0, 0, 0, 0],
        "nodes_values": [0.25, 0.0, -0.5, 0.0, 0.0, 0.0],
        "nodes_truenodeids": [1, 0, 3, 0, 0, 0],
        "nodes_falsenodeids": [2, 0, 4, 0, 0, 0],
        **leaves,
    }


def _leaves(what: str, ids: Sequence[int], weights: Sequence[float]) -> dict[str, Any]:
    names = {"treeids": [0, 0, 0, 1], "nodeids": [1, 3, 4, 0], "ids": ids, "weights": weights}
    return {f"{what}_{name}": value for name, value in names.items()}


_REGRESSOR = _leaves("target", [0, 0, 0, 0], [1.0, 2.0, 4.0, 0.5])
_POSITIVE = _leaves("class", [0, 1, 2, 1], [0.5, 0.25, 1.0, 0.25])
_SIGNED = _leaves("class", [0, 0, 0, 0], [-0.5, 0.25, 1.0, -0.125])


@rule(
    REORDERED,
    ml_case("TreeEnsembleRegressor", [5, 3], n_targets=1, **_stump(**_REGRESSOR)),
    miss=ml_case("TreeEnsembleRegressor", [5, 3], n_targets=1, **_stump("BRANCH_EQ", **_REGRESSOR)),
    boundary=ml_case(
        "TreeEnsembleRegressor", [1, 2], n_targets=2,
        aggregate_function="AVERAGE",
        **_stump("BRANCH_GT", **_leaves("target", [0, 1, 0, 1], [1.0, -2.0, 4.0, 0.5])),
    ),
    float16="limits and features near them are rounded, so that samples near a limit change sides",
)  # fmt: skip
def tree_regressor_as_products(ctx: RuleContext) -> str:
    """TreeEnsembleRegressor of ai.onnx.ml -> Gather, comparisons, MatMul with paths and leaves,
    ReduceSum, if decisions are of one kind of order, and trees, decisions and leaves multiply to at
    most 2^22.
    """
    transform = transform_of(ctx)
    return transform(ctx, _ensemble(ctx, "target", ctx.integer("n_targets", 1)))


@rule(
    REORDERED,
    ml_case(
        "TreeEnsembleClassifier", [5, 3], outputs=2, classlabels_int64s=[4, 5, 6],
        **_stump(**_POSITIVE),
    ),
    miss=ml_case(
        "TreeEnsembleClassifier", [5, 3], outputs=2, classlabels_int64s=[4, 5, 6],
        **_stump("BRANCH_NEQ", **_POSITIVE),
    ),
    boundary=ml_case(
        "TreeEnsembleClassifier", [2, 2], outputs=2, classlabels_int64s=[0, 1],
        post_transform="LOGISTIC", **_stump(**_SIGNED),
    ),
    float16="limits and features near them are rounded, so that samples near a limit change sides",
)  # fmt: skip
def tree_classifier_as_products(ctx: RuleContext) -> Sequence[str]:
    """TreeEnsembleClassifier of ai.onnx.ml -> Gather, comparisons, MatMul with paths and leaves,
    ReduceSum, ArgMax, if decisions are of one kind of order, trees, decisions and leaves multiply to
    at most 2^22, and labels are integers or unread.

    Of two classes leaves name the first alone, whose score is the second's: the other has what is left
    to 1 where all weights are positive, and the score with the other sign where not.
    """
    labels, transform, count = labels_of(ctx), transform_of(ctx), class_count(ctx)
    if count == _PAIR:
        # Where leaves name both of two classes, onnxruntime asks for the sign of the second alone.
        require(
            set(ctx.integers("class_ids")) <= {0}, "with two classes the leaves name only the first"
        )
        return _binary(ctx, labels, transform)
    require(count > _PAIR, "there are two classes or more")
    scores = _ensemble(ctx, "class", count, ranked=labels is not None)
    return ranked_classes(ctx, labels, transform, scores)


def _binary(
    ctx: RuleContext, labels: NDArray[np.int64] | None, transform: Transform
) -> Sequence[str]:
    score = _ensemble(ctx, "class", 1)
    positive = bool((number_list(ctx, "class_weights") >= 0).all())
    plain = ctx.text("post_transform", "NONE") == "NONE"
    require(plain or not positive, "positive weights are not transformed")
    least = floats(ctx, np.array(0.5 if positive else 0.0), "least")
    label = ""
    if labels is not None:
        above = ctx.cast(ctx.op("Greater", score, least), DType.INT64)
        label = label_of(ctx, labels, ctx.squeeze(above, [1]))
    one = floats(ctx, np.array(1.0), "one")
    other = ctx.op("Sub", one, score) if positive else ctx.op("Neg", score)
    return [label, transform(ctx, ctx.concat([other, score], 1))]
