"""What each function does grows with the number of nodes, not with its square.

No clock is read: the lines that every function of the package executes are counted while models of
three sizes, each twice the one before, are converted, opened and checked. Work in proportion grows
by twice as much from the second to the third as from the first to the second; that of a function
which goes through all nodes at each of them by four times as much.
"""

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import onnx
import onnx.parser
import pytest

import atc_py
from atc_py.package.reader import open_model
from tests.bench.growing_models import SHAPES
from tests.executed_lines import PACKAGE, executed, steep
from tests.sampling import sampled

SIZES = (40, 80, 160)
ONE_NODE = '<ir_version: 8, opset_import: ["": 13]> g (float[2] x) => (float[2] y) { y = Relu (x) }'
ALWAYS = ("fan out", "quantized layers", "transformer")


@pytest.mark.parametrize("shape", sampled(ALWAYS, (each for each in SHAPES if each not in ALWAYS)))
def test_work_grows_with_the_number_of_nodes(shape: str, tmp_path: Path) -> None:
    def compiled(nodes: int) -> None:
        path = tmp_path / f"{nodes}.onnx"
        atc_py.convert(path, tmp_path / "m.om")
        with open_model(tmp_path / "m.om"):
            pass
        atc_py.check_models(path)

    for nodes in (SIZES[0] // 2, *SIZES):
        onnx.save(SHAPES[shape](nodes), tmp_path / f"{nodes}.onnx")
    compiled(SIZES[0] // 2)  # caches fill
    counts = [executed(lambda nodes=nodes: compiled(nodes), PACKAGE) for nodes in SIZES]  # type: ignore[misc]
    assert sum(counts[0].values()) > 100 * SIZES[0]
    assert steep(counts) == {}


@pytest.mark.parametrize(
    ("shape", "most"),
    sampled([("transformer", 800)], [("convolutions", 900), ("elementwise chain", 650)]),
)
def test_check_executes_few_lines_for_one_node_more(shape: str, most: int, tmp_path: Path) -> None:
    counts = []
    for nodes in (148, 296):
        path = tmp_path / f"{nodes}.onnx"
        proto = SHAPES[shape](nodes)
        onnx.save(proto, path)
        atc_py.check_models(path)  # caches fill
        lines = executed(lambda path=path: atc_py.check_models(path), PACKAGE)  # type: ignore[misc]
        counts.append((len(proto.graph.node), sum(lines.values())))
    (few, before), (many, after) = counts
    assert (after - before) / (many - few) <= most


PARTS: dict[str, Callable[[onnx.ModelProto, int], object]] = {
    "attributes": lambda model, at: model.graph.node[0].attribute.add(name=f"a{at}", type=2, i=at),
    "functions": lambda model, at: model.functions.add(name=f"f{at}", domain="own"),
    "initializers": lambda model, at: model.graph.initializer.add(
        name=f"w{at}", data_type=1, dims=[1], float_data=[1.0]
    ),
    "inputs": lambda model, at: model.graph.input.append(
        onnx.helper.make_tensor_value_info(f"x{at}", 1, [2])
    ),
    "metadata": lambda model, at: model.metadata_props.add(key=f"k{at}", value="text"),
    "node inputs": lambda model, _at: model.graph.node[0].input.append("x"),
    "node outputs": lambda model, at: model.graph.node[0].output.append(f"y{at}"),
    "opsets": lambda model, at: model.opset_import.add(domain=f"d{at}", version=1),
    "outputs": lambda model, _at: model.graph.output.add(name="y"),
    "unknown operators": lambda model, at: model.graph.node.add(
        op_type=f"No{at}", input=["x"], output=[f"z{at}"]
    ),
}
"""Parts that a file may have thousands of, beside a node: each is added to a model."""


@pytest.mark.parametrize(
    "part", sampled(["attributes", "inputs"], sorted(PARTS.keys() - {"attributes", "inputs"}))
)
def test_work_grows_with_the_parts_of_a_file(part: str, tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"

    def looked_at(count: int) -> None:
        model = onnx.parser.parse_model(ONE_NODE)
        for at in range(count):
            PARTS[part](model, at)
        onnx.save(model, path)
        atc_py.check_models(path)
        with suppress(atc_py.AtcError):
            atc_py.convert(path, tmp_path / "m.om")

    looked_at(SIZES[0])  # caches fill
    # Of all code: what is compared in a list is compared by methods that are made, not written.
    assert steep([executed(lambda size=size: looked_at(size), "") for size in SIZES]) == {}  # type: ignore[misc]


def test_work_with_the_square_of_a_number_is_found() -> None:
    def squared(count: int) -> list[int]:
        return [sum(other < each for other in range(count)) for each in range(count)]

    def proportional(count: int) -> list[int]:
        return [each for _ in range(40) for each in range(count)]

    for function, names in ((squared, {"<genexpr>"}), (proportional, set())):
        counts = [
            executed(lambda size=size: function(size), __file__)  # type: ignore[misc]  # noqa: B023
            for size in SIZES
        ]
        assert {name.split()[-1] for name in steep(counts)} == names
