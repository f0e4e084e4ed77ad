"""Hints for a node whose operator is not on the list."""

import re
from collections.abc import Sequence

from atc_py.check.alternatives import EXPORTED, FUSED, WRITTEN
from atc_py.onnx_graph.source import OperatorSchema, SchemaHistory
from atc_py.spec import ONNX_DOMAINS, Library
from atc_py.text import SEMICOLON, Text, plural

NEWEST_LISTED = 13
"""The newest opset of the list; a test holds that. Reading it would load every file."""

_ONNXRUNTIME = re.compile(r"com\.(microsoft|ms)(\.|\Z)")
_TRAINING = re.compile(r"ai\.onnx\.(preview\.)?training\Z")
_PYTORCH = re.compile(r"(org\.pytorch\.)?(_?aten|prim|_caffe2)\Z")
_FUNCTIONS = re.compile(r"(pkg\.)?(onnxscript|torch)\b")
_QUANTIZED = re.compile(r"^(Q[A-Z]|Quantize|Dequantize|DynamicQuantize)|Integer|NBits")

_WRITE = Text("write it with listed operators, or run this part of the model on the host")
_LISTING = Text("`atc-py ops list` shows all listed ones")


def hint_for_unlisted(op_type: str, domain: str, history: SchemaHistory, library: Library) -> Text:
    """The help of a finding about an operator that `library` does not have.

    Args:
        op_type: the operator, as the file spells it.
        domain: its domain; "" is ONNX's own.
        history: ONNX's definitions.
        library: the operators listed.

    Returns:
        A sentence or two, without full stop.
    """
    if domain not in ONNX_DOMAINS:
        return _of_domain(op_type, domain, history, library)
    versions = history.versions(op_type)
    if not versions:
        return _of_no_domain(op_type, library)
    return _of_onnx(op_type, versions, library)


# ONNX's own operators ---------------------------------------------------------------------------


def _of_onnx(op_type: str, versions: Sequence[OperatorSchema], library: Library) -> Text:
    first = versions[0].since_version
    late = first > NEWEST_LISTED
    if late and op_type in EXPORTED:
        return Text(
            "ONNX has {op_type} since opset {first}; export the model at opset "
            "{newest_listed}, and the exporter writes it as listed operators ({exported})",
            op_type=op_type,
            first=first,
            newest_listed=NEWEST_LISTED,
            exported=EXPORTED[op_type],
        )
    advice = WRITTEN.get(op_type) or _body(versions[-1].body, library) or _WRITE
    if not late:
        return advice
    since = Text(
        "ONNX has {op_type} since opset {first}, the newest opset listed is {newest_listed}",
        op_type=op_type,
        first=first,
        newest_listed=NEWEST_LISTED,
    )
    return since + SEMICOLON + advice


def _body(body: Sequence[str], library: Library) -> Text | None:
    """The text of the function that defines an operator; None where ONNX has none."""
    if not body:
        return None
    missing = [name for name in body if library.find(name) is None]
    names = ", ".join(body)
    if not missing:
        return Text(
            "ONNX defines it as a function of listed operators ({names}); "
            "onnx.inliner.inline_selected_functions inlines them",
            names=names,
        )
    return plural(
        len(missing),
        "ONNX defines it as a function of {names}, of which {rest} is not listed either; write "
        "these another way",
        "ONNX defines it as a function of {names}, of which {rest} are not listed either; write "
        "these another way",
        names=names,
        rest=", ".join(missing),
    )


def _of_no_domain(op_type: str, library: Library) -> Text:
    """The hint for a name that ONNX does not have: another case, a typo, a fused operator."""
    if op_type in FUSED:
        return _fused_operator(op_type)
    near = library.near(op_type)
    same = [name for name in near if name.casefold() == op_type.casefold()]
    if near:
        names = same or near
        return Text(
            "ONNX has no operator of that name; did you mean {names}?",
            names=Text(" or ").join(names),
        )
    unknown = Text("ONNX has no operator {op}; {advice}", op=op_type, advice=_WRITE)
    return unknown + SEMICOLON + _LISTING


# Operators of other domains ---------------------------------------------------------------------


def _of_domain(op_type: str, domain: str, history: SchemaHistory, library: Library) -> Text:
    """The hint for an operator of another domain than ONNX's."""
    if _ONNXRUNTIME.match(domain):
        return _of_onnxruntime(op_type)
    for pattern, words in _DOMAINS:
        if pattern.match(domain):
            return words
    if library.find(op_type) is not None or history.versions(op_type):
        return Text(
            "an operator of domain {domain} differs from ONNX's {op_type}; where that is "
            "meant, leave the node's domain empty",
            domain=domain,
            op_type=op_type,
        )
    near = [name for name in library.near(op_type) if _is_custom(name, library)]
    if near:
        return Text(
            "among custom operators, {names} is listed; is that the intended one?",
            names=Text(" or ").join(near),
        )
    return Text(
        "operators of domain {domain} are not ONNX operators; {advice}",
        domain=domain,
        advice=_WRITE,
    )


def _is_custom(name: str, library: Library) -> bool:
    """True if a listed operator is a custom one."""
    spec = library.find(name)
    return spec is not None and spec.custom


def _of_onnxruntime(op_type: str) -> Text:
    if op_type in FUSED:
        return _fused_operator(op_type)
    if _QUANTIZED.search(op_type):
        return WRITTEN["QuantizeLinear"]
    return Text(
        "{op} is an operator of onnxruntime, not of ONNX; export the model without "
        "onnxruntime's graph optimization, or write it with listed operators, or run this part of "
        "the model on the host",
        op=op_type,
    )


def _fused_operator(op_type: str) -> Text:
    """The hint for an operator that onnxruntime's graph optimization makes."""
    parts = FUSED[op_type]
    return Text(
        "onnxruntime's graph optimization makes {op_type} of listed operators such as "
        "{parts}; give the model as it was exported, before that optimization",
        op_type=op_type,
        parts=parts,
    )


_DOMAINS: tuple[tuple[re.Pattern[str], Text], ...] = (
    (
        re.compile(r"ai\.onnx\.ml\Z"),
        Text(
            "operators of ai.onnx.ml are those of classical machine learning, the list has "
            "ONNX's tensor operators only; run this part on the host"
        ),
    ),
    (
        _TRAINING,
        Text("operators of this domain belong to training; export the model for inference"),
    ),
    (
        _PYTORCH,
        Text(
            "it is PyTorch's own operator, which the exporter could not translate; export "
            "without the fallback to ATen, and write what then fails with operators that "
            "ONNX has"
        ),
    ),
    (
        _FUNCTIONS,
        Text(
            "it is a function of the exporter's; onnx.inliner.inline_local_functions inlines "
            "its body"
        ),
    ),
)
"""Known domains, and what to do about their operators."""
