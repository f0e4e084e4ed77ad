"""The words of a check's reports: levels, verdicts, headings and counts, in both languages."""

from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

from atc_py.check.findings import Standing
from atc_py.diag import COLON, COMMA, SEMICOLON, Words
from atc_py.diag.codes import BAD_INPUT_SHAPE, DEVIATES_ON_CANN, REFUSED_BY_PARSER
from atc_py.options.compile_options import NEWEST_CANN
from atc_py.report.check.open_dims import deciding_text
from atc_py.report.escape import visible
from atc_py.spec.deviations import Certainty

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from atc_py.report.check.document import Candidates, CheckDocument, CheckedModel, Found

__all__ = [
    "CERTAINTIES",
    "COLUMNS",
    "HEADINGS",
    "LEVELS",
    "baseline_text",
    "fix_call",
    "fix_hint",
    "kept_text",
    "lists_text",
    "newer_text",
    "node_text",
    "observed_text",
    "shape_option",
    "verdict_text",
]

LEVELS = {
    Standing.ERROR: Words("error", "错误"),
    Standing.UNKNOWN: Words("unknown", "待定"),
    Standing.PARSER: Words("parser", "解析器"),
    Standing.LIST: Words("list", "清单"),
    Standing.REWRITE: Words("rewrite", "改写"),
    Standing.AICPU: Words("aicpu", "AI CPU"),
    Standing.ACCURACY: Words("accuracy", "精度"),
    Standing.SUPPORTED: Words("supported", "支持"),
}
"""Levels, printed before a finding."""

COLUMNS = {
    Standing.SUPPORTED: Words("supported", "支持"),
    Standing.ACCURACY: Words("accuracy", "精度"),
    Standing.AICPU: Words("AI CPU", "AI CPU"),
    Standing.REWRITE: Words("rewritten", "改写"),
    Standing.LIST: Words("off the list", "超出清单"),
    Standing.PARSER: Words("parser", "解析器"),
    Standing.UNKNOWN: Words("unknown", "待定"),
    Standing.ERROR: Words("unsupported", "不支持"),
}
"""Headings of counts of nodes, the best first."""

_BUSY = (Standing.LIST, Standing.REWRITE, Standing.AICPU, Standing.ACCURACY, Standing.UNKNOWN)
"""Levels that a verdict mentions in addition to errors."""

HEADINGS = {
    "all": Words("all", "全部"),
    "biases": Words("Biases of int8 layers", "int8 层的偏置"),
    "certainty": Words("certainty", "依据"),
    "filter": Words("Filter", "筛选"),
    "findings": Words("Findings", "检查结果"),
    "found": Words("found", "实际为"),
    "help": Words("help", "建议"),
    "known": Words("known", "已知"),
    "level": Words("Level", "级别"),
    "list": Words("operator list", "算子清单"),
    "lists": Words("Operator lists", "各算子清单"),
    "model": Words("model", "模型"),
    "network": Words("nodes", "节点"),
    "node": Words("node", "节点"),
    "note": Words("note", "说明"),
    "none": Words("No findings.", "未发现问题。"),
    "not_listed": Words("not listed", "不在清单中"),
    "operator": Words("operator", "算子"),
    "operators": Words("Operators", "算子"),
    "precision_mode": Words("precision mode", "精度模式"),
    "pattern": Words("%1 of %2 findings shown", "共 %2 条，显示 %1 条"),
    "rule": Words("rule", "规则"),
    "search": Words("Search names and values", "搜索名称和取值"),
    "soc": Words("SoC", "SoC"),
    "summary": Words("Summary", "汇总"),
    "taken_by": Words("taken by", "可用清单"),
    "fixed_by": Words("fixed by", "可改写"),
    "fix": Words("Fix", "改写"),
    "title": Words("Model check", "模型检查"),
    "total": Words("total", "合计"),
    "hidden": Words(
        "known findings are omitted; --verbose shows them", "已省略已知结果；--verbose 可显示"
    ),
    "undecided": Words("not decided", "无法判定"),
    "verdict": Words("verdict", "结论"),
}
"""Single words and short sentences."""

CERTAINTIES = {
    Certainty.PROVEN: Words("proven by published sources", "公开源码可证实"),
    Certainty.INFERRED: Words("inferred", "推断"),
}
"""Grounds of what is said of CANN."""

_TAILS = {
    Standing.LIST: Words("{n} taken against the list", "{n} 个超出清单但板卡可用"),
    Standing.REWRITE: Words("{n} rewritten", "{n} 个需改写"),
    Standing.AICPU: Words("{n} on the AI CPU", "{n} 个在 AI CPU 上运行"),
    Standing.ACCURACY: Words("{n} with other accuracy", "{n} 个精度可能有偏差"),
    Standing.UNKNOWN: Words("{n} not decided", "{n} 个无法判定"),
}


def verdict_text(model: CheckedModel, language: str, cann: int = NEWEST_CANN) -> str:
    """Return `not supported: 3 errors in 2 of 71 nodes; 4 rewritten, 1 on the AI CPU`.

    Args:
        model: the model.
        language: en or zh.
        cann: generation of CANN whose deviations were looked for.
    """
    verdict = Standing(model.verdict)
    counts = {Standing(name): count for name, count in model.node_counts.items()}
    head, on_cann = _head(model, verdict, counts), _on_cann(model, cann)
    if on_cann.en:
        supported = verdict not in {Standing.ERROR, Standing.UNKNOWN}
        head += (Words(", but ", "，但") if supported else SEMICOLON) + on_cann
    deviating = _nodes_with(model, DEVIATES_ON_CANN.id, Standing.ACCURACY)
    counts[Standing.ACCURACY] = counts.get(Standing.ACCURACY, 0) - deviating
    tails = [
        _TAILS[each].in_language(language).format(n=counts[each])
        for each in _BUSY
        # An undecided verdict counts its nodes itself.
        if counts.get(each) and not (each is verdict is Standing.UNKNOWN)
    ]
    tail = COMMA.in_language(language).join(tails)
    texts = (head.in_language(language), tail, deciding_text(model, language))
    return SEMICOLON.in_language(language).join(text for text in texts if text)


def _on_cann(model: CheckedModel, cann: int) -> Words:
    """Return `2 nodes compute something else on CANN 9 and 1 is refused by its parser`.

    What is inferred of all of them is called so, and of some of them how many.
    """
    other = _nodes_with(model, DEVIATES_ON_CANN.id)
    refused = _nodes_with(model, REFUSED_BY_PARSER.id)
    only = model.nodes == 1
    facts = []
    if other:
        verb = "computes" if other == 1 else "compute"
        facts.append(
            Words(
                f"{'it' if only else _nodes(other)} {verb} something else on CANN {cann}",
                f"{'它' if only else f'其中 {other} 个节点'}在 CANN {cann} 上的结果与 ONNX 不同",
            )
            + _inferred(model, DEVIATES_ON_CANN.id, other)
        )
    if refused:
        verb = "is" if refused == 1 else "are"
        whose = "its parser" if other and not only else f"the parser of CANN {cann}"
        what = str(refused) if other else _nodes(refused)
        places = f"{'' if other else '其中 '}{refused} 个节点"
        facts.append(
            Words(
                f"{'it' if only else what} {verb} refused by {whose}",
                f"{'它' if only else places}不被 CANN {cann} 的解析器接受",
            )
            + _inferred(model, REFUSED_BY_PARSER.id, refused)
        )
    return Words(" and ", "，").join(facts) if facts else Words("", "")


def _inferred(model: CheckedModel, code: str, total: int) -> Words:
    """Return ` (inferred)` if findings of a code are that for all their nodes, or for how many."""
    count = total - _nodes_with(model, code, certainty=Certainty.PROVEN.value)
    if not count:
        return Words("", "")
    if count == total:
        return Words(" (inferred)", "（推断）")
    return Words(f" ({count} inferred)", f"（{count} 个为推断）")


def _nodes_with(
    model: CheckedModel, code: str, verdict: Standing | None = None, certainty: str = ""
) -> int:
    """Return the number of nodes with a finding of a code, a verdict and a certainty, if given."""
    nodes = {
        (found.scope, found.node, found.node_name)
        for found in model.findings
        if found.code == code and certainty in {"", found.certainty}
    }
    if verdict is None or not nodes:
        return len(nodes)
    rows: dict[tuple[str, int | None, str], str] = {
        (row.scope, row.index, row.name): row.verdict for row in model.network
    }
    return sum(rows.get(node) == verdict.value for node in nodes)


def lists_text(document: CheckDocument, model: CheckedModel, language: str) -> str:
    """Return `base: 3 errors; cann-9.0: supported`; empty for a model without errors."""
    if not model.other_lists:
        return ""
    errors = Standing.ERROR.value
    rows = [
        (document.operator_list, errors, model.counts.get(errors, 0)),
        *((each.name, each.verdict, each.errors) for each in model.other_lists),
    ]
    return SEMICOLON.join(
        Words.same(name) + COLON + _list_verdict(verdict, count) for name, verdict, count in rows
    ).in_language(language)


def kept_text(operators: Sequence[str], list_name: str) -> Words:
    """Return `AscendDequant and Addcmul are not on the newer pages of cann-9.0, which keeps ...`."""
    *first, last = operators
    names = f"{', '.join(first)} and {last}" if first else last
    one = not first
    return Words(
        f"{names} {'is' if one else 'are'} not on the newest pages of {list_name}; the list keeps "
        f"{'it' if one else 'them'} as {'it was' if one else 'they were'} listed before, "
        f"because quantizers and exporters still write {'it' if one else 'them'}",
        f"{list_name} 的最新页面已不再列出 {'、'.join(operators)}；"
        "因量化工具与导出器仍会生成，本清单沿用其早期规格",
    )


def newer_text(list_name: str, release: str, operators: Mapping[str, int]) -> Words:
    """Return `3 nodes (GridSample, Mish) are on the list cann-9.0 alone: CANN 9.0 takes them, ...`."""
    count, names = sum(operators.values()), sorted(operators)
    one = count == 1
    return Words(
        f"{_nodes(count)} ({', '.join(names)}) {'is' if one else 'are'} taken by the list {list_name} "
        f"alone: {release} takes {'it' if one else 'them'}, earlier releases may not",
        f"{count} 个节点（{'、'.join(names)}）仅 {list_name} 清单可用：{release} 支持，更早的版本未必支持",
    )


def _list_verdict(verdict: str, errors: int) -> Words:
    """Return the verdict of a list in words, with the number of errors."""
    if verdict != Standing.ERROR.value:
        return LEVELS[Standing(verdict)]
    return Words(f"{errors} {'error' if errors == 1 else 'errors'}", f"{errors} 个错误")


def baseline_text(document: CheckDocument) -> str:
    """Return `12 known, 1 new`, with the number gone; empty without a baseline."""
    count = document.baseline
    if count is None:
        return ""
    texts = [
        Words(f"{count.known} known", f"{count.known} 条已知"),
        Words(f"{count.new} new", f"{count.new} 条新增"),
    ]
    if count.gone:
        texts.append(Words(f"{count.gone} gone", f"{count.gone} 条已消除"))
    head = Words("compared with the baseline", "与基线比较")
    return (head + COLON + COMMA.join(texts)).in_language(document.lang)


def node_text(found: Found, language: str) -> str:
    """Return `node 17 "conv2" in then_branch of "choose"`; empty if not on a node."""
    if found.node is None:
        return " ".join(part for part in (_quoted_name(found.node_name), found.field) if part)
    node = HEADINGS["node"].in_language(language)
    parts = [f"{node} {found.node}", _quoted_name(found.node_name)]
    text = " ".join(part for part in parts if part)
    if not found.scope:
        return text
    return f"{text} in {found.scope}" if language == "en" else f"{text}（{found.scope}）"


def observed_text(found: Found, language: str) -> str:
    """Return `found [1, 64]` or `not decided: X is ?x3x8x8`; empty where nothing was observed."""
    if not found.observed:
        return ""
    if found.level == Standing.UNKNOWN.value:
        return (HEADINGS["undecided"] + COLON).in_language(language) + found.observed
    return f"{HEADINGS['found'].in_language(language)} {found.observed}"


def shape_option(hint: str) -> str:
    """Return `--input-shape "x:1,3,224,224"`, in quotes that shells leave alone."""
    shown = visible(hint)
    text = shlex.quote(shown) if set(shown) & set('"$`\\!') else f'"{shown}"'
    return f"--input-shape {text}"


def _quoted_name(name: str) -> str:
    """Return the name in quotes; nothing where it is empty."""
    return f'"{name}"' if name else ""


def _head(model: CheckedModel, verdict: Standing, counts: dict[Standing, int]) -> Words:
    """Return the first part of the verdict, without counts of other levels."""
    total, faults = model.nodes, len(model.faults)
    if faults and not total:
        return Words(f"not checked: {_faults(faults)}", f"未检查：文件有 {faults} 处问题")
    if verdict is Standing.ERROR:
        return _not_supported(model)
    if verdict is Standing.UNKNOWN:
        count = counts.get(Standing.UNKNOWN, 0)
        return Words(
            f"not decided: {count} of {_nodes(total)}",
            f"无法判定：{total} 个节点中的 {count} 个",
        )
    if total == 0:
        return Words("supported: no nodes", "支持：无节点")
    if total == 1:
        return Words("supported: its only node", "支持：唯一的节点")
    return Words(f"supported: all {total} nodes", f"支持：全部 {total} 个节点")


def _not_supported(model: CheckedModel) -> Words:
    """Return faults, and errors with their nodes."""
    total = model.nodes
    misfits = sum(found.code == BAD_INPUT_SHAPE.id for found in model.faults)
    faults = len(model.faults) - misfits
    errors = model.counts.get(Standing.ERROR.value, 0) - len(model.faults)
    nodes = len(
        {
            (found.scope, found.node, found.node_name, found.op)
            for found in model.findings
            if found.level == Standing.ERROR.value
        }
    )
    en, zh = [], []
    if misfits:
        en.append("it does not accept the dims of --input-shape")
        zh.append("不接受 --input-shape 给出的维度")
    if faults:
        en.append(f"{_faults(faults)} of the file")
        zh.append(f"文件有 {faults} 处问题")
    if errors:
        plural = "error" if errors == 1 else "errors"
        en.append(f"{errors} {plural} in {nodes} of {_nodes(total)}")
        zh.append(f"{total} 个节点中有 {nodes} 个共 {errors} 处错误")
    return Words(f"not supported: {', '.join(en)}", f"不支持：{'，'.join(zh)}")


def _faults(count: int) -> str:
    """Return `1 fault` or `2 faults`."""
    return f"{count} fault" if count == 1 else f"{count} faults"


def _nodes(count: int) -> str:
    """Return `1 node` or `2 nodes`."""
    return f"{count} node" if count == 1 else f"{count} nodes"


def fix_call(found: Found) -> str:
    """Return the command that applies the rules that a finding names."""
    return "atc-py fix --for cann" if found.certainty else "atc-py fix"


def fix_hint(document: CheckDocument, model: CheckedModel) -> str | None:
    """Return the command, and how many errors it removes; None where rules remove none."""
    found = model.fix
    if found is None:
        return None
    errors = model.counts.get(Standing.ERROR.value, 0)
    count = Words(
        f"removes {found.removed} of {errors} {'error' if errors == 1 else 'errors'}",
        f"可消除 {errors} 个错误中的 {found.removed} 个",
    )
    choices = (
        _candidates_text(each, bound=f"{each.input}=" in found.command) for each in found.candidates
    )
    parts = [Words.same(f"`{found.command}` ") + count, *choices]
    return SEMICOLON.join(parts).in_language(document.lang)


def _candidates_text(found: Candidates, *, bound: bool) -> Words:
    """Return the values of an input that decides which branch runs.

    Args:
        found: the input and its values.
        bound: whether the command gives it one of them already.
    """
    values = [f"{value:.15g}" for value in found.values]
    head = Words(f"{found.input} decides which branch runs", f"{found.input} 决定执行哪个分支")
    if bound:
        listed = ", ".join(values)
        return head + Words(f", values to choose from: {listed}", f"，可选的值：{listed}")
    options = ", ".join(f"--bind {found.input}={value}" for value in values)
    return head + Words(f", {options} leaves one alone", f"，{options} 可只保留一个")
