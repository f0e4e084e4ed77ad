"""Opsets: the listed opset of a node, or the one in whose form it can be restated, or why none.

A node of a model at opset V is of the operator version in force there. If a listed opset has the
same version, it is the same operator. If not, the node may be restated at a listed opset where the
two definitions agree for this node: the same inputs and attributes, dtypes that both admit, what
is new at its default, or an input that became an attribute, or was one, and is constant.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import TypeAlias

import msgspec

from atc_py.check.alike import Reads
from atc_py.check.reading import READ_LIMIT
from atc_py.onnx_graph.source import (
    INTERNAL_PREFIX,
    AttributeSchema,
    FormalParameter,
    OperatorSchema,
    SchemaHistory,
    SourceAttr,
    SourceNode,
    SourceTensor,
)
from atc_py.spec import OpSpec
from atc_py.system import structs
from atc_py.tensor.shapes import element_count
from atc_py.text import Text

_NO_VERSION = Text("ONNX does not define it at any listed opset")

_LACKS = "version {listed} of {op}, which is listed, has no {part} as version {own} has"
_REQUIRES = "version {listed} of {op}, which is listed, requires {part}, version {own} does not"
_CHANGED = "{part} changed between version {listed} of {op}, which is listed, and version {own}"


class OpsetPlacement(msgspec.Struct, frozen=True):
    """The listed opset at which a node stands."""

    opset: int  # the opset; of a custom operator, its domain's version
    node: SourceNode  # the node as the file has it
    # the node in the form of that opset; the node itself where nothing had to be restated
    view: SourceNode
    spec: OpSpec  # the specification that has the opset

    @property
    def restated(self) -> bool:
        """True if the form is of another version of the operator than the file's."""
        return self.view is not self.node


class OpsetRefusal(msgspec.Struct, frozen=True):
    """Reason why a node fits no listed opset."""

    reason: Text


_Changed: TypeAlias = "SourceNode | Text"


def place_node(
    view: SourceNode, spec: OpSpec, history: SchemaHistory
) -> OpsetPlacement | OpsetRefusal:
    if spec.custom or view.opset in spec.opsets:
        return OpsetPlacement(view.opset, view, view, spec)
    own = _definition(view, spec, history)
    if isinstance(own, Text):
        return OpsetRefusal(own)
    versions = list(_listed(spec, view.opset, history))
    for opset, listed in versions:
        if listed.since_version == own.since_version:
            return OpsetPlacement(opset, view, view, spec)
    refusals: list[Text] = []
    for opset, listed in versions:
        form = _Restating(view, spec, own, listed).at(opset)
        if not isinstance(form, Text):
            return OpsetPlacement(opset, view, form, spec)
        refusals.append(form)
    return OpsetRefusal(refusals[0] if refusals else _NO_VERSION)


def restated_at(
    view: SourceNode,
    spec: OpSpec,
    history: SchemaHistory,
    opset: int,
    moved: Mapping[int, str],
) -> SourceNode | Text:
    """`view` in the form of the version in force at `opset`, or why it has none.

    `moved` are inputs of the new form, by position, that are made of attributes of `view`; they are
    left out of the form that is returned.
    """
    own, new = _definition(view, spec, history), history.at(spec.op, opset)
    if isinstance(own, Text):
        return own
    if new is None or new.deprecated:
        return _NO_VERSION
    names = {new.inputs[position].name for position in moved}
    left = {name: value for name, value in view.attributes.items() if name not in names}
    return _Restating(
        structs.replace(view, attributes=left), spec, own, new, moved, strict=True
    ).at(opset)


def _definition(view: SourceNode, spec: OpSpec, history: SchemaHistory) -> OperatorSchema | Text:
    newest, opset = history.newest_opset, view.opset
    if opset > newest:
        return Text("the newest opset that is known here is {newest}", newest=newest)
    own = history.at(spec.op, opset)
    if own is None or own.deprecated:
        return Text("ONNX does not define {op} at opset {opset}", op=spec.op, opset=opset)
    if opset < spec.restated_since:
        return Text(
            "before opset {restated_since} the operator had different semantics",
            restated_since=spec.restated_since,
        )
    return own


def _listed(
    spec: OpSpec, opset: int, history: SchemaHistory
) -> Iterator[tuple[int, OperatorSchema]]:
    """Yield a listed opset for each listed version of the operator, nearest to `opset` first."""
    seen: set[int] = set()
    for item in sorted(spec.opsets, key=lambda listed: (abs(listed - opset), -listed)):
        schema = history.at(spec.op, item)
        if schema is not None and schema.since_version not in seen:
            seen.add(schema.since_version)
            yield item, schema


class _Restating:
    """One node, between its own version and a listed one."""

    def __init__(
        self,
        view: SourceNode,
        spec: OpSpec,
        own: OperatorSchema,
        listed: OperatorSchema,
        moved: Collection[int] = (),
        *,
        strict: bool = False,
    ) -> None:
        self._view = view
        self._spec = spec
        self._own = own
        self._listed = listed
        self._moved = moved
        self._strict = strict

    def at(self, opset: int) -> _Changed:
        """The node in the form of the listed version, or why it has none."""
        attributes = self._attributes()
        if isinstance(attributes, Text):
            return attributes
        inputs = self._inputs(attributes)
        if isinstance(inputs, Text):
            return inputs
        complaint = self._missing_parts(attributes, inputs) or self._outputs()
        if complaint is not None:
            return complaint
        return structs.replace(
            self._view,
            opset=opset,
            since_version=self._listed.since_version,
            inputs=inputs,
            attributes=attributes,
        )

    def _attributes(self) -> dict[str, SourceAttr] | Text:
        kept: dict[str, SourceAttr] = {}
        changed = self._changed_default()
        if changed is not None:
            return changed
        for name, value in self._view.attributes.items():
            own, listed = self._own.attributes.get(name), self._listed.attributes.get(name)
            if own is None or name.startswith(INTERNAL_PREFIX):
                continue
            if listed is not None and listed.type != own.type:
                return self._refusal(_CHANGED, Text("the type of attribute {name}", name=name))
            row = self._spec.attribute(name)
            judged = not self._strict and row is not None and self._spec.is_unlisted(row)
            if listed is not None or judged:
                kept[name] = value
            # What the listed version lacks goes where the own one means the same without it.
            elif value != own.default:
                return self._refusal(_LACKS, Text("attribute {name}", name=name))
        return self._unset_attributes(kept) or kept

    def _unset_attributes(self, kept: Mapping[str, SourceAttr]) -> Text | None:
        for name, schema in self._own.attributes.items():
            # The listed version computes what the specification allows, not what is the default now.
            row = self._spec.attribute(name)
            allowed = row.one_of if self._strict and row and self._spec.is_unlisted(row) else ()
            if allowed and name not in kept and schema.default not in allowed:
                return self._refusal(_LACKS, Text("attribute {name}", name=name))
        for name, listed in self._listed.attributes.items():
            own = self._own.attributes.get(name)
            if name not in kept and own is not None and own.default != listed.default:
                return self._refusal(_CHANGED, Text("the default of attribute {name}", name=name))
        return None

    def _changed_default(self) -> Text | None:
        """The refusal of a new attribute whose default is not what the older version means.

        The specification has a row for such an attribute, with the values that mean it.
        """
        for name, own in self._own.attributes.items():
            row = self._spec.attribute(name)
            if not self._strict or name in self._listed.attributes or row is None or not row.one_of:
                continue
            value = self._view.attributes.get(name, own.default)
            if value is not None and value not in row.one_of and not isinstance(value, tuple):
                return self._refusal(
                    _LACKS, Text("attribute {name} with {value}", name=name, value=value)
                )
        return None

    def _inputs(self, attributes: dict[str, SourceAttr]) -> tuple[SourceTensor | None, ...] | Text:
        """The inputs by the listed version's positions; some go into `attributes`."""
        placed: dict[int, SourceTensor] = {}
        for position, tensor in enumerate(self._view.inputs):
            if tensor is None:
                continue
            formal = _formal_at(self._own.inputs, position)
            if formal is None:
                return self._refusal(_LACKS, Text("input {at}", at=position))
            target = self._position(formal, position)
            if target is not None:
                if not self._accepts_dtype(tensor, target):
                    what = Text(
                        "{element} for input {name}", element=tensor.element, name=formal.name
                    )
                    return self._refusal(_LACKS, what)
                placed[target] = tensor
                continue
            schema = self._listed.attributes.get(formal.name)
            value = None if schema is None else _as_attribute(tensor, schema)
            if value is None:
                if schema is None:
                    return self._refusal(_LACKS, Text("input {at}", at=formal.name))
                return Text(
                    "{name} is an attribute in version {listed} of {op}, which is listed, and an "
                    "input that is not constant here",
                    name=formal.name,
                    listed=self._listed.since_version,
                    op=self._spec.op,
                )
            # An empty list of axes means the same as an absent one, but older versions lack the form.
            if value != ():
                attributes[formal.name] = value
        count = max(placed, default=-1) + 1
        return tuple(placed.get(position) for position in range(count))

    def _accepts_dtype(self, tensor: SourceTensor, target: int) -> bool:
        formal = _formal_at(self._listed.inputs, target)
        if formal is None or not tensor.element or tensor.element in formal.elements:
            return True
        row = self._spec.operand(formal.name)
        listed = row and self._spec.dtypes_of(row)
        return bool(listed and tensor.dtype in listed)

    def _position(self, formal: FormalParameter, position: int) -> int | None:
        """The listed version's position of the input: by name, else the old one."""
        names = [item.name for item in self._listed.inputs]
        if formal.variadic:
            return position if _formal_at(self._listed.inputs, position) else None
        if formal.name in names:
            return names.index(formal.name)
        own = {item.name for item in self._own.inputs}
        renamed = position < len(names) and names[position] not in own
        return position if renamed and formal.name not in self._listed.attributes else None

    def _missing_parts(
        self, attributes: dict[str, SourceAttr], inputs: tuple[SourceTensor | None, ...]
    ) -> Text | None:
        for name, schema in self._listed.attributes.items():
            if schema.required and name not in attributes:
                return self._refusal(_REQUIRES, Text("attribute {name}", name=name))
        for position, formal in enumerate(self._listed.inputs):
            there = position < len(inputs) and inputs[position] is not None
            there = there or position in self._moved
            row = self._spec.operand(formal.name)
            stands_in = row is not None and row.absent is not None
            if not (there or formal.optional or formal.variadic or stands_in):
                return self._refusal(_REQUIRES, Text("input {at}", at=formal.name))
        return None

    def _outputs(self) -> Text | None:
        for position, tensor in enumerate(self._view.outputs):
            if tensor is not None and _formal_at(self._listed.outputs, position) is None:
                formal = _formal_at(self._own.outputs, position)
                name = formal.name if formal else str(position)
                return self._refusal(_LACKS, Text("output {at}", at=name))
        return None

    def _refusal(self, template: str, part: Text) -> Text:
        own, listed = self._own.since_version, self._listed.since_version
        return Text(template, listed=listed, own=own, op=self._spec.op, part=part)


def _formal_at(formals: tuple[FormalParameter, ...], position: int) -> FormalParameter | None:
    """The formal parameter at `position`; a variadic last one takes all further ones."""
    if position < len(formals):
        return formals[position]
    return formals[-1] if formals and formals[-1].variadic else None


def _as_attribute(tensor: SourceTensor, schema: AttributeSchema) -> SourceAttr | None:
    """The data of a constant as an attribute's value, or None where it has no such form."""
    if tensor.const is None or element_count(tensor.const.shape) > READ_LIMIT:
        return None
    data = Reads.data(tensor.const).reshape(-1)
    if schema.type in {"ints", "floats"}:
        return tuple(data.tolist())
    if schema.type in {"int", "float"} and data.size == 1:
        number: int | float = data[0].item()
        return int(number) if schema.type == "int" else float(number)
    return None
