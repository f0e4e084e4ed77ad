"""The changes between a file's graph and its fixed form, node by node."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from math import prod

from onnx import AttributeProto, helper

from atc_py.fix.fixed import Applied, Fixed
from atc_py.ir import ConstData
from atc_py.onnx_graph.graph import OnnxGraph, OnnxNode
from atc_py.onnx_graph.reading.tensors import dtype_of_element, known_type
from atc_py.onnx_graph.source import SourceTensor
from atc_py.results.fixing import ChangeKind, DiffNode, DiffValue, NodeChange

_SMALL = 4
"""Elements of a constant up to which its data is shown."""

_HIDDEN = (
    AttributeProto.TENSOR,
    AttributeProto.TENSORS,
    AttributeProto.SPARSE_TENSOR,
    AttributeProto.SPARSE_TENSORS,
    AttributeProto.GRAPH,
    AttributeProto.GRAPHS,
)
"""Kinds of attributes that are too large to show."""


class GraphDiff:
    """The changes of a model that is stated at its final opset, as it was written."""

    def __init__(self, fixed: Fixed, written: OnnxGraph) -> None:
        self._fixed = fixed
        self._written = written
        own = set(fixed.file.nodes)
        self._new: dict[int, list[OnnxNode]] = defaultdict(list)
        for node in written.nodes:
            if node not in own:
                self._new[node.index].append(node)
        self._replaced = {
            tensor.name: _tensor_value(tensor)
            for applied in fixed.applied
            for tensor in (*applied.node.inputs, *applied.node.outputs)
            if tensor is not None
        }
        self._applied: dict[int, list[Applied]] = defaultdict(list)
        for application in fixed.applied:
            self._applied[application.node.index].append(application)

    def changes(self) -> Iterator[NodeChange]:
        """Yield every change; those of nodes in a branch that was chosen after that of the If."""
        for node in self._fixed.file.nodes:
            applied = self._applied.get(node.index, [])
            if node.is_if and all(application.node.op_type != "If" for application in applied):
                inside = list(self._changes_inside(node, applied))
                yield from self._change(node, (), ChangeKind.CHOSEN)
                yield from inside
            else:
                yield from self._change(node, _rules(applied), self._kind(node, applied))

    def _changes_inside(self, node: OnnxNode, applied: Sequence[Applied]) -> Iterator[NodeChange]:
        """Yield the changes of nodes in a branch, and take their new nodes out of those of the If."""
        by_name: dict[str, list[Applied]] = defaultdict(list)
        for application in applied:
            by_name[application.node.name].append(application)
        for several in by_name.values():
            made = {
                name
                for application in several
                for new in application.made
                for name in new.output_names
            }
            new = [node for node in self._new[node.index] if not made.isdisjoint(node.output_names)]
            left = [each for each in self._new[node.index] if each not in new]
            self._new[node.index] = left
            first = several[0].node
            yield NodeChange(
                kind=ChangeKind.RULES,
                node=node.index,
                rules=_rules(several),
                before=self._node(first),
                after=tuple(map(self._node, new)),
                producer=self._producer(new, (read.name for read in first.tensors_read)),
                reader=self._reader(new, (output.name for output in first.outputs if output)),
            )

    def _change(
        self, node: OnnxNode, rules: tuple[str, ...], kind: ChangeKind
    ) -> Iterator[NodeChange]:
        new = self._new.get(node.index, [])
        if not new and any(map(self._written.producer, node.writes)):
            return
        before, after = self._node(node), tuple(map(self._node, new))
        if after == (before,):
            return  # it reads the same at another opset
        yield NodeChange(
            kind=kind if new else ChangeKind.DROPPED,
            node=node.index,
            rules=rules,
            before=before,
            after=after,
            producer=self._producer(new, node.reads),
            reader=self._reader(new, node.writes),
        )

    def _kind(self, node: OnnxNode, applied: Sequence[Applied]) -> ChangeKind:
        new = self._new.get(node.index, [])
        if applied:
            return ChangeKind.RULES
        if not any(new_node.op_type == node.op_type for new_node in new) or len(new) > 1:
            return ChangeKind.QUANTIZED
        return ChangeKind.RESTATED if new[0].output_names == node.output_names else ChangeKind.MOVED

    def _producer(self, new: Sequence[OnnxNode], names: Iterable[str]) -> DiffNode | None:
        """A node before `new`, which have taken the place of one that reads `names`."""
        read = (*names, *(name for node in new for name in node.input_names))
        return self._outside(new, map(self._written.producer, read))

    def _reader(self, new: Sequence[OnnxNode], names: Iterable[str]) -> DiffNode | None:
        """A node after `new`, which have taken the place of one that writes `names`."""
        made = (*names, *(name for node in new for name in node.output_names))
        return self._outside(new, (next(iter(self._written.uses(name)), None) for name in made))

    def _outside(
        self, new: Sequence[OnnxNode], around: Iterable[OnnxNode | None]
    ) -> DiffNode | None:
        node = next((node for node in around if node is not None and node not in new), None)
        return None if node is None else self._node(node)

    def _node(self, node: OnnxNode) -> DiffNode:
        return DiffNode(
            operator=f"{node.domain}::{node.op_type}" if node.domain else node.op_type,
            name=node.name,
            inputs=tuple(self._value(name) if name else None for name in node.input_names),
            outputs=tuple(self._value(name) for name in node.output_names if name),
            attributes={
                attribute.name: _attribute_text(attribute) for attribute in node.proto.attribute
            },
        )

    def _value(self, name: str) -> DiffValue:
        fixed = self._fixed
        const = fixed.graph.consts.get(name, fixed.file.contents.weights.get(name))
        if const is not None:
            return _const_value(name, const)
        known = known_type(fixed.graph, name) or fixed.file.declared.get(name)
        if known is None:
            return self._replaced.get(name, DiffValue(name))
        dtype = dtype_of_element(known.element)
        return DiffValue(name, "" if dtype is None else dtype.value, known.dims)


def _rules(applied: Iterable[Applied]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(application.rule.name for application in applied))


def _tensor_value(tensor: SourceTensor) -> DiffValue:
    if tensor.const is not None:
        return _const_value(tensor.name, tensor.const)
    return DiffValue(tensor.name, tensor.element, tensor.dims)


def _const_value(name: str, const: ConstData) -> DiffValue:
    """A constant; with its data if that is short."""
    data = _data_text(const.numpy().tolist()) if prod(const.shape) <= _SMALL else ""
    return DiffValue(name, const.dtype.value, tuple(const.shape), data)


def _attribute_text(attribute: AttributeProto) -> str:
    """The value of an attribute; those that hold tensors or graphs by their kind alone.

    Outside functions a reference to an attribute of the caller has no value; it is shown as ONNX's
    text form writes it.
    """
    if attribute.ref_attr_name:
        return f"@{attribute.ref_attr_name}"
    if attribute.type in _HIDDEN:
        return f"<{AttributeProto.AttributeType.Name(attribute.type).lower()}>"
    return _data_text(helper.get_attribute_value(attribute))


def _data_text(value: object) -> str:
    """`[1,2]`, `0.8` or a text."""
    if isinstance(value, bytes):
        return value.decode("utf-8", "backslashreplace")
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, Iterable) and not isinstance(value, str):
        return f"[{','.join(map(_data_text, value))}]"
    return str(value)
