"""Operators that give data another shape, or take as much of it as values say.

Inference leaves ranks open although the inputs determine them: where a shape, or the axes that go,
are computed, the rank of the result follows from how many numbers there are. The dims stay open.
"""

from atc_py.onnx_graph.folding.fold_views import ints_of
from atc_py.onnx_graph.graph import ValueType
from atc_py.onnx_graph.typing.type_rules import (
    Contradiction,
    Negative,
    Override,
    Question,
    Refinement,
    Withheld,
    type_rule,
)
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import MAX_RANK, Dims, Shape, element_count, format_shape, normalize_axis
from atc_py.text import Text

_AXES = 3
"""Position of the axes among the inputs of Pad."""

_OUTPUT_SHAPE = 2
"""Position of the wanted shape among the inputs of MaxUnpool."""


# Reshape -----------------------------------------------------------------------------------------


@type_rule("Reshape")
def _reshape(asked: Question) -> Refinement | None:
    return _refined(asked, _open(asked.length(1)))


@type_rule("Reshape", when=lambda asked: asked.graph.always_runs)
def _impossible_reshape(asked: Question) -> Contradiction | None:
    """Refuse a Reshape that fails whatever it is fed; inference passes it over.

    A node of a branch is left alone, since the branch need not be taken.
    """
    wanted = ints_of(asked.const(1))
    if wanted is None:
        return None
    if min(wanted, default=0) < -1 or wanted.count(-1) > 1:
        return Contradiction(
            Text(
                "the shape {wanted} of a Reshape may have one -1, its other extents are >= 0",
                wanted=list(wanted),
            )
        )
    known = asked.type(0)
    shape = known.shape if known else None
    if shape is None:
        return None
    keeps = not asked.node.integer("allowzero")
    if keeps and 0 in wanted[len(shape) :]:
        return Contradiction(
            Text(
                "the shape {wanted} keeps an axis that {shape} does not have",
                wanted=list(wanted),
                shape=format_shape(shape),
            )
        )
    extents = [shape[at] if keeps and not extent else extent for at, extent in enumerate(wanted)]
    if _fits(shape, extents):
        return None
    return Contradiction(
        Text(
            "data of shape {shape} cannot be reshaped to {wanted}",
            shape=format_shape(shape),
            wanted=list(wanted),
        )
    )


def _fits(shape: Shape, extents: list[int]) -> bool:
    """True if as many elements as `shape` has can be laid out so; one extent may be -1."""
    count = element_count(shape)
    fixed = element_count(extent for extent in extents if extent >= 0)
    if -1 not in extents:
        return count == fixed
    return count % fixed == 0 if fixed else count == 0


@type_rule("Expand", before=True)
def _expand_to_any_rank(asked: Question) -> Withheld | None:
    """Withhold an Expand until its rank is known to be one that a tensor can have.

    Inference makes as many axes as the vector of a computed shape is long, however long that is.
    About a node alone, it makes none of a vector of unknown length.
    """
    if not asked.alone and all(name in asked.graph.consts for name in asked.node.input_names[1:]):
        return None
    shape = asked.type(1)
    if shape is None or shape.dims is None:
        return None if asked.alone else Withheld()
    return Withheld() if any((extent or 0) > MAX_RANK for extent in shape.dims) else None


@type_rule("Expand", before=True, when=lambda asked: not asked.alone)
@type_rule("MaxUnpool", before=True, when=lambda asked: asked.has(_OUTPUT_SHAPE))
def _to_negative_dims(asked: Question) -> Negative | None:
    """Refuse a constant shape with negative dims, which inference passes over."""
    position = 1 if asked.node.op_type == "Expand" else _OUTPUT_SHAPE
    extents = ints_of(asked.const(position)) or ()
    return Negative(extents) if min(extents, default=0) < 0 else None


# Axes that come and go ---------------------------------------------------------------------------


@type_rule("Expand", "Squeeze", "Unsqueeze")
def _by_count(asked: Question) -> Refinement | None:
    """The axes of the data, less or more those named, or those of the shape, if these are more."""
    count, rank = asked.length(1), _rank(asked)
    if count is None or rank is None:
        return None
    ranks = {"Expand": max(count, rank), "Squeeze": rank - count, "Unsqueeze": rank + count}
    return _refined(asked, _open(ranks[asked.node.op_type]))


@type_rule("ReduceSum")
def _reduce_sum(asked: Question) -> Refinement | None:
    """The axes of the data less those named, unless they are kept; without any, all go."""
    count, rank = asked.length(1), _rank(asked)
    if count is None or rank is None:
        return None
    if asked.node.integer("keepdims", 1):
        return _refined(asked, _open(rank))
    if not count and not asked.node.integer("noop_with_empty_axes"):
        return _refined(asked, ())
    return _refined(asked, _open(rank - count))


@type_rule("Transpose")
def _transpose(asked: Question) -> Refinement | None:
    """A scalar where the data is one: inference drops that rank."""
    return _refined(asked, ()) if _rank(asked) == 0 else None


@type_rule("HardSigmoid")
def _hard_sigmoid(asked: Question) -> Refinement | None:
    """The shape of the data: ONNX has no inference of HardSigmoid-1."""
    x = asked.type(0)
    return None if x is None else _refined(asked, x.dims)


@type_rule("GatherND", "Slice", before=True, when=Question.follows_doubt)
def _of_doubtful(asked: Question) -> Withheld | None:
    """Withhold it until the dims of data or indices are known: a negative one aborts the process."""
    position = 1 if asked.node.op_type == "GatherND" else 0
    return None if _rank(asked, position) is not None else Withheld()


@type_rule("GatherND")
def _gather_nd(asked: Question) -> Refinement | None:
    """A scalar where one tuple of indices reaches every axis; inference drops that."""
    count, rank = asked.length(1), _rank(asked)
    return _refined(asked, ()) if count is not None and count == rank else None


@type_rule("Pad", before=True, when=lambda asked: asked.alone)
def _pad_along_computed_axes(asked: Question) -> Withheld | None:
    """Withhold a Pad along computed axes: inference refuses what may be right."""
    return Withheld() if asked.has(_AXES) and asked.const(_AXES) is None else None


@type_rule("Compress")
def _compress(asked: Question) -> Override | None:
    """As many slices as a constant condition chooses, else an open dim.

    Inference leaves that dim open, and before opset 11 even the dtype.
    """
    x = asked.type(0)
    if x is None or not x.element or x.dims is None:
        return None
    condition = asked.const(1)
    constant = condition is not None and condition.dtype is DType.BOOL
    chosen = int(condition.numpy().sum()) if condition is not None and constant else None
    axis = asked.node.plain_attributes.get("axis")
    dims: Dims = (chosen,)
    if isinstance(axis, int):
        try:
            at = normalize_axis(axis, len(x.dims))
        except ValueError:
            return None
        dims = (*x.dims[:at], chosen, *x.dims[at + 1 :])
    return Override(asked.outputs(ValueType(x.element, dims)))


@type_rule("MaxUnpool", when=lambda asked: asked.has(_OUTPUT_SHAPE))
def _max_unpool(asked: Question) -> Override | None:
    x, wanted = asked.type(0), ints_of(asked.const(_OUTPUT_SHAPE))
    if x is None or not x.element or x.dims is None:
        return None
    if wanted is not None and len(wanted) != len(x.dims):
        return None
    dims = (None,) * len(x.dims) if wanted is None else wanted
    return Override(asked.outputs(ValueType(x.element, dims)))


# Parts of the rules ------------------------------------------------------------------------------


def _rank(asked: Question, position: int = 0) -> int | None:
    known = asked.type(position)
    return None if known is None or known.dims is None else len(known.dims)


def _open(rank: int | None) -> tuple[None, ...] | None:
    """So many open dims; None for more than a tensor can have."""
    return None if rank is None or not 0 <= rank <= MAX_RANK else (None,) * rank


def _refined(asked: Question, dims: Dims | None) -> Refinement | None:
    """The first output as data of shape `dims`, where it has no rank yet."""
    graph, x = asked.graph, asked.type(0)
    name = asked.node.output_names[0] if asked.node.output_names else ""
    known = graph.types.get(name)
    if x is None or not x.element or dims is None or not name or name in graph.consts:
        return None
    if known is not None and known.dims is not None:
        return None
    return Refinement({name: ValueType(x.element, dims)})
