"""Types of what custom operators of the list give, which neither ONNX nor, often, the file tells.

What the file states of a result counts, and is held against the inputs where the node is lowered;
what it leaves open is worked out here.
"""

from atc_py.onnx_graph.folding.fold_views import ints_of
from atc_py.onnx_graph.folding.graph import ValueType
from atc_py.onnx_graph.reading.attributes import simple_attributes
from atc_py.onnx_graph.reading.tensors import dtype_of_element, element_of_dtype
from atc_py.onnx_graph.source.custom_results import (
    CUSTOM_RESULTS,
    ContradictionError,
    Given,
    custom_results,
)
from atc_py.onnx_graph.typing.type_rules import Contradiction, Question, Refinement, type_rule
from atc_py.tensor.shapes import Dims


@type_rule(*CUSTOM_RESULTS, custom=True, when=lambda asked: asked.node.schema is None)
def _custom(asked: Question) -> Refinement | Contradiction | None:
    """Return what the file states of the results, joined with what the inputs tell."""
    inputs = [_given(asked, position) for position in range(len(asked.node.inputs))]
    if any(asked.has(at) and given is None for at, given in enumerate(inputs)):
        return None
    try:
        results = custom_results(asked.node.op_type, inputs, simple_attributes(asked.node))
    except ContradictionError as error:
        return Contradiction(f"{asked.node.op_type} {error.reason}") if asked.alone else None
    found = asked.outputs(*(ValueType(element_of_dtype(each), dims) for each, dims in results))
    return Refinement(
        {name: _joined(asked.graph.types.get(name), known) for name, known in found.items()}
    )


def _given(asked: Question, position: int) -> Given | None:
    """Return what is known of an input; None where that is not enough, or it is absent."""
    known = asked.type(position)
    dtype = None if known is None else dtype_of_element(known.element)
    if known is None or known.dims is None or dtype is None:
        return None
    return Given(dtype, known.dims, ints_of(asked.const(position)))


def _joined(stated: ValueType | None, found: ValueType) -> ValueType:
    """`found` joined with what is known, which wins unless only `found` is not open."""
    if stated is None:
        return found
    return ValueType(stated.element or found.element, _joined_dims(stated.dims, found.dims))


def _joined_dims(stated: Dims | None, found: Dims | None) -> Dims | None:
    """The dims of two shapes that do not contradict each other; else those stated."""
    if stated is None or found is None:
        return found if stated is None else stated
    pairs = list(zip(stated, found, strict=False))
    contradictory = any(None not in pair and pair[0] != pair[1] for pair in pairs)
    if len(stated) != len(found) or contradictory:
        return stated
    return tuple(mine if theirs is None else theirs for mine, theirs in pairs)
