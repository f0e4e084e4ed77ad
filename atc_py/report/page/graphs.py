"""The two graphs of a model as the page draws them: rows of a fixed order, values by position."""

from collections.abc import Iterable, Mapping

from atc_py.onnx_graph.source import FileGraph, SourceNode
from atc_py.package.schema import OmModel, OmNode, OmTensor
from atc_py.report.model.records import recorded_text
from atc_py.report.page.words import in_both, name_text
from atc_py.results.compiled_model import CompiledModel


class _Positions:
    """Positions of names, in the order in which they are first asked for."""

    def __init__(self) -> None:
        self.names: dict[str, int] = {}

    def of(self, names: Iterable[str]) -> list[int]:
        return [self.names.setdefault(name, len(self.names)) for name in names]


def source_json(file_graph: FileGraph) -> dict[str, object]:
    """The graph of the ONNX file.

    Nodes are [position in the file, name, operator, inputs, outputs, attributes]; values are
    [name, dtype, dims, 1 for a constant].
    """
    positions = _Positions()
    inputs, outputs = positions.of(file_graph.inputs), positions.of(file_graph.outputs)
    nodes = [_source_node(node, positions) for node in file_graph.nodes]
    values = []
    for name in positions.names:
        known = file_graph.values.get(name)
        row = [name_text(name)]
        values.append(
            row
            if known is None
            else [*row, known.element, None if known.dims is None else list(known.dims)]
            + ([1] if name in file_graph.constants else [])
        )
    return {"inputs": inputs, "outputs": outputs, "nodes": nodes, "values": values}


def _source_node(node: SourceNode, positions: _Positions) -> list[object]:
    domain = f"{node.domain}::" if node.domain else ""
    return [
        node.index,
        name_text(node.name),
        name_text(f"{domain}{node.op_type}"),
        positions.of(tensor.name for tensor in node.inputs if tensor),
        positions.of(tensor.name for tensor in node.outputs if tensor),
        {name_text(key): name_text(str(text)) for key, text in node.attributes.items()},
    ]


def compiled_json(model: CompiledModel) -> dict[str, object]:
    """The compiled graph.

    Nodes are [name, operator, engine, inputs, outputs, attributes, kernel, positions of the nodes
    in the file that they compute, launch, reason of the dtypes]; values are
    [name, dtype, dims, 1 for a constant, format, storage, place in memory].
    """
    description = model.description
    reasons = _reasons(model.report)
    return {
        "soc": name_text(description.soc),
        "inputs": [port.tensor for port in description.inputs],
        "outputs": [port.tensor for port in description.outputs],
        "ports": [name_text(port.name) for port in (*description.inputs, *description.outputs)],
        "nodes": [_compiled_node(node, reasons) for node in description.nodes],
        "values": [_tensor(description, at) for at in range(len(description.tensors))],
        "arena": None if description.memory is None else description.memory.arena,
    }


def _reasons(report: Mapping[str, object]) -> dict[str, str]:
    found: dict[str, str] = {}
    for part, rows, key in (
        ("precision", "nodes", "rule"), ("precision", "casts", "reason"),
        ("layout", "trans_data", "reason"),
    ):  # fmt: skip
        record = report.get(part)
        listed = record.get(rows) if isinstance(record, dict) else None
        for row in listed if isinstance(listed, list) else ():
            if isinstance(row, dict) and row.get(key):
                found[str(row.get("name"))] = str(row[key])
    return found


def _compiled_node(node: OmNode, reasons: Mapping[str, str]) -> list[object]:
    return [
        name_text(node.name),
        name_text(node.op),
        node.engine,
        node.inputs,
        node.outputs,
        {name_text(key): name_text(_plain(value)) for key, value in node.attributes.items()},
        name_text(node.kernel or ""),
        [origin.index for origin in node.origins],
        node.scope,
        in_both(recorded_text(reasons[node.name])) if node.name in reasons else "",
    ]


def _plain(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, list) else str(value)


def _tensor(description: OmModel, at: int) -> list[object]:
    tensor = description.tensors[at]
    place = "" if description.memory is None else description.memory.places[at]
    return [
        name_text(tensor.name),
        tensor.dtype,
        tensor.shape,
        int(tensor.member is not None),
        tensor.format,
        _storage(tensor),
        place,
    ]


def _storage(tensor: OmTensor) -> str:
    found = tensor.storage
    if found is None:
        return ""
    groups = f", groups {found.groups}" if found.groups > 1 else ""
    return f"{found.format}{groups}" + (f", C0 {found.c0}" if found.c0 else "")
