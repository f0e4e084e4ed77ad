"""One fusion pass on a graph in text form, with what it found."""

from collections.abc import Mapping

from atc_py.ir import Graph
from atc_py.ir.parser import parse_graph
from atc_py.ir.verifier import verify_graph
from atc_py.options.compile_options import PrecisionMode
from atc_py.passes.base import Pass, PassContext, PassFusions
from atc_py.passes.manager import verifier_rules
from atc_py.passes.precision.controls import Controls, Custom, NodeSettings
from atc_py.passes.precision.mix_lists import MixList
from atc_py.target import find_soc


def fuse(
    step: type[Pass],
    text: str,
    keep: frozenset[str] = frozenset(),
    custom: Mapping[str, Custom] | None = None,
    lists: Mapping[str, MixList] | None = None,
) -> tuple[Graph, PassFusions]:
    """Return the verified graph after one pass, and its record; the text is verified before.

    Args:
        step: the pass.
        text: a lowered graph.
        keep: source nodes that keep their dtypes.
        custom: dtypes that source nodes are given.
        lists: lists that operators are moved to.
    """
    graph = parse_graph(text)
    soc = find_soc("sim")
    verify_graph(graph, verifier_rules(soc))
    controls = Controls(
        keep=NodeSettings(dict.fromkeys(keep, True)),
        custom=NodeSettings(dict(custom or {})),
        lists=lists or {},
    )
    context = PassContext(soc, PrecisionMode.FORCE_FP16, "model.onnx", controls=controls)
    changes = step().run(graph, context)
    graph.sort()
    verify_graph(graph, verifier_rules(soc))
    record = context.fusions[step.row.name]
    assert record.effective == changes
    return graph, record


def changed(text: str, changes: Mapping[str, str]) -> str:
    """Return `text` with parts replaced, all of which must be there."""
    for old, new in changes.items():
        assert old in text, old
        text = text.replace(old, new)
    return text
