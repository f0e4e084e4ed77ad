"""A file in the form that rules give it, without writing it."""

from collections.abc import Mapping

from atc_py.check.bound_node import Conditions
from atc_py.fix.engine import Fixer
from atc_py.fix.fixed import Applied
from atc_py.fix.listed_opset import state_at_listed_opset
from atc_py.onnx_graph.reading.onnx_file import OnnxFile
from atc_py.options.fix_rules import FixRules
from atc_py.spec import Library
from atc_py.system.structs import replace
from atc_py.tensor.shapes import Shape


def fixed_file(
    file: OnnxFile,
    conditions: Conditions,
    library: Library,
    rules: FixRules,
    shapes: Mapping[str, Shape],
) -> tuple[OnnxFile, tuple[Applied, ...]]:
    """`file` with its refused nodes replaced, and the rules that did so.

    New nodes have the places of the old ones.

    Args:
        file: the model, read leniently.
        conditions: the precision mode and the SoC.
        library: the operator list.
        rules: the rules that apply.
        shapes: dims of inputs that the model leaves open, by name.

    Raises:
        AtcError: BAD_INPUT_SHAPE for shapes that fit no input; BAD_OPTION for an unknown rule, and
            for a value that an input cannot be bound to; FIX_NOT_SETTLED for rules without end.
    """
    found = Fixer(file, conditions, library, rules).fix(shapes)
    found.require_settled()
    if rules.for_cann:
        state_at_listed_opset(found, library, conditions.cann)
    if not found.applied and not rules.bind and found.graph.opsets == file.opsets:
        return file, ()
    graph = found.graph
    fixed = replace(
        file,
        nodes=tuple(graph.nodes),
        inputs=tuple(tensor for tensor in file.inputs if tensor.name not in rules.bind),
        contents=replace(file.contents, weights=dict(graph.consts)),
        opsets=graph.opsets,
        held=graph.held,
    )
    return fixed, found.applied
