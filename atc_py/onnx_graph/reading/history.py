"""ONNX's operators through their versions, as plain values."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache, cached_property
from typing import Any

from atc_py.onnx_graph.source import AttributeSchema, FormalParameter, OperatorSchema
from atc_py.onnx_graph.source.schema import Default

_ELEMENTS = {"float": "float32", "double": "float64"}
"""Element types that atc-py spells in another way than ONNX."""


class OnnxHistory:
    """ONNX's own operators; each is looked up once, on demand."""

    def __init__(self) -> None:
        self._versions: dict[str, tuple[OperatorSchema, ...]] = {}

    @cached_property
    def newest_opset(self) -> int:
        """The newest opset that the installed onnx knows."""
        import onnx

        return onnx.defs.onnx_opset_version()

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Types of all operators of ONNX's own domain, also of those that are deprecated."""
        import onnx

        every = onnx.defs.get_all_schemas_with_history()
        return tuple(sorted({schema.name for schema in every if not schema.domain}))

    def at(self, op_type: str, opset: int) -> OperatorSchema | None:
        """The definition in force at an opset of ONNX's own domain, or None.

        Once an opset deprecates an operator, it is the deprecated definition.
        """
        older = [row for row in self.versions(op_type) if row.since_version <= opset]
        return older[-1] if older else None

    def versions(self, op_type: str) -> tuple[OperatorSchema, ...]:
        """Every version, oldest first; empty for an operator that ONNX does not have."""
        if op_type not in self._versions:
            schemas = [_schema(definition) for definition in _definitions(op_type)]
            if not schemas:  # names come from files: those that mean nothing are not kept
                return ()
            self._versions[op_type] = tuple(schemas)
        return self._versions[op_type]


@cache
def history() -> OnnxHistory:
    return OnnxHistory()


def _definitions(op_type: str) -> Sequence[Any]:
    import onnx

    definitions: list[Any] = []
    opset = onnx.defs.onnx_opset_version()
    while opset > 0:
        try:
            definitions.append(onnx.defs.get_schema(op_type, opset))
        except (onnx.defs.SchemaError, TypeError, UnicodeError):
            break
        opset = definitions[-1].since_version - 1
    return definitions[::-1]


def _schema(definition: Any) -> OperatorSchema:
    rows = (
        AttributeSchema(entry.name, entry.type.name.lower(), entry.required, _default(entry))
        for entry in definition.attributes.values()
    )
    return OperatorSchema(
        op=definition.name,
        since_version=definition.since_version,
        inputs=_parameters(definition.inputs),
        outputs=_parameters(definition.outputs),
        attributes={row.name: row for row in sorted(rows, key=lambda row: row.name)},
        deprecated=definition.deprecated,
        body=_body(definition),
    )


def _parameters(formal: Iterable[Any]) -> tuple[FormalParameter, ...]:
    return tuple(
        FormalParameter(
            name=row.name,
            elements=frozenset(_element(text) for text in row.types),
            type_name=row.type_str,
            optional=row.option.name == "Optional",
            variadic=row.option.name == "Variadic",
        )
        for row in formal
    )


def _element(text: str) -> str:
    """`float32` of `tensor(float)`; types of other things than tensors stay ONNX's text."""
    if not text.startswith("tensor("):
        return text
    element = text[len("tensor(") : -1]
    return _ELEMENTS.get(element, element)


def _default(row: Any) -> Default | None:
    """An attribute's default; None where there is none, or one without a literal form."""
    import onnx

    if not row.default_value.name:
        return None
    value = onnx.helper.get_attribute_value(row.default_value)
    items = value if isinstance(value, list) else [value]
    plain = [item.decode() if isinstance(item, bytes) else item for item in items]
    if not all(isinstance(item, int | float | str) for item in plain):
        return None
    default: Default = tuple(plain) if isinstance(value, list) else plain[0]
    return default


def _body(definition: Any) -> tuple[str, ...]:
    """Operators of the function that defines an operator, each once, or none."""
    if definition.has_function:
        nodes = definition.function_body.node
    elif definition.has_context_dependent_function:
        nodes = _body_of_plain_node(definition)
    else:
        return ()
    return tuple(dict.fromkeys(node.op_type for node in nodes))


def _body_of_plain_node(definition: Any) -> Iterable[Any]:
    """The body for a node with every input, all float32, and 1 for required numbers.

    Such bodies depend on the node; this one represents them. Empty if onnx needs more.
    """
    import onnx

    inputs = [row.name for row in definition.inputs]
    outputs = [row.name for row in definition.outputs]
    rows = definition.attributes.values()
    required: Any = {row.name: 1 for row in rows if row.required and row.type.name == "INT"}
    node = onnx.helper.make_node(definition.name, inputs, outputs, **required)
    float32 = onnx.helper.make_tensor_type_proto(onnx.TensorProto.FLOAT, None).SerializeToString()
    opset = max(definition.context_dependent_function_opset_versions)
    try:
        text = definition.get_context_dependent_function_with_opset_version(
            opset, node.SerializeToString(), [float32] * len(inputs)
        )
        nodes: Iterable[Any] = onnx.FunctionProto.FromString(text).node
    except Exception:  # noqa: BLE001  (onnx raises whatever its builders happen to raise)
        return ()
    return nodes
