"""Tables and JSON of `info` for an ONNX file."""

from collections.abc import Sequence

from atc_py.report.tables import Table, format_bytes
from atc_py.results.onnx_facts import OnnxFacts, OnnxPort
from atc_py.text import Text
from atc_py.text.language import spoken


def onnx_tables(facts: OnnxFacts) -> list[Table]:
    opsets = ", ".join(
        f"{domain or 'ai.onnx'} {version}" for domain, version in facts.opsets.items()
    )
    written = Text("{producer}, IR version {ir_version}").with_values(
        producer=facts.producer or Text("unknown", context="producer"), ir_version=facts.ir_version
    )
    summary = (
        ("graph", facts.name),
        ("written by", written),
        ("opsets", opsets),
        ("nodes", str(sum(operator.nodes for operator in facts.operators))),
        ("parameters", f"{facts.parameters:,}, {format_bytes(facts.weight_bytes)}"),
        ("file", format_bytes(facts.file_bytes)),
    )
    operators = tuple(
        (f"{each.domain}::{each.op}" if each.domain else each.op, str(each.nodes))
        for each in facts.operators
    )
    tables = [
        Table("Model", ("", ""), summary),
        _ports("Inputs", facts.inputs),
        _ports("Outputs", facts.outputs),
        Table("Operators", ("operator", "nodes>"), operators),
    ]
    if facts.external_data:
        rows = tuple(
            (each.file, str(each.tensors), format_bytes(each.bytes)) for each in facts.external_data
        )
        tables.append(Table("External data", ("file", "tensors>", "size>"), rows))
    return tables


def _ports(title: str, ports: Sequence[OnnxPort]) -> Table:
    rows = tuple((port.name, port.dtype or spoken("not stated"), _shape(port)) for port in ports)
    return Table(title, ("name", "dtype", "shape"), rows)


def _shape(port: OnnxPort) -> str:
    """`batch x 3 x 8 x 8`."""
    if port.shape is None:
        return spoken("any rank")
    return " x ".join(str(dim) or "?" for dim in port.shape) or spoken("scalar")
