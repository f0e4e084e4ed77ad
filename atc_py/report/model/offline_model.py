"""Tables and JSON of `info` for an offline model."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from atc_py.report.model.memory_tables import memory_tables
from atc_py.report.model.pictures import picture_tables
from atc_py.report.model.quant_bias import bias_rows
from atc_py.report.model.semantics import semantics_tables
from atc_py.report.tables import Table, format_bytes
from atc_py.results.cann_nodes import read_semantics
from atc_py.results.memory_facts import memory_facts
from atc_py.results.picture_inputs import picture_inputs

if TYPE_CHECKING:
    from collections.abc import Mapping

    from atc_py.package.schema import OmModel, OmPort

__all__ = ["model_json", "model_tables"]


def model_tables(
    description: OmModel, file_bytes: int, report: Mapping[str, object]
) -> list[Table]:
    """Return summary, inputs and outputs, operators, memory of an offline model."""
    return [
        _summary(description, file_bytes, report),
        *semantics_tables(read_semantics(report, description.name)),
        _ports(description),
        *picture_tables(picture_inputs(description)),
        _operators(description),
        *memory_tables(memory_facts(description)),
    ]


def model_json(description: OmModel, file_bytes: int, report: Mapping[str, object]) -> object:
    """Return the same as JSON values, with the compilation's own report."""
    memory = memory_facts(description)
    return {
        "name": description.name,
        "producer": description.producer,
        "format_version": description.format_version,
        "soc": description.soc,
        "options": description.options,
        "inputs": [_port_json(description, port) for port in description.inputs],
        "outputs": [_port_json(description, port) for port in description.outputs],
        "aipp": [each.as_json() for each in picture_inputs(description)],
        "operators": dict(sorted(Counter(node.op for node in description.nodes).items())),
        "members": len(description.members),
        "file_bytes": file_bytes,
        "memory": None if memory is None else memory.as_json(),
        "report": dict(report),
    }


def _summary(description: OmModel, file_bytes: int, report: Mapping[str, object]) -> Table:
    """Return the table of a model's identity, target and size."""
    weights = sum(
        member.size for name, member in description.members.items() if name.startswith("weights/")
    )
    options = ", ".join(f"{key} {value}" for key, value in sorted(description.options.items()))
    kernels = {node.kernel for node in description.nodes if node.kernel is not None}
    rows = (
        ("graph", description.name),
        ("written by", f"{description.producer}, format {description.format_version}"),
        ("SoC", description.soc),
        ("options", options),
        *bias_rows(report),
        ("nodes", str(len(description.nodes))),
        ("kernel stubs", str(len(kernels))),
        ("weights", format_bytes(weights)),
        ("file", format_bytes(file_bytes)),
    )
    return Table("Offline model of atc-py (not Huawei's format)", ("", ""), rows)


def _ports(description: OmModel) -> Table:
    """Return inputs and outputs with their types."""
    rows = [
        (kind, port.name, *_type(description, port))
        for kind, ports in (("input", description.inputs), ("output", description.outputs))
        for port in ports
    ]
    return Table("Inputs and outputs", ("", "name", "dtype", "shape", "format"), tuple(rows))


def _type(description: OmModel, port: OmPort) -> tuple[str, str, str]:
    """Return dtype, shape and format of a port as text."""
    tensor = description.tensors[port.tensor]
    return (
        tensor.dtype,
        ",".join("?" if dim is None else str(dim) for dim in tensor.shape),
        tensor.format,
    )


def _port_json(description: OmModel, port: OmPort) -> dict[str, object]:
    """Return a port as JSON values."""
    tensor = description.tensors[port.tensor]
    return {
        "name": port.name,
        "dtype": tensor.dtype,
        "shape": tensor.shape,
        "format": tensor.format,
    }


def _operators(description: OmModel) -> Table:
    """Return operators with engine and count, the most frequent first."""
    counts = Counter((node.op, node.engine) for node in description.nodes)
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    rows = tuple((op, engine, str(count)) for (op, engine), count in ranked)
    return Table("Operators", ("operator", "engine", "count>"), rows)
