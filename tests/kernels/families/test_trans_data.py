"""TransData on the host: rows into blocks and back, on awkward shapes."""

import pytest

from atc_py.ir import AttrValue, Graph, Phase, TensorType
from atc_py.kernels.collect import collect
from atc_py.kernels.registry import families_of
from atc_py.target import find_soc
from atc_py.tensor.dtypes import DType, Format
from atc_py.tensor.shapes import Shape
from atc_py.tensor.storage import Storage
from tests.kernels.conftest import AddNode
from tests.kernels.families.blocks import sampled
from tests.kernels.families.conftest import Verified, wrong

SHAPES: dict[str, list[Shape]] = {
    "NC1HWC0": [
        (1, 1, 1, 1), (2, 16, 3, 5), (1, 3, 7, 11), (3, 33, 1, 1), (2, 47, 5, 13), (0, 3, 4, 4),
        (1, 20, 67, 71),
    ],
    "FRACTAL_NZ": [
        (1, 1), (16, 16), (17, 33), (3, 1, 40), (2, 3, 31, 7), (64, 64), (0, 5), (197, 130),
    ],
    "FRACTAL_Z": [
        (1, 1, 1, 1), (16, 16, 3, 3), (19, 33, 3, 2), (5, 3, 7, 7), (40, 70), (1, 1), (64, 96, 1, 1),
    ],
    "NDC1HWC0": [(1, 1, 1, 1, 1), (2, 16, 2, 3, 5), (1, 37, 3, 2, 7), (0, 3, 2, 4, 4)],
    "FRACTAL_Z_3D": [(1, 1, 1, 1, 1), (16, 16, 2, 3, 3), (19, 33, 2, 3, 2), (5, 3, 3, 1, 2)],
}  # fmt: skip
"""One element, whole blocks, rests of blocks, primes, nothing, several tiles a core."""


def _add(
    add_node: AddNode, graph: Graph, storage: Storage, dtype: DType, shapes: list[Shape]
) -> None:
    """Add every shape into the storage, and out of it."""
    name = storage.format.value
    for shape in shapes:
        named = {4: Format.NCHW, 5: Format.NCDHW} if name != "FRACTAL_NZ" else {}
        origin = named.get(len(shape), Format.ND)
        rows = TensorType(dtype, shape, origin)
        blocks = rows.with_storage(storage)
        for source, target, names in (
            (rows, blocks, (origin.value, name)),
            (blocks, rows, (name, origin.value)),
        ):
            attributes: dict[str, AttrValue] = {
                "src_format": names[0],
                "dst_format": names[1],
                "groups": storage.groups,
            }
            add_node(graph, "TransData", [source], [target], attributes)


@pytest.mark.parametrize("name", sampled("float16", "int8", "float32", "bool", "int64"))
def test_blocks_hold_the_tensor_and_zeros(add_node: AddNode, verified: Verified, name: str) -> None:
    graph = Graph("blocks", Phase.TYPED)
    for form, shapes in SHAPES.items():
        _add(add_node, graph, Storage(Format(form)), DType(name), shapes)
    checked = verified(graph)
    assert wrong(checked) == []
    assert len(checked) == 2 * sum(len(shapes) for shapes in SHAPES.values())
    assert {each.kernel["addresses"] for each in checked} == {"storage"}


def test_blocks_of_eight_hold_the_tensor_and_zeros(add_node: AddNode, verified: Verified) -> None:
    graph = Graph("eight", Phase.TYPED)
    for form, shapes in SHAPES.items():
        _add(add_node, graph, Storage(Format(form), c0=8), DType.FLOAT32, shapes)
    checked = verified(graph, "Ascend910B1")
    assert wrong(checked) == []
    assert {each.kernel["addresses"] for each in checked} == {"storage"}


def test_filters_of_groups_are_left_to_write(add_node: AddNode, verified: Verified) -> None:
    graph = Graph("groups", Phase.TYPED)
    _add(add_node, graph, Storage(Format.FRACTAL_Z, 3), DType.FLOAT16, [(6, 2, 3, 3)])
    assert [each.verdict.value for each in verified(graph)] == ["skeleton", "skeleton"]


@pytest.mark.parametrize("name", sampled("float16", "int8"))
def test_images_become_filters(add_node: AddNode, verified: Verified, name: str) -> None:
    graph = Graph("filters", Phase.TYPED)
    dtype = DType(name)
    named: dict[str, AttrValue] = {"src_format": "NC1HWC0", "dst_format": "FRACTAL_Z"}
    for shape in ((1, 1, 1, 1), (16, 16, 3, 3), (19, 33, 3, 2), (5, 3, 7, 7), (0, 3, 3, 3)):
        rows = TensorType(dtype, shape, Format.NCHW)
        source, target = (rows.with_storage(Storage(Format(form))) for form in named.values())
        add_node(graph, "TransData", [source], [target], named)
    checked = verified(graph, "Ascend310P3")
    assert wrong(checked) == []
    assert len(checked) == 5


@pytest.mark.parametrize(
    ("dtype", "source", "target", "covered"),
    [
        (DType.FLOAT16, None, Format.NC1HWC0, True),
        (DType.FLOAT16, Format.NC1HWC0, Format.FRACTAL_Z, True),  # an image becomes a filter
        (DType.FLOAT16, Format.FRACTAL_Z, Format.NC1HWC0, False),
        (DType.INT4, None, Format.NC1HWC0, False),
    ],
)
def test_conversions_have_rows_on_one_side(
    add_node: AddNode,
    graph: Graph,
    dtype: DType,
    source: Format | None,
    target: Format,
    covered: bool,
) -> None:
    rows = TensorType(dtype, (16, 16, 3, 3), Format.NCHW)
    sides = [
        rows if form is None else rows.with_storage(Storage(form)) for form in (source, target)
    ]
    attributes: dict[str, AttrValue] = {
        "src_format": (source or Format.NCHW).value,
        "dst_format": target.value,
        "groups": 1,
    }
    add_node(graph, "TransData", sides[:1], sides[1:], attributes)
    (kernel,) = collect(graph, find_soc("sim"))
    (family,) = families_of("TransData")
    assert family.covers(kernel.facts) is covered
