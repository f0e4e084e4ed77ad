"""A file whose ends the user chose: results as outputs, other shapes of inputs than it fixes."""

from collections.abc import Mapping, Sequence

from atc_py.diag import AtcError, AtcFault
from atc_py.diag.codes import NOT_IN_MODEL
from atc_py.diag.suggestions import nearest_of_many
from atc_py.onnx_graph.folding.graph import WorkNode
from atc_py.onnx_graph.reading.declared import DeclaredInput
from atc_py.onnx_graph.reading.onnx_file import OnnxFile
from atc_py.options.compile_options import CompileOptions
from atc_py.options.out_nodes import OUT_NODES_PLACE, OutNode, out_nodes_error
from atc_py.system.structs import replace
from atc_py.tensor.shapes import Shape
from atc_py.text import Text

_NEAREST = 3


def with_user_ends(file: OnnxFile, options: CompileOptions) -> OnnxFile:
    """`file` with the outputs that options name, and inputs that take the shapes they give.

    Raises:
        AtcError: NOT_IN_MODEL and BAD_OPTION for outputs that the model does not have.
    """
    found = _with_outputs(file, options.out_nodes)
    return _with_freed_inputs(found, options.input_shapes) if options.replace_shapes else found


def _with_freed_inputs(file: OnnxFile, shapes: Mapping[str, Shape]) -> OnnxFile:
    """`file` with open dims where it fixes others than `shapes` has.

    What it states of the types of other values is then worth nothing, and is gone.
    """
    freed = tuple(_freed(each, shapes.get(each.name)) for each in file.inputs)
    return file if freed == file.inputs else replace(file, inputs=freed, declared={})


def _freed(declared: DeclaredInput, given: Shape | None) -> DeclaredInput:
    """An input that takes a shape; None for an input that nobody gives one."""
    if given is None or declared.kind or declared.fits(given) or not declared.dims:
        return declared
    if len(given) != len(declared.dims):
        return replace(declared, dims=None)
    dims = tuple(own if own == dim else "" for own, dim in zip(declared.dims, given, strict=True))
    return replace(declared, dims=dims)


def _with_outputs(file: OnnxFile, wanted: Sequence[OutNode]) -> OnnxFile:
    """`file` with the results `wanted` as its outputs, in their order.

    Nodes that none of them needs go when the model is folded. Inputs stay, as they do with ATC, also
    where nothing reads them any more.

    Raises:
        AtcError: NOT_IN_MODEL for a name that the model does not have, BAD_OPTION for an index
            that a node does not have, and where two entries are one result.
    """
    if not wanted:
        return file
    names = tuple(_tensor(file, each) for each in wanted)
    for position, name in enumerate(names):
        if name in names[:position]:
            given = wanted[names.index(name)].text, wanted[position].text
            raise out_nodes_error(
                given[1],
                Text(
                    "{given} and {given_2} are one result, {name}",
                    given=repr(given[0]),
                    given_2=repr(given[1]),
                    name=repr(name),
                ),
            )
    return replace(file, outputs=names)


def _tensor(file: OnnxFile, wanted: OutNode) -> str:
    """The name of the result that an entry means.

    `name:0` is also how some exporters call tensors; such a tensor counts where no node has the name.
    """
    tensors = {name for node in file.nodes for name in node.writes}
    tensors.update(each.name for each in file.inputs)
    node = next((each for each in file.nodes if each.name == wanted.name), None)
    if wanted.index is not None and node is not None:
        return _output(node, wanted.index, wanted.text)
    if wanted.text in tensors:
        return wanted.text
    raise _unknown(file, wanted, tensors, node)


def _output(node: WorkNode, index: int, text: str) -> str:
    """The output of `node` at the index that the entry `text` gives."""
    if index < len(node.outputs) and node.outputs[index]:
        return node.outputs[index]
    there = ", ".join(f"{node.name}:{i} ({name})" for i, name in enumerate(node.outputs) if name)
    raise out_nodes_error(
        text,
        Text(
            "{text}: node {node} has the outputs {there}",
            text=repr(text),
            node=repr(node.name),
            there=there,
        ),
        "E10003",
    )


def _unknown(file: OnnxFile, wanted: OutNode, tensors: set[str], node: WorkNode | None) -> AtcError:
    """That the model has no result of a name, with the nearest ones that it has."""
    known = tensors if wanted.index is None else {each.name for each in file.nodes if each.name}
    kind = "tensor" if wanted.index is None else "node"
    near = ", ".join(map(repr, nearest_of_many(wanted.name, sorted(known), _NEAREST)))
    help_ = (
        Text("the nearest names are {near}", near=near)
        if near
        else Text("the model names no {kind}", kind=kind)
    )
    if node is not None:
        help_ = Text(
            "{wanted} is a node; write {wanted_2}:0 for its first output",
            wanted=repr(wanted.name),
            wanted_2=wanted.name,
        )
    return NOT_IN_MODEL.error(
        Text("no {kind} of the model is called {wanted}", kind=kind, wanted=repr(wanted.name)),
        place=OUT_NODES_PLACE,
        help=help_,
        atc=AtcFault("E10016", (wanted.name, "out_nodes")),
    )
