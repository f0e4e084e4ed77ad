"""A kernel on its cores: blocks of the cube, repeats of the vector unit, bytes in and out.

Every term grows with every dim, so that a larger operator never costs less.
"""

from collections.abc import Iterable, Iterator
from functools import lru_cache
from math import ceil, isqrt

import msgspec

from atc_py.cost.factors import Case, Factors, Pipes
from atc_py.cost.operation import LaunchGroup, Operation
from atc_py.cost.work import ROWS_FAMILIES, MatrixProduct, Memory, Passes, head_product, work_on
from atc_py.target import Soc, Unit
from atc_py.target.row import rounds_to_hf32
from atc_py.target.soc import fix_pipe_length, rates_of
from atc_py.tensor.dtypes import DType

_SIDE = 16
"""Rows and columns of what the cube multiplies in one cycle."""

_REPEAT = 256
"""Bytes that the vector unit works off in one cycle."""

_TRANSFER = 512
"""Bytes that are never shared between cores."""

_SUM = 4
"""Bytes of a sum in L0C."""

_MIXED = frozenset({"RealDiv", "Sigmoid", "SoftmaxV2", "Swish"})
"""Operators that the operator information of Ascend310P marks with enableVectorCore."""

SERIAL = 0.09
"""Share of their time in which other pipes of a core do not work beside the one that works longest."""

_L0_SHARE = 0.5
"""Of the published rate from L1 to L0 in cores that are split; measurements on Atlas A2 give half."""

_FLOAT32_PASSES = 4
"""Passes of the cube over a product of float32, half as many of HF32."""

_KIB = 1024
_FEW_CHANNELS = 4
_DEPTHS = {4: 64, 8: 32}
_WORD = 32


class Busy(msgspec.Struct, frozen=True):
    """Seconds of the busiest core's pipes at the peak rates, for one way of cutting the work."""

    cube: float = 0.0  # products
    vector: float = 0.0  # functions of each element, pools and reductions
    rows: float = 0.0  # softmax and norms
    mte1: float = 0.0  # from L1 to the cube's buffers
    read: float = 0.0  # into the core, from L2
    written: float = 0.0  # out of the core, to L2
    fixp: float = 0.0  # results of the cube on their way to memory


def shares_of(launch: LaunchGroup, soc: Soc) -> tuple[str, str]:
    """The names of the factors of a kernel's cube and of its transfers, by what it is built around."""
    for operation in launch.operations:
        if work_on(operation, soc).product is not None:
            return "depthwise" if _is_depthwise(operation) else "cube", "l2_cube"
    moves = all(operation.row.unit is Unit.MOVE for operation in launch.operations)
    return "cube", "l2_moves" if moves else "l2_vector"


def _is_depthwise(operation: Operation) -> bool:
    data = operation.input(0)
    if operation.row.family != "conv" or data is None:
        return False
    groups = operation.number("groups", 1)
    return operation.row.name == "DepthwiseConv2D" or 1 < groups == data.shape[1]


def _pipes_at(busy: Busy, memory: Memory, factors: Factors, shares: tuple[str, str]) -> Pipes:
    cube, l2 = (getattr(factors, name) for name in shares)
    return Pipes(
        cube=busy.cube / cube,
        vector=busy.vector / factors.vector + busy.rows / factors.rows,
        mte1=busy.mte1,
        mte2=max(memory.gm_read / factors.bandwidth, busy.read / l2),
        mte3=max(memory.gm_write / factors.bandwidth, busy.written / l2),
        fixp=busy.fixp,
    )


def cube_depth(dtype: DType) -> int:
    """Elements that the cube sums up in one cycle: the K of its block."""
    return _DEPTHS.get(dtype.bits, _SIDE)


def vector_cores(soc: Soc) -> int:
    """Cores that vector kernels use; separate vector cores only where the cube has none."""
    return soc.vector_cores if rates_of(soc).split else soc.aicores


def pipes_of(launch: LaunchGroup, soc: Soc, case: Case, memory: Memory) -> Pipes:
    """Busy times of the pipes in one case, with the split over cores that takes least."""
    shares = shares_of(launch, soc)
    found = (
        _pipes_at(busy, memory, case.factors, shares) for busy in ways_of(launch, soc, case, memory)
    )
    return min(found, key=lambda pipes: elapsed(pipes, case))


def ways_of(launch: LaunchGroup, soc: Soc, case: Case, memory: Memory) -> Iterator[Busy]:
    """Yield what the pipes have to do for each way of cutting the work."""
    product = head_product(launch, soc)
    if case.ideal:
        yield _least(launch, soc, memory)
    elif product is None:
        yield _vector_kernel(launch, soc, memory)
    else:
        kernel = _Kernel(launch, soc, memory)
        for share in _shares(product, soc.aicores):
            yield from kernel.ways(product, share)


def elapsed(pipes: Pipes, case: Case) -> float:
    """Seconds until all pipes are done: the longest, and a share of the others."""
    if case.ideal:
        return pipes.least
    longest = pipes.longest
    return longest + SERIAL * (pipes.total - longest)


def _least(launch: LaunchGroup, soc: Soc, memory: Memory) -> Busy:
    """The least work at the peak rates, spread evenly."""
    hertz = soc.mhz * 1e6
    cube = vector = 0.0
    fixed, cores = _beside_vector(launch, soc), _most_cores(launch, soc)
    for operation in launch.operations:
        work = work_on(operation, soc)
        if work.product is not None:
            depth = cube_depth(work.product.dtype)
            cube += work.product.macs / (_SIDE * _SIDE * depth * soc.aicores * hertz)
        if work.passes is not None and work.product is None and operation not in fixed:
            nbytes = work.passes.elements * work.passes.itemsize * work.passes.least
            vector += nbytes / (_REPEAT * cores * hertz)
    return Busy(
        cube=cube,
        vector=vector,
        read=memory.read / (memory.port_in * soc.aicores),
        written=memory.written / (memory.port_out * soc.aicores),
    )


def _most_cores(launch: LaunchGroup, soc: Soc) -> float:
    """The cores that a vector kernel may have at most, vector cores by their clock."""
    if not soc.mixed_cores or not all(each.row.name in _MIXED for each in launch.operations):
        return vector_cores(soc)
    return soc.aicores + soc.vector_cores * soc.vector_mhz / soc.mhz


def _beside_vector(launch: LaunchGroup, soc: Soc) -> tuple[Operation, ...]:
    """The operators of a cube kernel that the vector unit need not do.

    Copies into L1 do those before the product, which is AIPP, and a fix pipe those after it.
    """
    products = (work_on(operation, soc).product for operation in launch.operations)
    at = next((at for at, product in enumerate(products) if product is not None), None)
    if at is None:
        return ()
    before, functions = launch.operations[:at], launch.operations[at + 1 :]
    if not soc.ub_fusion:
        return before + functions
    named = [(operation.row.name, operation.outputs[0].dtype) for operation in functions]
    return before + functions[: fix_pipe_length(named, soc)]


def _vector_kernel(launch: LaunchGroup, soc: Soc, memory: Memory) -> Busy:
    """A kernel without a product: its tensors in even parts, rows of a reduction whole."""
    cycles = {False: 0.0, True: 0.0}
    cores = vector_cores(soc)
    for operation in launch.operations:
        passes = work_on(operation, soc).passes
        if passes is not None:
            cycles[operation.row.family in ROWS_FAMILIES] += _repeats(passes, cores) * passes.count
    into, out = (  # of the core that has most
        max(nbytes / soc.aicores, min(nbytes, _TRANSFER))
        for nbytes in (memory.read, memory.written)
    )
    hertz = soc.mhz * 1e6
    return Busy(
        vector=cycles[False] / hertz,
        rows=cycles[True] / hertz,
        read=into / memory.port_in,
        written=out / memory.port_out,
    )


def _repeats(passes: Passes, cores: int) -> int:
    # Of the busiest core, for one instruction; rows of several elements begin a repeat each.
    if passes.rows >= passes.elements:
        return ceil(ceil(passes.elements * passes.itemsize / _REPEAT) / cores)
    row = ceil(passes.elements / passes.rows) * passes.itemsize
    return ceil(passes.rows / cores) * ceil(row / _REPEAT)


class _Kernel(msgspec.Struct, frozen=True):
    """A kernel around a product."""

    launch: LaunchGroup
    soc: Soc
    memory: Memory

    def ways(self, product: MatrixProduct, blocks: tuple[int, int, int]) -> Iterator[Busy]:
        """Yield the pipes of a core with `blocks` (batch, rows, columns), for some tiles."""
        hertz = self.soc.mhz * 1e6
        batch, rows, columns = blocks
        depth = self._depth(product)
        cycles = float(product.steps * batch * rows * columns * depth)
        if product.dtype.bits == _WORD:
            halved = any(rounds_to_hf32(dict(each.attributes)) for each in self.launch.operations)
            cycles *= _FLOAT32_PASSES / (2 if halved else 1)
        cube = cycles / hertz
        share = (batch, min(product.m, rows * _SIDE), min(product.n, columns * _SIDE))
        elements = product.steps * share[0] * share[1] * share[2]
        vector, rows_after, fixp, out = self._after(product, elements)
        written = out / self.memory.port_out
        loads = product.steps * batch * depth
        for tile in _tiles(self.soc):
            into = self._into(product, share, (ceil(rows / tile[0]), ceil(columns / tile[1])))
            read = into / self.memory.port_in
            mte1 = loads * self._to_l0(product, (rows, columns), tile) / hertz
            yield Busy(cube, vector, rows_after, mte1, read, written, fixp)

    def _depth(self, product: MatrixProduct) -> int:
        """Blocks along the axis summed over; channels of a convolution are padded."""
        block = cube_depth(product.dtype)
        if product.window is None:
            return ceil(product.k / block)
        kernel, channels = product.window
        if channels <= _FEW_CHANNELS and self.soc.storage.pads_to_four:
            return ceil(kernel * _FEW_CHANNELS / block)
        return kernel * ceil(channels / block)

    def _to_l0(
        self, product: MatrixProduct, blocks: tuple[int, int], tile: tuple[int, int]
    ) -> float:
        """Cycles that load the operands of one step in depth of all tiles of a core."""
        rates = rates_of(self.soc)
        share = _L0_SHARE if rates.split else 1.0
        block = _SIDE * cube_depth(product.dtype) * product.dtype.bits / 8
        rows, columns = blocks
        left = rows * ceil(columns / tile[1]) * block / rates.l1_l0a
        right = columns * ceil(rows / tile[0]) * block / rates.l1_l0b
        return (left + right) / share

    def _into(
        self, product: MatrixProduct, share: tuple[int, int, int], tiles: tuple[int, int]
    ) -> float:
        """Bytes into the busiest core; what does not fit half of L1 is read again.

        One operand is read once for each part of the other one that fits, or both are read for
        each of the `tiles` of the result.
        """
        batch, rows, columns = share
        room = self.soc.l1_kib * _KIB // 2
        left, right = rows * product.row_bytes, columns * product.k * product.dtype.bits / 8
        again = min(
            left * ceil(right / room) + right,
            right * ceil(left / room) + left,
            left * tiles[1] + right * tiles[0],
        )
        if product.steps > 1:
            again = left * product.steps + right * (product.steps if right > room else 1)
        return max(batch * again, self.memory.read / self.soc.aicores)

    def _after(self, product: MatrixProduct, elements: int) -> tuple[float, float, float, float]:
        """Seconds of functions, of rows and of FIXP after the cube, and bytes out of the core."""
        rates, hertz = rates_of(self.soc), self.soc.mhz * 1e6
        cycles = {False: 0.0, True: 0.0}
        fixed = _beside_vector(self.launch, self.soc)
        whole = product.steps * product.batch * product.m * product.n
        for operation in self.launch.operations:
            passes = work_on(operation, self.soc).passes
            if passes is not None and operation not in fixed:
                # It has as large a part of its elements on a core as the product has.
                part = max(elements, passes.elements * elements / max(1, whole))
                repeats = ceil(part * passes.itemsize / _REPEAT) * passes.count
                cycles[operation.row.family in ROWS_FAMILIES] += repeats
        moved = elements * _SUM / rates.l0c_ub
        vector = cycles[False] if rates.split else cycles[False] + moved
        fixp = moved if rates.split else 0.0
        result = self.launch.operations[-1].outputs[0].dtype.bits / 8
        out = max(elements * result, self.memory.written / self.soc.aicores)
        return vector / hertz, cycles[True] / hertz, fixp / hertz, out


def _shares(product: MatrixProduct, cores: int) -> Iterable[tuple[int, int, int]]:
    """The blocks (batch, rows, columns) that the busiest core may have, each once.

    Many cuts of a small product leave it the same ones. Cuts into more parts than there are take
    as long as those into all parts.
    """
    height, width = ceil(product.m / _SIDE), ceil(product.n / _SIDE)
    cuts = (
        (ceil(product.batch / batch), ceil(height / rows), ceil(width / columns))
        for batch, rows, columns in _splits(cores)
        if batch <= max(1, product.batch) and rows <= max(1, height)
    )
    return dict.fromkeys(cuts)


@lru_cache(maxsize=64)
def _splits(cores: int) -> tuple[tuple[int, int, int], ...]:
    """Ways to cut a result for at most `cores` cores that no other one covers."""
    return tuple(
        (batch, rows, cores // (batch * rows))
        for batch in range(1, cores + 1)
        for rows in range(1, cores // batch + 1)
    )


@lru_cache(maxsize=64)
def _tiles(soc: Soc) -> tuple[tuple[int, int], ...]:
    """(rows, columns) in blocks of tiles that fill half of L0C."""
    room = max(1, soc.l0c_kib * _KIB // (_SIDE * _SIDE * _SUM) // 2)
    side = isqrt(room)
    return ((side, room // side), (room // side, side), (1, room), (room, 1))
