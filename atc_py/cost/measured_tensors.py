"""Tensors of measured kernels, from texts of tables: dims, dtypes and formats.

A board's tables have the dims of what is stored. Logical dims follow from the format as far as it
tells them: batch, rows and columns of a picture exactly, channels and the sides of a matrix as
whole blocks, of which the last may be padding. The taps of a filter follow from the channels of the
data that it meets.
"""

from collections.abc import Sequence
from typing import NamedTuple

from atc_py.cost.operation import Tensor
from atc_py.cost.work import TRANSPOSED
from atc_py.system.structs import replace
from atc_py.target import TargetOp
from atc_py.tensor.dtypes import DType, Format, UnknownDTypeError
from atc_py.tensor.shapes import Shape, broadcast_shapes, element_count, format_shape
from atc_py.tensor.storage import SMALL_CHANNELS, blocks_of
from atc_py.text import Text

_MOST = 1 << 40
_SAME = frozenset({"unary", "rows", "softmax", "channel", "cast", "quant"})
_BROADCAST = frozenset({"binary", "accumulate"})
_MATRIX = 2

_NAMES = {"NC1HWC0_C04": Format.NC1HWC0.value}
_FILTERS = frozenset({"FRACTAL_Z", "FRACTAL_Z_3D", "FRACTAL_Z_C04", "C1HWNCoC0"})
_CHANNELS_FIRST = {
    "NHWC": (0, 3, 1, 2),
    "HWCN": (3, 2, 0, 1),
    "NDHWC": (0, 4, 1, 2, 3),
    "DHWCN": (4, 3, 0, 1, 2),
}
"""Axes of NCHW and NCDHW in formats that convolutions take, too."""

_WINDOW = 3
"""Dims of a filter up to its taps."""

_UNDEFINED = frozenset({"", "undefined", "n/a"})

_DEPTHWISE = "DepthwiseConv2D"


class MeaninglessError(ValueError):
    """A text of a table has no meaning; the message says why."""


class StoredTensor(NamedTuple):
    """A tensor as a board has it: dims of what is stored, and the format that says how."""

    dims: Shape
    dtype: DType
    format: str


def read_dtype(text: str) -> DType:
    name = text.strip().strip('"').lower().removeprefix("dt_")
    try:
        return DType.parse({"bf16": "bfloat16"}.get(name, name))
    except UnknownDTypeError:
        raise MeaninglessError(Text("no dtype is called {text}", text=repr(text))) from None


def _read_shape(part: str) -> Shape:
    """Dims joined by commas or by `x`; none for an empty text."""
    dims = part.strip().lower().replace("x", ",").strip("[]")
    try:
        shape = tuple(int(dim) for dim in dims.split(",")) if dims else ()
    except ValueError:
        raise MeaninglessError(
            Text("a shape must be numbers joined by commas, found {part}", part=repr(part))
        ) from None
    if any(dim < 1 for dim in shape) or element_count(shape) > _MOST:
        raise MeaninglessError(
            Text(
                "dims must be 1 or more, at most {most} elements in all, found {part}",
                most=_MOST,
                part=repr(part),
            )
        )
    return shape


def read_shapes(text: str) -> list[Shape]:
    """Shapes such as `1,64,56,56;64,64,3,3`; dims may be joined by `x` too."""
    shapes = map(_read_shape, text.strip().strip('"').split(";"))
    return [shape for shape in shapes if shape]


def stored_tensors(texts: Sequence[str], dtype: str = "") -> list[StoredTensor | None]:
    """The tensors of one side of a kernel by position, None where one is absent.

    `texts` are dims, dtypes and formats of all, joined by semicolons; `dtype` is that of all where
    the table has none. A scalar has a dtype and no dims.
    """
    given, kinds, formats = texts
    if not given and not kinds:
        return []
    shapes = given.split(";")
    dtypes = kinds.split(";") if kinds else [dtype] * len(shapes)
    forms = formats.split(";") if formats else [Format.ND.value] * len(shapes)
    if not len(shapes) == len(dtypes) == len(forms):
        raise MeaninglessError(Text("dims, dtypes and formats are not of as many tensors"))
    found: list[StoredTensor | None] = []
    for part, kind, form in zip(shapes, dtypes, forms, strict=True):
        dims = _read_shape(part)
        if kind.strip().lower() in _UNDEFINED:
            found.append(None)
            continue
        name = form.strip().removeprefix("FORMAT_").partition(":")[0]
        found.append(StoredTensor(dims, read_dtype(kind), _NAMES.get(name, name)))
    return found


def logical_tensors(
    row: TargetOp, inputs: Sequence[StoredTensor | None], outputs: Sequence[StoredTensor | None]
) -> tuple[list[Tensor | None], list[Tensor]]:
    """The tensors of a kernel as the cost model takes them, of convolutions in NCHW or NCDHW."""
    turned = row.family == "conv"
    found = [None if each is None else _logical(each, turned=turned) for each in inputs]
    made = [_logical(each, turned=turned) for each in outputs if each is not None]
    if turned:
        _solve_filter(row, inputs, found, made)
    return found, made


def _solve_filter(
    row: TargetOp,
    inputs: Sequence[StoredTensor | None],
    found: list[Tensor | None],
    made: list[Tensor],
) -> None:
    """Set the filter of a convolution, and the channels of its result as far as that has them."""
    data, stored = found[0] if found else None, inputs[1] if len(inputs) > 1 else None
    if data is None or stored is None or not made:
        raise MeaninglessError(Text("its data, filter or result is missing"))
    if min(len(data.shape), len(made[0].shape), len(stored.dims)) < _WINDOW:
        raise MeaninglessError(Text("its dims are not those of a convolution"))
    solved = found[1] = _filter(row, stored, data, made[0])
    if row.name not in TRANSPOSED:
        # Padding of the result's blocks is no filter's.
        batch, channels, *picture = made[0].shape
        made[0] = replace(made[0], shape=(batch, min(channels, solved.shape[0]), *picture))


def _logical(stored: StoredTensor, *, turned: bool) -> Tensor:
    """A tensor with the dims that its blocks hold; `turned` to channels after the batch."""
    dims, name = stored.dims, stored.format
    if turned and name in _CHANNELS_FIRST:
        if len(dims) != len(_CHANNELS_FIRST[name]):
            raise _misfit(stored)
        return Tensor(tuple(dims[axis] for axis in _CHANNELS_FIRST[name]), stored.dtype)
    try:
        shape = _whole(dims, name)
    except ValueError:
        raise _misfit(stored) from None
    return Tensor(shape, stored.dtype, None if shape == dims else dims)


def _whole(dims: Shape, name: str) -> Shape:
    """Dims that the blocks of a format hold in full; those of other formats as they are."""
    if name == Format.NC1HWC0.value:
        batch, blocks, height, width, c0 = dims
        return batch, blocks * c0, height, width
    if name == Format.NDC1HWC0.value:
        batch, depth, blocks, height, width, c0 = dims
        return batch, blocks * c0, depth, height, width
    if name == Format.FRACTAL_NZ.value:
        *outer, across, down, rows, columns = dims
        return *outer, down * rows, across * columns
    if name in _FILTERS and name != Format.C1HWNCOC0.value:
        down, across, columns, rows = dims
        return down * rows, across * columns
    return dims


def _filter(row: TargetOp, stored: StoredTensor, data: Tensor, out: Tensor) -> Tensor:
    """The filter of a convolution; one in blocks as [N, C, taps, 1 ...].

    FRACTAL_Z is [C1 H W, N/16, 16, C0] of each block diagonal: with all channels of the data in C1,
    what is left of the first dim are the taps. Groups are those that share a diagonal.
    """
    if stored.format not in _FILTERS:
        plain = _logical(stored, turned=True)
        outer, inner, *window = plain.shape
        shape = (outer * inner, 1, *window) if row.name == _DEPTHWISE else plain.shape
        return Tensor(shape, plain.dtype)
    if stored.format == Format.C1HWNCOC0.value:
        return _depthwise_filter(stored)
    read, made = (out, data) if row.name in TRANSPOSED else (data, out)
    planes, across, rows, c0 = _of_rank(stored, 4)
    channels = blocks_of(read.shape[1], c0)
    ones = (1,) * (len(data.shape) - _WINDOW)
    if stored.format == Format.FRACTAL_Z_C04.value:
        taps = max(1, planes * c0 // SMALL_CHANNELS)
        shape = across * rows, read.shape[1], taps, *ones
    elif planes % channels:
        raise _misfit(stored)
    elif row.name == _DEPTHWISE:
        shape = made.shape[1], 1, planes // channels, *ones
    else:
        count = _diagonals(channels, across * rows, made)
        shape = across * rows * count, channels * c0 // count, planes // channels, *ones
    return Tensor(shape, stored.dtype, stored.dims)


def _diagonals(channels: int, filters: int, made: Tensor) -> int:
    """Block diagonals of a filter: the channels of the result over the filters of one of them."""
    count = made.shape[1] // filters
    padding = 1 if made.stored is None else made.stored[-1]
    is_one = made.shape[1] - filters < padding or channels % max(1, count)
    return 1 if is_one else count


def _depthwise_filter(stored: StoredTensor) -> Tensor:
    """C1HWNCoC0: [C / C0, H, W, N / C, C0, C0], its planes one dim as those of FRACTAL_Z."""
    blocks, height, width, each, columns, c0 = _of_rank(stored, 6)
    planes = blocks * height * width
    shape = blocks * c0 * each, 1, height, width
    return Tensor(shape, stored.dtype, (planes, each, columns, c0))


def _of_rank(stored: StoredTensor, rank: int) -> Shape:
    if len(stored.dims) != rank:
        raise _misfit(stored)
    return stored.dims


def _misfit(stored: StoredTensor) -> MeaninglessError:
    return MeaninglessError(Text("its dims are not those of {name}", name=stored.format))


def result_shape(row: TargetOp, shapes: Sequence[Shape]) -> Shape:
    """The shape of the result where it follows from the inputs."""
    if row.family == "matmul" and len(shapes) >= _MATRIX and min(map(len, shapes[:2])) >= _MATRIX:
        left, right = shapes[0], shapes[1]
        if left[-1] != right[-2]:
            raise MeaninglessError(
                Text(
                    "{pair} do not multiply; give output_shape if an operand is transposed",
                    pair=_pair(left, right),
                )
            )
        stack = left[:-2] if len(left) >= len(right) else right[:-2]
        return (*stack, left[-2], right[-1])
    if row.family in _BROADCAST:
        try:
            return broadcast_shapes(*shapes)
        except ValueError:
            raise MeaninglessError(
                Text("{pair} do not broadcast", pair=_pair(*shapes[:2]))
            ) from None
    if row.family in _SAME:
        return shapes[0]
    raise MeaninglessError(
        Text("{name} needs output_shape: it does not follow from the inputs", name=row.name)
    )


def _pair(*shapes: Shape) -> str:
    return " and ".join(format_shape(shape) for shape in shapes)
