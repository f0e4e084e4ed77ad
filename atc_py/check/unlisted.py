"""Hints for a node whose operator is not on the list."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from atc_py.check.alternatives import EXPORTED, FUSED, WRITTEN
from atc_py.diag import SEMICOLON, Words
from atc_py.spec import ONNX_DOMAINS

if TYPE_CHECKING:
    from collections.abc import Sequence

    from atc_py.source import OperatorSchema, SchemaHistory
    from atc_py.spec import Library

__all__ = ["NEWEST_LISTED", "hint_for_unlisted"]

NEWEST_LISTED = 13
"""The newest opset of the list; a test holds that. Reading it would load every file."""

_ONNXRUNTIME = re.compile(r"com\.(microsoft|ms)(\.|\Z)")
_TRAINING = re.compile(r"ai\.onnx\.(preview\.)?training\Z")
_PYTORCH = re.compile(r"(org\.pytorch\.)?(_?aten|prim|_caffe2)\Z")
_FUNCTIONS = re.compile(r"(pkg\.)?(onnxscript|torch)\b")
_QUANTIZED = re.compile(r"^(Q[A-Z]|Quantize|Dequantize|DynamicQuantize)|Integer|NBits")

_WRITE = Words(
    "write it with listed operators, or run this part of the model on the host",
    "请用清单中的算子改写，或在主机侧执行这一部分",
)
_LISTING = Words("`atc-py ops list` shows all listed ones", "`atc-py ops list` 可列出全部清单算子")


def hint_for_unlisted(op_type: str, domain: str, history: SchemaHistory, library: Library) -> Words:
    """Return the help of a finding about an operator that `library` does not have.

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


def _of_onnx(op_type: str, versions: Sequence[OperatorSchema], library: Library) -> Words:
    """Return the hint for an operator that ONNX defines."""
    first = versions[0].since_version
    late = first > NEWEST_LISTED
    if late and op_type in EXPORTED:
        return Words(
            f"ONNX has {op_type} since opset {first}; export the model at opset {NEWEST_LISTED}, "
            f"and the exporter writes it as listed operators ({EXPORTED[op_type]})",
            f"ONNX 自 opset {first} 起才有 {op_type}；请以 opset {NEWEST_LISTED} 导出模型，"
            f"导出器会将其写为清单中的算子（{EXPORTED[op_type]}）",
        )
    advice = WRITTEN.get(op_type) or _body(versions[-1].body, library) or _WRITE
    if not late:
        return advice
    since = Words(
        f"ONNX has {op_type} since opset {first}, the newest opset listed is {NEWEST_LISTED}",
        f"ONNX 自 opset {first} 起才有 {op_type}，而清单最新为 opset {NEWEST_LISTED}",
    )
    return since + SEMICOLON + advice


def _body(body: Sequence[str], library: Library) -> Words | None:
    """Return the text of the function that defines an operator; None where ONNX has none."""
    if not body:
        return None
    missing = [name for name in body if library.find(name) is None]
    names = ", ".join(body)
    if not missing:
        return Words(
            f"ONNX defines it as a function of listed operators ({names}); "
            "onnx.inliner.inline_selected_functions inlines them",
            f"ONNX 以清单中的算子（{names}）定义该函数；"
            "可用 onnx.inliner.inline_selected_functions 展开",
        )
    rest = ", ".join(missing)
    return Words(
        f"ONNX defines it as a function of {names}, of which {rest} "
        f"{'is' if len(missing) == 1 else 'are'} not listed either; write these another way",
        f"ONNX 以 {names} 定义该函数，其中 {rest} 也不在清单中，需另行改写",
    )


def _of_no_domain(op_type: str, library: Library) -> Words:
    """Return the hint for a name that ONNX does not have: another case, a typo, a fused operator."""
    if op_type in FUSED:
        return _fused_operator(op_type)
    near = library.near(op_type)
    same = [name for name in near if name.casefold() == op_type.casefold()]
    if near:
        names = same or near
        return Words(
            f"ONNX has no operator of that name; did you mean {' or '.join(names)}?",
            f"ONNX 没有该名称的算子；可能是指 {' 或 '.join(names)}",
        )
    unknown = Words(
        f"ONNX has no operator {op_type}; {_WRITE.en}", f"ONNX 没有算子 {op_type}；{_WRITE.zh}"
    )
    return unknown + SEMICOLON + _LISTING


# Operators of other domains ---------------------------------------------------------------------


def _of_domain(op_type: str, domain: str, history: SchemaHistory, library: Library) -> Words:
    """Return the hint for an operator of another domain than ONNX's."""
    if _ONNXRUNTIME.match(domain):
        return _of_onnxruntime(op_type)
    for pattern, words in _DOMAINS:
        if pattern.match(domain):
            return words
    if library.find(op_type) is not None or history.versions(op_type):
        return Words(
            f"an operator of domain {domain} differs from ONNX's {op_type}; where that is "
            "meant, leave the node's domain empty",
            f"域 {domain} 中的算子不是 ONNX 的 {op_type}；若指 ONNX 的算子，请将该节点的域留空",
        )
    near = [name for name in library.near(op_type) if _is_custom(name, library)]
    if near:
        return Words(
            f"among custom operators, {' or '.join(near)} is listed; is that the intended one?",
            f"清单中的自定义算子有 {' 或 '.join(near)}，可能是指该算子",
        )
    return Words(
        f"operators of domain {domain} are not ONNX operators; {_WRITE.en}",
        f"域 {domain} 的算子不属于 ONNX；{_WRITE.zh}",
    )


def _is_custom(name: str, library: Library) -> bool:
    """Return True if a listed operator is a custom one."""
    spec = library.find(name)
    return spec is not None and spec.custom


def _of_onnxruntime(op_type: str) -> Words:
    """Return the hint for an operator of onnxruntime's own."""
    if op_type in FUSED:
        return _fused_operator(op_type)
    if _QUANTIZED.search(op_type):
        return WRITTEN["QuantizeLinear"]
    return Words(
        f"{op_type} is an operator of onnxruntime, not of ONNX; export the model without "
        f"onnxruntime's graph optimization, or {_WRITE.en}",
        f"{op_type} 是 onnxruntime 自有的算子，不属于 ONNX；请在不经 onnxruntime 图优化的情况下"
        f"导出模型，或{_WRITE.zh.removeprefix('请')}",
    )


def _fused_operator(op_type: str) -> Words:
    """Return the hint for an operator that onnxruntime's graph optimization makes."""
    parts = FUSED[op_type]
    return Words(
        f"onnxruntime's graph optimization makes {op_type} of listed operators such as {parts}; "
        "give the model as it was exported, before that optimization",
        f"{op_type} 由 onnxruntime 图优化融合而成，原为 {parts} 等清单算子；"
        "请使用导出后未经该优化的模型",
    )


_DOMAINS: tuple[tuple[re.Pattern[str], Words], ...] = (
    (
        re.compile(r"ai\.onnx\.ml\Z"),
        Words(
            "operators of ai.onnx.ml are those of classical machine learning, the list has ONNX's "
            "tensor operators only; run this part on the host",
            "ai.onnx.ml 的算子属于传统机器学习，清单只有 ONNX 的张量算子；请在主机侧执行这一部分",
        ),
    ),
    (
        _TRAINING,
        Words(
            "operators of this domain belong to training; export the model for inference",
            "该域的算子属于训练；请以推理模式导出模型",
        ),
    ),
    (
        _PYTORCH,
        Words(
            "it is PyTorch's own operator, which the exporter could not translate; export without "
            "the fallback to ATen, and write what then fails with operators that ONNX has",
            "这是 PyTorch 自有的算子，导出器未能转换；请关闭 ATen 回退后重新导出，"
            "并以 ONNX 已有的算子改写报错之处",
        ),
    ),
    (
        _FUNCTIONS,
        Words(
            "it is a function of the exporter's; onnx.inliner.inline_local_functions inlines "
            "its body",
            "这是导出器的函数；可用 onnx.inliner.inline_local_functions 展开其函数体",
        ),
    ),
)
"""Known domains, and what to do about their operators."""
