"""A quantized model that was rewritten into another form, as tables."""

from atc_py.onnx_graph.source import Outcome
from atc_py.report.check.words import LEVELS
from atc_py.report.fix.nodes import fixed_nodes_table
from atc_py.report.tables import Table, format_bytes, share_text
from atc_py.results.quantization import Quantization
from atc_py.target import socs
from atc_py.text import Text, plural, verbatim
from atc_py.text.language import language, spoken

_OUTCOMES = {Outcome.FLOAT: "in floats", Outcome.KEPT: "unchanged"}


def quantization_tables(done: Quantization) -> list[Table]:
    """The tables that `quantize` prints."""
    before, after = format_bytes(done.bytes_before), format_bytes(done.bytes_after)
    rows = [
        ("layers on int8", share_text(done.integer_layers, done.layers)),
        *_rolled_back(done),
        *(
            [("biases read", done.read_as.text.in_language(language()))]
            if done.read_as is not None
            else []
        ),
        *([("biases written", done.written_as.value)] if done.written_as is not None else []),
        ("opset", str(done.opset)),
        ("operator list", _list_text(done)),
        ("model", f"{done.model} ({before})"),
        ("output", f"{done.output} ({after})"),
    ]
    if done.data is not None:
        rows.append(("weights", str(done.data)))
    others = _other_nodes_table(done)
    fixed = [fixed_nodes_table(done.fixed)] if done.fixed else []
    return [*fixed, *([others] if others.rows else []), Table("Result", ("", ""), tuple(rows))]


def _list_text(done: Quantization) -> str:
    """`base: supported`, or how many errors the rules of the list find in what was written."""
    verdict = done.listed
    if not verdict.errors:
        return verbatim(f"{verdict.name}: ") + LEVELS[verdict.standing]
    return plural(
        verdict.errors,
        "{name}: {n} error; `atc-py check` names them",
        "{name}: {n} errors; `atc-py check` names them",
        name=verdict.name,
    )


def _rolled_back(done: Quantization) -> list[tuple[str, str]]:
    """The row on layers that some SoCs take back to float16; none where there are none."""
    if not done.rolled_back:
        return []
    rows = [soc for soc in socs() if soc.quant_rules.roll_back]
    limit = max(soc.quant_rules.roll_back for soc in rows)
    families = ", ".join(dict.fromkeys(soc.family.value for soc in rows))
    text = Text(
        "{rolled_back} of at most {limit} input channels, on {families}",
        rolled_back=done.rolled_back,
        limit=limit,
        families=families,
    )
    return [("run on float16", text)]


def _other_nodes_table(done: Quantization) -> Table:
    """The table of nodes that are not on int8, with reasons."""
    rows = tuple(
        (
            str(node.index),
            node.name,
            node.op_type,
            spoken(_OUTCOMES[node.outcome]),
            "" if node.reason is None else node.reason.in_language(language()),
        )
        for node in done.nodes
        if node.outcome is not Outcome.INTEGER
    )
    return Table("Not on int8", ("node>", "name", "operator", "", "because"), rows, said=(4,))
