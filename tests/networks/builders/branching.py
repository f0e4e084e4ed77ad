"""Models that choose at run time which of their parts to run: If with captured values, nested."""

from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import numpy_helper

from tests.networks.builders.graph import Net

Array = npt.NDArray[Any]


ROWS, WIDTH, INNER, RESULTS = 6, 16, 12, 8


def build_expert_model(opset: int = 13, seed: int = 2) -> onnx.ModelProto:
    """Build rows [6, 16] and `sharp` -> scores [6, 8], energies [6, 1] of one of three experts.

    The mean of the rows chooses the first expert or the others, between which `sharp`, an input,
    chooses. All branches read values of the graphs around them.
    """
    net = Net("experts", opset, seed)
    x, sharp = net.input("x", np.float32, [ROWS, WIDTH]), net.input("sharp", np.bool_, [])
    features = net.op("Relu", net.linear(x, WIDTH, INNER))
    shared = net.weights(INNER, RESULTS, scale=INNER**-0.5)
    parts = (features, x, shared)
    first = _first_expert(net, parts)
    others = _other_experts(net, parts, sharp)
    result, energy = net.choices(_is_positive(net, x), first, others)
    net.output("scores", net.op("Softmax", result, axis=1), np.float32, [ROWS, RESULTS])
    net.output("energies", net.op("Sqrt", energy), np.float32, [ROWS, 1])
    return net.model()


def _is_positive(net: Net, x: str) -> str:
    """Return True if the mean of all elements is above 0, as a scalar."""
    return net.op("Greater", net.op("ReduceMean", x, keepdims=0), net.const(0.0))


def _first_expert(net: Net, parts: tuple[str, str, str]) -> Net:
    """Return a product with the shared weights; its energy comes from the input itself."""
    features, x, shared = parts
    branch = net.branch("first")
    product = branch.op("MatMul", features, shared)
    squares = branch.op("Mul", x, x)
    _results(branch, product, branch.op("ReduceMean", squares, axes=[1]))
    return branch


def _other_experts(net: Net, parts: tuple[str, str, str], sharp: str) -> Net:
    """Return the shared weights after a layer of their own, then one of two ways to sharpen."""
    features, _, shared = parts
    branch = net.branch("others")
    hidden = branch.op("Tanh", branch.linear(features, INNER, INNER))
    product = branch.op("MatMul", hidden, shared)
    steep, flat = branch.branch("steep"), branch.branch("flat")
    factor = numpy_helper.from_array(np.array(3.0, np.float32))
    steeper = steep.op("Mul", product, steep.op("Constant", value=factor))
    _results(steep, steeper, steep.op("ReduceMax", features, axes=[1]))
    flatter = flat.op("Sigmoid", product)
    squares = flat.op("Mul", hidden, hidden)
    _results(flat, flatter, flat.op("ReduceMean", squares, axes=[1]))
    result, energy = branch.choices(sharp, steep, flat)
    _results(branch, branch.op("Add", result, branch.weights(RESULTS, scale=0.2)), energy)
    return branch


def _results(branch: Net, result: str, energy: str) -> None:
    """Add the two outputs that every branch has."""
    branch.output(f"{branch.name}_result", result, np.float32, [ROWS, RESULTS])
    branch.output(f"{branch.name}_energy", energy, np.float32, [ROWS, 1])


def build_varied_model(opset: int = 11, seed: int = 7) -> onnx.ModelProto:
    """Return rows [6, 16] and `brief` -> scores [n, 8], their best columns [n], and n.

    n is 6 where the mean is above 0; otherwise 2 or 1, as `brief` says: then only the rows with
    the largest sums go on.
    """
    net = Net("varied", opset, seed)
    x, brief = net.input("x", np.float32, [ROWS, WIDTH]), net.input("brief", np.bool_, [])
    features = net.op("Relu", net.linear(x, WIDTH, INNER))
    sums = net.op("ReduceMean", x, axes=[1], keepdims=0)
    every, best = net.branch("every"), net.branch("best")
    every.output("every_rows", features, np.float32, [ROWS, INNER])
    one, two = best.branch("one"), best.branch("two")
    for branch, few in ((one, 1), (two, 2)):
        _, at = branch.ops("TopK", sums, branch.longs(few), count=2, axis=0)
        picked = branch.op("Gather", features, at, axis=0)
        branch.output(f"{branch.name}_row", picked, np.float32, [few, INNER])
    some = best.choose(brief, one, two)
    best.output("best_rows", best.op("Neg", some), np.float32, ["few", INNER])
    kept = net.choose(_is_positive(net, x), every, best)
    scores = net.linear(kept, INNER, RESULTS, scale=0.5)
    net.output("scores", scores, np.float32, ["n", RESULTS])
    columns = net.op("ArgMax", scores, axis=1, keepdims=0)
    net.output("columns", columns, np.int64, ["n"])
    count = net.op("Gather", net.op("Shape", kept), net.const(0, np.int64), axis=0)
    net.output("count", count, np.int64, [])
    return net.model()


def rows(mean: float, seed: int) -> Array:
    """Return rows around a mean that is far from 0 beside what float16 moves it."""
    random = np.random.default_rng(seed)
    # Every row has a sum of its own, so that their order is never close.
    offsets = random.permutation(ROWS)[:, None] * 0.1 - 0.25
    found: Array = random.standard_normal((ROWS, WIDTH))
    found += mean + offsets - found.mean(axis=1, keepdims=True)
    return found.astype(np.float32)
