"""The work of an operator: products for the cube and passes for the vector unit.

An instruction of the vector unit works off 256 bytes a cycle. How many an operator takes is read
off its formula: one for each arithmetic step, with a division, a root and an exponential counted
as a handful. CANN does not publish them; the least is one, whatever the operator.
"""

from collections.abc import Callable, Iterable
from math import expm1, prod

import msgspec

from atc_py.cost.factors import Case
from atc_py.cost.operation import LaunchGroup, Operation, Source, Tensor, Transfer
from atc_py.system.structs import replace
from atc_py.target import Soc, TargetOp, Unit
from atc_py.target.soc import rates_of
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import element_count
from atc_py.tensor.storage import SMALL_CHANNELS, group_blocks
from atc_py.text import Text

_BY_FAMILY = {"reduce": 2.0, "rows": 4.0, "region": 4.0}
"""Families whose operators take more than one instruction; rows say where one of them differs."""


ROWS_FAMILIES = frozenset({"rows", "softmax"})
"""Families that work along rows: their kernels compute in float32 whatever the dtype."""


def passes_of(row: TargetOp, overlap: float) -> float:
    """Vector instructions for each element of the largest operand; 0 for mere movement.

    `overlap` is how often a pool's windows cover an element; 1 for others.
    """
    if row.family == "pool":
        return overlap
    if row.passes is not None:
        return row.passes
    if row.unit is Unit.MOVE:
        return 0.0
    return _BY_FAMILY.get(row.family, 1.0)


_BLOCK = 16
"""Rows and columns of what the cube multiplies in one cycle."""

_FRACTAL_RANK = 4
"""Dims of a filter in FRACTAL_Z; C1HWNCoC0 has more."""

_STACK = 2
"""Dims of a matrix; what stands before them is a stack."""

_GATES = {"CommonGRU": 3, "CommonLSTM": 4, "DynamicGRUV2": 3, "DynamicRNN": 4}


class MatrixProduct(msgspec.Struct, frozen=True):
    """`batch` products of [m, k] x [k, n], computed `steps` times one after another."""

    batch: int  # independent products
    m: int  # rows of the result; of a convolution, its pixels
    k: int  # size of the axis summed over
    n: int  # columns of the result
    dtype: DType  # of the operands
    # bytes of the left operand that belong to one row of the result; of a convolution, the pixels
    # under one step of the window
    row_bytes: int
    steps: int = 1  # products that wait for each other: the steps of a recurrent layer
    # (size of the kernel, channels) where k is their product and channels are padded
    window: tuple[int, int] | None = None
    # multiplications that the operator asks for, where block diagonals of groups make more of them;
    # None where all are asked for
    asked: int | None = None

    @property
    def macs(self) -> int:
        """Multiplications that the operator asks for."""
        if self.asked is not None:
            return self.asked
        return self.steps * self.batch * self.m * self.k * self.n


class Passes(msgspec.Struct, frozen=True):
    """Work of the vector unit: instructions over elements."""

    elements: int  # of the largest operand or result, with the padding of its blocks
    itemsize: int  # bytes of an element while it is computed on
    count: float  # instructions for each element
    # parts that are not spread over cores: as many as `elements` where each element is one, those
    # of the padding, too
    rows: int
    # instructions for each element that no kernel can do with less: one for each term of a product,
    # multiplied and added at once
    least: float = 1


class Work(msgspec.Struct, frozen=True):
    """The work of one operator; data movement counts as none."""

    product: MatrixProduct | None = None
    passes: Passes | None = None


def work_of(operation: Operation) -> Work:
    """The work of an operator, from its row's family, its types and attributes."""
    known: Work | None = vars(operation).get("work")  # which takes less time than its hash
    if known is None:
        known = vars(operation)["work"] = _work_of(operation)
    return known


def _work_of(operation: Operation) -> Work:
    row = operation.row
    product = _PRODUCTS.get(row.family)
    if product is not None and operation.outputs:
        return Work(product(operation), _gates(operation))
    count = passes_of(row, _overlap(operation))
    return Work(None, _passes(operation, count)) if count else Work()


def work_on(operation: Operation, soc: Soc) -> Work:
    """The work of an operator on a SoC.

    A product of float32 that the SoC's cube does not compute is left to the vector unit: one
    multiplication and one addition for each term.
    """
    work = work_of(operation)
    product = work.product
    if product is None or product.dtype is not DType.FLOAT32 or soc.cube_float32:
        return work
    elements = product.steps * product.batch * product.m * product.n
    size, count = DType.FLOAT32.itemsize, 2.0 * product.k
    return Work(None, Passes(elements, size, count, elements, least=product.k))


def bytes_read(operation: Operation, position: int, tensor: Tensor) -> int:
    """The bytes of the input at `position` that the operator reads, not what it leaves out."""
    if position == 0 and operation.row.picks:
        return min(tensor.nbytes, sum(output.nbytes for output in operation.outputs))
    return tensor.nbytes


def _passes(operation: Operation, count: float) -> Passes:
    largest = max(operation.tensors, key=lambda tensor: tensor.elements)
    # Sizes, axes and positions beside the data are not computed on.
    itemsize = max(
        tensor.dtype.itemsize
        for tensor in operation.tensors
        if tensor.elements == largest.elements or tensor.dtype.is_float
    )
    rows = elements = largest.stored_elements
    in_rows = operation.row.family in ROWS_FAMILIES
    if (in_rows or operation.row.family == "reduce") and largest.stored is None:
        length = _row_length(operation, largest)
        rows = largest.elements // max(1, length)
        # Other axes than the last one are turned before and after.
        count *= 2 if in_rows and length == 1 and largest.shape[-1:] != (1,) else 1
    if not in_rows:
        return Passes(elements, itemsize, count, max(1, rows))
    wide = max(itemsize, DType.FLOAT32.itemsize)
    return Passes(elements, wide, count, max(1, rows), itemsize / wide)


def _row_length(operation: Operation, tensor: Tensor) -> int:
    """Elements side by side that are reduced or normalized together, so that no repeat has two rows.

    Those are the last axes. Where others are reduced what is left stands side by side, and repeats
    are full, as they are in blocks.
    """
    rank = len(tensor.shape)
    axes = {axis % rank for axis in operation.numbers("axes") or (-1,) if -rank <= axis < rank}
    return prod(tensor.shape[axis] for axis in axes) if rank - 1 in axes else 1


def _overlap(operation: Operation) -> float:
    """Reads of each element by a pool, at least 1; 1 for other operators."""
    if operation.row.family != "pool":
        return 1.0
    after = operation.outputs[0].elements
    window = max(1, prod(operation.numbers("ksize")))
    largest = max(tensor.elements for tensor in operation.tensors)
    return max(1.0, after * window / max(1, largest))


def _gates(operation: Operation) -> Passes | None:
    if operation.row.family != "recurrent":
        return None
    out = operation.outputs[0]
    count = passes_of(operation.row, 1)
    elements = out.elements * _GATES[operation.row.name]
    return Passes(elements, out.dtype.itemsize, count, max(1, elements))


def _matmul(operation: Operation) -> MatrixProduct:
    """Stacked matrices; a right operand without a stack is one for all rows."""
    left, right, out = operation.inputs[0], operation.inputs[1], operation.outputs[0]
    if left is None or right is None:
        raise ValueError(Text("{name} has a missing operand", name=operation.row.name))
    flipped = dict(operation.attributes)
    turned = bool(flipped.get("transpose_x1") or flipped.get("adj_x1"))
    rows = left.shape[-_STACK:] if len(left.shape) >= _STACK else (1, *left.shape)
    k = rows[0] if turned else rows[1]
    columns = out.shape[-1] if out.shape else 1
    total = out.elements // max(1, columns)
    stacks = max(1, element_count(right.shape[:-_STACK]))
    m = total // stacks
    plain = MatrixProduct(stacks, m, k, columns, left.dtype, k * left.dtype.itemsize)
    height = max(1, rows[1] if turned else rows[0])
    if stacks > 1 or left.stored is None or height % _BLOCK == 0:
        return plain
    # Each matrix of a stack in blocks has its own padding.
    return replace(plain, m=total // height * -(-height // _BLOCK) * _BLOCK, asked=plain.macs)


def _conv(operation: Operation) -> MatrixProduct:
    """A convolution: pixels of the result, the window's elements, output channels."""
    data, filters, out = operation.inputs[0], operation.inputs[1], operation.outputs[0]
    if data is None or filters is None:
        raise ValueError(Text("{name} has a missing operand", name=operation.row.name))
    if operation.row.name in TRANSPOSED:
        return _transposed(operation, data, filters, out)
    groups = operation.number("groups", 1)
    if operation.row.name == "DepthwiseConv2D":
        groups = data.shape[1]
    groups = max(1, groups)
    kernel, channels = prod(filters.shape[2:]), filters.shape[1]
    step = prod(operation.numbers("strides")[2:])
    plain = MatrixProduct(
        groups, out.elements // max(1, out.shape[1]), kernel * channels, out.shape[1] // groups,
        data.dtype, channels * step * data.dtype.itemsize, window=(kernel, channels),
    )  # fmt: skip
    if filters.stored is not None and filters.stored[0] < kernel:
        # Four channels of each tap side by side: only FRACTAL_Z_C04 has fewer planes than taps.
        return replace(plain, k=kernel * SMALL_CHANNELS, window=None, asked=plain.macs)
    if groups == 1 or filters.stored is None or len(filters.stored) != _FRACTAL_RANK:
        return plain
    return _diagonals(plain, filters.stored[-1])


def _diagonals(product: MatrixProduct, c0: int) -> MatrixProduct:
    """The products of groups that share block diagonals, as FRACTAL_Z stores them."""
    kernel, channels = product.window or (1, product.k)
    merged, blocks, _, _ = group_blocks(product.batch, channels, product.n, c0)
    return replace(
        product,
        batch=blocks,
        k=product.k * merged,
        n=product.n * merged,
        row_bytes=product.row_bytes * merged,
        window=(kernel, channels * merged),
        asked=product.macs,
    )


def _transposed(operation: Operation, data: Tensor, filters: Tensor, out: Tensor) -> MatrixProduct:
    """A convolution of the data with zeros between its pixels, whose products are computed too."""
    groups = max(1, operation.number("groups", 1))
    kernel, channels = prod(filters.shape[2:]), data.shape[1] // groups
    columns, pixels = filters.shape[1], data.elements // max(1, data.shape[1])
    step = prod(operation.numbers("strides")[2:])
    return MatrixProduct(
        groups, out.elements // max(1, out.shape[1]), kernel * channels, columns, data.dtype,
        -(-channels * data.dtype.itemsize // step), window=(kernel, channels),
        asked=groups * pixels * channels * kernel * columns,
    )  # fmt: skip


def _recurrent(operation: Operation) -> MatrixProduct | None:
    """A recurrent layer: in each step the input and the state times the gates' weights."""
    data, out = operation.inputs[0], operation.outputs[0]
    if data is None:
        return None
    weights = [tensor for tensor in operation.inputs[1:3] if tensor is not None]
    matrices = [tensor for tensor in weights if len(tensor.shape) >= _STACK]
    hidden = out.shape[-1]
    steps, batch = data.shape[0], data.shape[1]
    directions = max(1, matrices[0].shape[0]) if operation.row.name in _LAYERS else 1
    k = data.shape[2] + hidden
    return MatrixProduct(
        directions, batch, k, _GATES[operation.row.name] * hidden, data.dtype,
        k * data.dtype.itemsize, steps=steps,
    )  # fmt: skip


TRANSPOSED = frozenset({"Conv2DTransposeD", "Conv3DTransposeD"})

_LAYERS = frozenset({"CommonGRU", "CommonLSTM"})
"""Layers whose weights have the directions as first dim."""

_PRODUCTS: dict[str, Callable[[Operation], MatrixProduct | None]] = {
    "conv": _conv,
    "matmul": _matmul,
    "recurrent": _recurrent,
}


def head_product(launch: LaunchGroup, soc: Soc) -> MatrixProduct | None:
    """The product that a kernel is built around, or None where the cube has none."""
    key, known = "head" if soc.cube_float32 else "head of float16", vars(launch)
    if key not in known:  # a kernel is asked half a dozen times
        products = (work_on(operation, soc).product for operation in launch.operations)
        known[key] = next((product for product in products if product is not None), None)
    found: MatrixProduct | None = known[key]
    return found


class Memory(msgspec.Struct, frozen=True):
    """Bytes that a kernel moves, and the time for them at the peak rates."""

    read: int  # bytes that the kernel reads once, at least
    written: int  # bytes that it writes
    gm_read: float  # seconds of device memory for what L2 does not hold
    gm_write: float  # seconds of device memory for what it writes
    port_in: float  # bytes a second into one core
    port_out: float  # bytes a second out of one core


def memory_of(launch: LaunchGroup, soc: Soc, case: Case) -> Memory:
    rates, hertz = rates_of(soc), soc.mhz * 1e6
    own = rates.vector_out if head_product(launch, soc) is None else 0
    out = own or rates.ub_out
    everything = sum(each.nbytes for each in (*launch.reads, *launch.writes))
    read = _from_memory(launch.reads, soc, case, everything)
    written = _from_memory(launch.writes, soc, case, everything)
    return Memory(
        read=sum(each.nbytes for each in launch.reads),
        written=sum(each.nbytes for each in launch.writes),
        gm_read=read / _memory_rate(soc, soc.gm_read, case),
        gm_write=written / _memory_rate(soc, soc.gm_write, case),
        port_in=(rates.l2_read or soc.gm_read) * hertz,
        port_out=(max(rates.l2_write, out) if case.ideal else out) * hertz,
    )


def _memory_rate(soc: Soc, configured: int, case: Case) -> float:
    """Bytes a second of device memory: those of its modules where they are known.

    The bound takes the larger of that and what the configuration says of the cores.
    """
    cores = configured * soc.aicores * soc.mhz * 1e6
    known = soc.memory_rate or cores
    return max(known, cores) if case.ideal else known


def _from_memory(transfers: Iterable[Transfer], soc: Soc, case: Case, everything: int) -> int:
    """Bytes of `transfers` that device memory must give or take."""
    size = 1024 * soc.l2_kib
    total = 0
    for each in transfers:
        is_result = each.source is Source.RESULT and size > 0
        if case.ideal:
            total += 0 if is_result or everything <= size else each.nbytes
        elif is_result:
            total += round(each.nbytes * -expm1(-each.nbytes / size))
        else:
            total += each.nbytes
    return total
