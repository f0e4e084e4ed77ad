"""Storage choices: what kernels take, asked of nodes that no graph of the compiler has."""

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from atc_py.ir import TensorType
from atc_py.target import find_soc
from atc_py.target.row import AttributeValue
from atc_py.target.storage_choices import ROWS, StorageChoice, select_storages, storage_choices
from atc_py.target.stored_nodes import IMAGES, MATRICES, VOLUMES, in_blocks, is_stored_as
from atc_py.tensor.dtypes import DType, Format
from atc_py.tensor.shapes import Dims
from atc_py.tensor.storage import Storage

F16 = DType.FLOAT16
P3, B3, SIM = find_soc("Ascend310P3"), find_soc("Ascend910B3"), find_soc("sim")
MAP = (1, 20, 6, 6)


@dataclass(frozen=True)
class Value:
    type: TensorType
    const: object | None = None


@dataclass(frozen=True)
class Node:
    op: str
    inputs: tuple[Value | None, ...]
    outputs: tuple[Value, ...]
    attributes: Mapping[str, AttributeValue] = field(default_factory=dict)
    on_aicpu: bool = False

    @property
    def present_inputs(self) -> tuple[Value, ...]:
        return tuple(each for each in self.inputs if each is not None)


def tensor(dims: Dims, storage: Storage | None = None, const: object | None = None) -> Value:
    kind = Format.NCHW if len(dims) == 4 else Format.ND
    return Value(TensorType(F16, dims, kind, storage), const)


def conv(data: Dims = MAP, *, stored: Storage | None = None, on_aicpu: bool = False) -> Node:
    operands = (tensor(data), tensor((32, 20, 3, 3)), None)
    return Node("Conv2D", operands, (tensor((1, 32, 4, 4), stored),), {"groups": 1}, on_aicpu)


def test_a_convolution_takes_images_and_a_filter_in_fractals() -> None:
    (choice,) = storage_choices(conv(), P3)
    assert choice.storage == choice.input(0) == choice.output(0) == IMAGES
    assert choice.input(1) == Storage(Format.FRACTAL_Z, 1)
    assert choice.input(2) is None
    assert choice.input(9) is choice.output(9) is None


VOLUME = (1, 20, 4, 6, 6)


def volume(dims: Dims, dtype: DType = F16) -> Value:
    return Value(TensorType(dtype, dims, Format.NCDHW))


@pytest.mark.parametrize(("dtype", "c0"), [(F16, 0), (DType.FLOAT32, 8)])
def test_a_convolution_of_volumes_has_formats_of_its_own(dtype: DType, c0: int) -> None:
    operands = volume(VOLUME, dtype), volume((32, 10, 2, 3, 3), dtype), None
    result = (volume((1, 32, 3, 4, 4), dtype),)
    (choice,) = storage_choices(Node("Conv3D", operands, result, {"groups": 2}), B3)
    blocks = Storage(Format.NDC1HWC0, c0=c0)
    assert choice.storage == choice.input(0) == choice.output(0) == blocks
    assert choice.input(1) == Storage(Format.FRACTAL_Z_3D, 2, c0)
    plain = Value(TensorType(dtype, VOLUME)), operands[1], None
    assert storage_choices(Node("Conv3D", plain, result, {"groups": 2}), B3) == (ROWS,)


@pytest.mark.parametrize(
    ("other", "follows"),
    [
        (volume(VOLUME), True),
        (volume((1, 20, 1, 6, 1)), True),
        (Value(TensorType(F16, (20, 1, 1, 1))), False),
        (Value(TensorType(F16, ())), False),
        (volume((1, 1, 4, 6, 6)), None),
        (Value(TensorType(F16, (6,))), None),
        (Value(TensorType(F16, (20, 1, 1))), None),
    ],
)
def test_functions_of_volumes_may_take_blocks(other: Value, follows: bool | None) -> None:
    choices = storage_choices(Node("Add", (volume(VOLUME), other), (volume(VOLUME),)), P3)
    blocks = [each for each in choices if each.storage == VOLUMES]
    assert bool(blocks) is (follows is not None)
    for choice in blocks:
        assert choice.input(0) == choice.output(0) == VOLUMES
        assert (choice.input(1) == VOLUMES) is follows


def test_volumes_are_joined_along_whole_blocks() -> None:
    parts = volume((1, 16, 4, 6, 6)), volume((1, 32, 4, 6, 6))
    node = Node("ConcatD", parts, (volume((1, 48, 4, 6, 6)),), {"concat_dim": 1})
    assert VOLUMES in [each.storage for each in storage_choices(node, P3)]
    parts = volume(VOLUME), volume(VOLUME)
    node = Node("ConcatD", parts, (volume((1, 40, 4, 6, 6)),), {"concat_dim": 1})
    assert VOLUMES not in [each.storage for each in storage_choices(node, P3)]
    node = Node("ConcatD", parts, (volume((1, 20, 8, 6, 6)),), {"concat_dim": 2})
    assert VOLUMES in [each.storage for each in storage_choices(node, P3)]


@pytest.mark.parametrize(
    ("widths", "dtype", "blocks"),
    [
        ((13, 3), F16, True),
        ((13, 4), F16, False),
        ((8, 8, 8), F16, True),
        ((3, 3), F16, False),
        ((8, 8), DType.FLOAT32, False),
        ((16, 32, 5), F16, True),
        ((16, 32, 5), DType.FLOAT32, True),
        ((16, 5, 32), F16, False),
        ((32, 5), DType.INT8, True),
        ((16, 32), DType.INT8, False),
    ],
)
def test_channels_are_joined_in_blocks_as_kernels_of_cann_join(
    widths: tuple[int, ...], dtype: DType, blocks: bool
) -> None:
    parts, joined = (
        tuple(Value(TensorType(dtype, (2, width, 5, 7), Format.NCHW)) for width in several)
        for several in (widths, [sum(widths)])
    )
    node = Node("ConcatD", parts, joined, {"concat_dim": 1})
    assert (IMAGES in [each.storage for each in storage_choices(node, P3)]) is blocks
    whole = all(width % (32 if dtype is DType.INT8 else 16) == 0 for width in widths)
    assert (IMAGES in [each.storage for each in storage_choices(node, SIM)]) is whole


@pytest.mark.parametrize("node", [conv(on_aicpu=True), conv((None, 20, 6, 6))])
def test_the_ai_cpu_and_open_dims_take_rows(node: Node) -> None:
    assert storage_choices(node, P3) == (ROWS,)


def test_an_operator_without_a_row_takes_rows() -> None:
    assert storage_choices(Node("Nothing", (), (tensor(MAP),)), P3) == (ROWS,)


def test_copies_that_make_fractals_leave_blocks_to_constants() -> None:
    operands = tensor((48, 80)), tensor((80, 100), const="data")
    node = Node("MatMulV2", operands, (tensor((48, 100)),))
    blocks = StorageChoice(MATRICES, (MATRICES, MATRICES), (MATRICES,))
    assert storage_choices(node, P3) == (blocks,)
    assert storage_choices(node, B3) == (StorageChoice(None, (None, MATRICES)),)


def test_what_results_are_stored_in_says_which_choice_was_made() -> None:
    sums = [
        Node("Add", (tensor(MAP, held), tensor((20, 1, 1))), (tensor(MAP, held),))
        for held in (None, IMAGES, MATRICES, Storage(Format.FRACTAL_Z))
    ]
    rows, images, matrices, unknown = (select_storages(node, P3) for node in sums)
    assert rows == ROWS
    assert images == StorageChoice(IMAGES, (IMAGES, None), (IMAGES,))
    assert matrices is None
    assert unknown is None
    assert select_storages(conv(), P3) == ROWS


def test_blocks_of_one_pixel_have_the_bytes_of_rows() -> None:
    assert is_stored_as(tensor((1, 16, 1, 1)).type, IMAGES)
    assert not is_stored_as(tensor(MAP).type, IMAGES)
    assert is_stored_as(tensor(MAP, IMAGES).type, IMAGES)
    assert in_blocks(conv(stored=IMAGES))
    assert not in_blocks(conv())


@pytest.mark.parametrize(
    ("added", "stored"), [((100,), None), ((1, 100), None), ((48, 100), MATRICES), ((1, 1), None)]
)
def test_row_that_every_row_of_a_matrix_shares_stays_row_by_row(
    added: Dims, stored: Storage | None
) -> None:
    result = tensor((48, 100), MATRICES)
    choice = select_storages(
        Node("Add", (tensor((48, 100), MATRICES), tensor(added)), (result,)), P3
    )
    assert choice is not None
    assert choice.storage == MATRICES
    assert choice.input(1) == stored


QUANTS = {
    "AscendQuant": (F16, DType.INT8),
    "AscendAntiQuant": (DType.INT8, F16),
    "AscendDequant": (DType.INT32, F16),
    "AscendRequant": (DType.INT32, DType.INT8),
}
IN_ROWS = {"Ascend310P3", "Ascend910B3", "Ascend910_9391"}
IN_BLOCKS = {"Ascend310", "Ascend310B1", "Ascend610", "Ascend910A", "Hi3796CV300CS"}


@pytest.mark.parametrize("op", QUANTS)
@pytest.mark.parametrize("soc", sorted(IN_ROWS | IN_BLOCKS))
def test_rows_are_listed_for_quantization_and_back_on_some_families(soc: str, op: str) -> None:
    """Check the formats of the operator information of CANN 8.1.

    AscendAntiQuant's are chosen by its kernel on 310P, A2 and A3, which offers what AscendQuant has.
    """
    given, made = QUANTS[op]
    for dims, form, blocks in (((48, 80), Format.ND, MATRICES), (MAP, Format.NCHW, IMAGES)):
        data, result = (Value(TensorType(dtype, dims, form)) for dtype in (given, made))
        choices = storage_choices(Node(op, (data,), (result,)), find_soc(soc))
        rows = (ROWS,) if soc in IN_ROWS and op in {"AscendQuant", "AscendAntiQuant"} else ()
        assert choices == (*rows, StorageChoice(blocks, (blocks,), (blocks,)))


@pytest.mark.parametrize("dtype", [F16, DType.FLOAT32, DType.INT8])
def test_ascend950_has_fractals_of_the_right_operand_alone(dtype: DType) -> None:
    """Check MatMulV3 and QuantBatchMatmulV3: x1 and y in rows, x2 in rows or FRACTAL_NZ."""
    soc = find_soc("Ascend950PR_9599")
    made = DType.INT32 if dtype is DType.INT8 else dtype
    left, right, result = (
        Value(TensorType(each, (32, 32), Format.ND)) for each in (dtype, dtype, made)
    )
    node = Node("MatMulV2", (left, right), (result,))
    assert storage_choices(node, soc) == (StorageChoice(None, (None, None)),)
    stored = Node("MatMulV2", tuple(Value(each.type, 1) for each in (left, right)), (result,))
    (choice,) = storage_choices(stored, soc)
    eight = 8 if dtype is DType.FLOAT32 else 0
    assert choice.inputs == (None, Storage(Format.FRACTAL_NZ, c0=eight))
    assert choice.output(0) is None


@pytest.mark.parametrize(
    ("op", "made"), [("MaxPoolV3", F16), ("Relu", F16), ("AscendQuant", DType.INT8)]
)
def test_ascend950_has_no_images_in_blocks(op: str, made: DType) -> None:
    data, result = (Value(TensorType(dtype, MAP, Format.NCHW)) for dtype in (F16, made))
    assert storage_choices(Node(op, (data,), (result,)), find_soc("Ascend950PR_9599")) == (ROWS,)
