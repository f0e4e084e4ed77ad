"""Tables and JSON of `info` for an offline model."""

from collections import Counter

from atc_py.package.reader import OfflineModel
from atc_py.package.schema import OmModel, OmPort
from atc_py.report.model.gears import gears_json, gears_table
from atc_py.report.model.memory_tables import memory_tables
from atc_py.report.model.pictures import picture_tables
from atc_py.report.model.quant_bias import bias_rows
from atc_py.report.model.semantics import semantics_tables
from atc_py.report.tables import Table, format_bytes
from atc_py.results.cann_nodes import read_semantics
from atc_py.results.memory_facts import memory_facts
from atc_py.results.picture_inputs import picture_inputs
from atc_py.text import Text
from atc_py.text.language import spoken


def model_tables(model: OfflineModel, file_bytes: int) -> list[Table]:
    """Return summary, gears, inputs and outputs, operators, memory of an offline model."""
    description = model.description
    gears = gears_table(model)
    return [
        _summary(model, file_bytes),
        *([] if gears is None else [gears]),
        *semantics_tables(read_semantics(model.report, description.name)),
        _ports(description),
        *picture_tables(picture_inputs(description)),
        _operators(description),
        *memory_tables(memory_facts(description)),
    ]


def model_json(model: OfflineModel, file_bytes: int) -> dict[str, object]:
    """Return the same as JSON values, with the compilation's own report."""
    description = model.description
    memory = memory_facts(description)
    return {
        "name": description.name,
        "producer": description.producer,
        "format_version": model.format_version,
        "soc": description.soc,
        "options": description.options,
        "inputs": [_port_json(description, port) for port in description.inputs],
        "outputs": [_port_json(description, port) for port in description.outputs],
        "aipp": [each.as_json() for each in picture_inputs(description)],
        "gears": gears_json(model),
        "operators": dict(sorted(Counter(node.op for node in description.nodes).items())),
        "members": len(description.members),
        "file_bytes": file_bytes,
        "memory": None if memory is None else memory.as_json(),
        "report": dict(model.report),
    }


def _summary(model: OfflineModel, file_bytes: int) -> Table:
    """Return the table of a model's identity, target and size."""
    description = model.description
    weights = sum(
        member.size for name, member in description.members.items() if name.startswith("weights/")
    )
    options = ", ".join(f"{key} {value}" for key, value in sorted(description.options.items()))
    kernels = {node.kernel for node in description.nodes if node.kernel is not None}
    rows = (
        ("graph", description.name),
        (
            "written by",
            Text(
                "{producer}, format {format_version}",
                producer=description.producer,
                format_version=model.format_version,
            ),
        ),
        ("SoC", description.soc),
        ("options", options),
        *bias_rows(model.report),
        ("nodes", str(len(description.nodes))),
        ("kernel stubs", str(len(kernels))),
        ("weights", format_bytes(weights)),
        ("file", format_bytes(file_bytes)),
    )
    return Table("Offline model of atc-py (not Huawei's format)", ("", ""), rows)


def _ports(description: OmModel) -> Table:
    """Return inputs and outputs with their types."""
    rows = [
        (spoken(kind), port.name, *_type(description, port))
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
