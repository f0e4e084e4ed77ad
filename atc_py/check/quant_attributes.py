"""Attributes of AscendQuant that ATC or the kernel does not obey."""

from collections.abc import Iterator

from atc_py.check.condition_words import soc_words
from atc_py.check.findings import Finding, Standing
from atc_py.diag import Place
from atc_py.diag.codes import QUANT_ROOT_RESET, QUANT_ROUND_MODE
from atc_py.onnx_graph.source import SourceNode
from atc_py.target import Soc
from atc_py.tensor.dtypes import DType
from atc_py.text import Text

_TARGETS = {"INT8": DType.INT8, "INT16": DType.INT16, "INT4": DType.INT4}

_KINDS = {
    "sqrt_mode": (
        QUANT_ROOT_RESET,
        Text(
            "write the whole factor as scale, with sqrt_mode 0; the simulator multiplies as "
            "the file says"
        ),
    ),
    "round_mode": (
        QUANT_ROUND_MODE,
        Text("quantize with round_mode Round, or choose another --soc"),
    ),
}
"""Code and advice by attribute."""


def attribute_findings(view: SourceNode, soc: Soc, path: str) -> Iterator[Finding]:
    """Yield a finding for each attribute of a node that a device does not obey."""
    if view.op_type != "AscendQuant":
        return
    if view.attributes.get("sqrt_mode", 0):
        allowed = Text("sqrt_mode of AscendQuant must be 0 for ATC, which reads scale alone")
        yield _finding(view, path, "sqrt_mode", allowed, _root(view))
    mode = view.attributes.get("round_mode", "Round")
    target = _TARGETS.get(str(view.attributes.get("dst_type", "INT8")))
    if mode != "Round" and target is not None and target not in soc.quant_rules.obeys_round_mode:
        allowed = Text("round_mode of AscendQuant must be Round for {target}", target=target.value)
        observed = Text("{mode}, which the kernel ignores: it rounds ties to even", mode=mode)
        yield _finding(view, path, "round_mode", allowed, observed, soc_words(soc.name))


def _root(view: SourceNode) -> Text:
    scale = view.attributes.get("scale", 0.0)
    factor = f"{scale:g}" if isinstance(scale, int | float) else str(scale)
    return Text("1: a device multiplies by {factor} once, not twice", factor=factor)


def _finding(
    view: SourceNode,
    path: str,
    attribute: str,
    allowed: Text,
    observed: Text,
    when: Text | None = None,
) -> Finding:
    code, help_ = _KINDS[attribute]
    return Finding(
        code=code,
        standing=Standing.ACCURACY,
        rule=f"AscendQuant/obeyed/{attribute}",
        source="",
        place=Place(path, view.index, view.name, view.op_type, f"attribute {attribute}"),
        scope=view.scope,
        observed=observed,
        allowed=allowed,
        help=help_,
        when=when or Text(""),
    )
