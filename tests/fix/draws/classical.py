"""Random cases of the rules of ai.onnx.ml."""

from typing import Any

import numpy as np

from atc_py.fix.case import Fed, RuleCase
from atc_py.fix.rules.classical import ml_case
from atc_py.tensor.dtypes import DType
from tests.fix.draws import draws
from tests.fix.draws.attention import one_of


def some(rng: np.random.Generator, count: int) -> list[float]:
    return [float(each) for each in rng.normal(size=count).astype(np.float32)]


def sides(rng: np.random.Generator) -> tuple[int, int]:
    rows, count = (int(each) for each in rng.integers(1, 7, 2))
    return rows, count


@draws("scaler-as-product")
def scaler(rng: np.random.Generator) -> RuleCase:
    rows, count = sides(rng)
    x = Fed((rows, count), DType(one_of(rng, "float32", "int64")), (-100, 100))
    size = int(one_of(rng, 1, count))
    factors: dict[str, Any] = {name: some(rng, size) for name in ("offset", "scale")}
    return ml_case("Scaler", x, **factors)


@draws("normalizer-as-quotient")
def normalizer(rng: np.random.Generator) -> RuleCase:
    return ml_case("Normalizer", list(sides(rng)), norm=one_of(rng, "L1", "L2"))


@draws("binarizer-as-comparison")
def binarizer(rng: np.random.Generator) -> RuleCase:
    return ml_case("Binarizer", list(sides(rng)), threshold=float(rng.normal()))


@draws("linear-regressor-as-product")
def linear_regressor(rng: np.random.Generator) -> RuleCase:
    rows, count = sides(rng)
    targets = int(rng.integers(1, 4))
    return ml_case(
        "LinearRegressor", [rows, count], targets=targets, intercepts=some(rng, targets),
        coefficients=some(rng, targets * count),
    )  # fmt: skip


@draws("linear-classifier-as-product")
def linear_classifier(rng: np.random.Generator) -> RuleCase:
    rows, count = sides(rng)
    classes = int(rng.integers(2, 5))
    return ml_case(
        "LinearClassifier", [rows, count], outputs=2, intercepts=some(rng, classes),
        coefficients=some(rng, classes * count), multi_class=1,
        classlabels_ints=[int(each) for each in rng.permutation(classes)],
        post_transform=one_of(rng, "NONE", "LOGISTIC", "SOFTMAX"),
    )  # fmt: skip


def grown(rng: np.random.Generator, count: int, mode: str) -> tuple[dict[str, Any], list[Any]]:
    """Attributes of random trees over `count` features, and the places of their leaves."""
    rows: list[tuple[int, int, str, int, float, int, int]] = []
    leaves = []
    for tree in range(int(rng.integers(1, 5))):
        waiting, known = [(0, 0)], 1
        while waiting:
            node, depth = waiting.pop()
            if depth > 3 or rng.random() < 0.3:
                leaves.append((tree, node))
                rows.append((tree, node, "LEAF", 0, 0.0, 0, 0))
                continue
            feature, limit = int(rng.integers(count)), float(np.float32(rng.normal()))
            rows.append((tree, node, mode, feature, limit, known, known + 1))
            waiting += [(known, depth + 1), (known + 1, depth + 1)]
            known += 2
    names = ("treeids", "nodeids", "modes", "featureids", "values", "truenodeids", "falsenodeids")
    columns = zip(*rows, strict=True)
    return {
        f"nodes_{name}": list(column) for name, column in zip(names, columns, strict=True)
    }, leaves


def leaf_values(
    rng: np.random.Generator, leaves: list[Any], what: str, results: int, *, positive: bool
) -> dict[str, Any]:
    weights = some(rng, len(leaves))
    return {
        f"{what}_treeids": [tree for tree, _ in leaves],
        f"{what}_nodeids": [node for _, node in leaves],
        f"{what}_ids": [int(each) for each in rng.integers(0, results, len(leaves))],
        f"{what}_weights": [abs(each) for each in weights] if positive else weights,
    }


def ordered(rng: np.random.Generator) -> str:
    return str(one_of(rng, "BRANCH_LEQ", "BRANCH_LT", "BRANCH_GTE", "BRANCH_GT"))


@draws("tree-regressor-as-products")
def tree_regressor(rng: np.random.Generator) -> RuleCase:
    rows, count = sides(rng)
    nodes, leaves = grown(rng, count, ordered(rng))
    targets = int(rng.integers(1, 4))
    reductions = ("AVERAGE", "SUM") if targets > 1 else ("AVERAGE", "SUM", "MIN", "MAX")
    return ml_case(
        "TreeEnsembleRegressor", [rows, count], n_targets=targets, **nodes,
        **leaf_values(rng, leaves, "target", targets, positive=False),
        base_values=some(rng, 1) if targets == 1 else [0.0] * targets, aggregate_function=one_of(rng, *reductions),
    )  # fmt: skip


@draws("tree-classifier-as-products")
def tree_classifier(rng: np.random.Generator) -> RuleCase:
    """Classes of which leaves name each, or one of two, with weights of one sign or of both."""
    rows, count = sides(rng)
    nodes, leaves = grown(rng, count, ordered(rng))
    classes, positive = int(rng.integers(2, 4)), bool(rng.integers(2))
    alone = classes == 2
    transforms: tuple[str, ...] = (
        ("NONE",) if alone and positive else ("NONE", "LOGISTIC", "SOFTMAX")
    )
    if alone:
        transforms = tuple(each for each in transforms if each != "SOFTMAX")
    return ml_case(
        "TreeEnsembleClassifier", [rows, count], outputs=2, **nodes,
        **leaf_values(rng, leaves, "class", 1 if alone else classes, positive=positive or not alone),
        classlabels_int64s=[int(each) for each in rng.permutation(classes)],
        post_transform=one_of(rng, *transforms),
    )  # fmt: skip
