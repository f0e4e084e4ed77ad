"""The words of reports on fixed models, in both languages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.check.findings import Standing
from atc_py.diag import SEMICOLON, Words
from atc_py.options.bound_values import bind_options
from atc_py.report.check.words import LEVELS
from atc_py.report.profile.text import format_time

if TYPE_CHECKING:
    from atc_py.results.fixing import Difference, Fixing, Rewrite, TargetError

__all__ = [
    "HEADINGS",
    "difference_text",
    "error_text",
    "facts",
    "headline",
    "target_text",
    "time_text",
    "verdict_texts",
]

HEADINGS = {
    "title": Words("Fixed model", "改写后的模型"),
    "rewrites": Words("Rewrites", "改写"),
    "nodes": Words("nodes", "节点数"),
    "node": Words("node", "节点"),
    "operator": Words("operator", "算子"),
    "rule": Words("rule", "规则"),
    "new": Words("new nodes", "新节点"),
    "class": Words("class", "等级"),
    "error": Words("largest error", "最大误差"),
    "allowed": Words("allowed", "允许值"),
    "time": Words("estimated time", "估计时间"),
    "assumption": Words("Assumptions", "假设"),
    "assumes": Words("assumption", "假设"),
    "shown": Words("compared on", "比较所用数据"),
    "left": Words("Not fixed", "未消除"),
    "code": Words("code", "代码"),
    "finding": Words("finding", "检查结果"),
    "unfit": Words("rules that did not fit", "不适用的规则"),
    "result": Words("Result", "结果"),
    "errors": Words("errors", "错误"),
    "verdict": Words("verdict", "结论"),
    "list": Words("operator list", "算子清单"),
    "opset": Words("opset", "opset"),
    "output": Words("output", "输出"),
    "outputs": Words("Outputs", "输出"),
    "proof": Words("proof", "验证"),
    "float32": Words("in float32", "float32"),
    "target": Words("on the target", "目标精度"),
    "written": Words("written", "写入"),
    "hint": Words("hint", "提示"),
    "filter": Words("Filter", "筛选"),
    "all": Words("all", "全部"),
    "search": Words("Search names and rules", "搜索名称和规则"),
    "pattern": Words("%1 of %2 nodes shown", "共 %2 个节点，显示 %1 个"),
    "differences": Words("Differences between the graphs", "两图的差异"),
    "others": Words("Other changes", "其他变化"),
    "before": Words("before", "改写前"),
    "after": Words("after", "改写后"),
    "absorbed": Words("none (now part of others)", "无（并入其他节点）"),
    "none": Words("No node was rewritten.", "没有改写任何节点。"),
}
"""Single words and short sentences."""


def headline(done: Fixing) -> Words:
    """Return `all 28 errors are removed; 28 nodes were rewritten`."""
    before, after = done.errors
    count = len(done.rewrites)
    many = f"{count or 'no'} {'nodes were' if count > 1 else 'node was'} rewritten"
    nodes = Words(many, f"改写了 {count} 个节点" if count else "没有改写节点")
    if not before:
        text = Words("no errors to remove", "没有需要消除的错误")
    elif not after:
        which = {1: "its only error is", 2: "both errors are"}.get(
            before, f"all {before} errors are"
        )
        text = Words(f"{which} removed", f"{before} 个错误已全部消除")
    elif before <= after:
        text = Words(
            f"no error is removed, {after} {'is' if after == 1 else 'are'} left",
            f"没有消除错误，剩余 {after} 个",
        )
    else:
        gone = max(before - after, 0)
        text = Words(
            f"{gone} of {before} errors {'is' if gone == 1 else 'are'} removed, "
            f"{after} {'is' if after == 1 else 'are'} left",
            f"{before} 个错误中消除了 {gone} 个，剩余 {after} 个",
        )
    return text + SEMICOLON + nodes


def verdict_texts(done: Fixing, language: str) -> tuple[str, str]:
    """Return the verdict of `check` before and after, with the number of errors."""
    found = []
    for name, errors in zip(done.verdicts, done.errors, strict=True):
        if not name:
            found.append("")
            continue
        standing = Standing(name)
        if standing is Standing.ERROR:
            words = Words(
                f"refused ({errors} {'error' if errors == 1 else 'errors'})",
                f"不支持（{errors} 个错误）",
            )
        else:
            words = Words.same(LEVELS[standing].en)
            words = _ACCEPTED.get(standing, words)
        found.append(words.in_language(language))
    return found[0], found[1]


_ACCEPTED = {
    Standing.UNKNOWN: Words("not decided", "无法判定"),
    Standing.LIST: Words("supported, nodes are taken against the list", "支持（部分节点超出清单）"),
    Standing.REWRITE: Words("supported, nodes are rewritten on the way", "支持（部分节点需改写）"),
    Standing.AICPU: Words("supported, nodes run on the AI CPU", "支持（部分节点在 AI CPU 上运行）"),
    Standing.ACCURACY: Words(
        "supported, nodes have other accuracy", "支持（部分节点精度可能有偏差）"
    ),
    Standing.SUPPORTED: Words("supported", "支持"),
}


def error_text(found: Difference | None) -> Words:
    """Return the largest error of a region."""
    if found is None:
        return Words("not compared", "未比较")
    if not found.differing:
        return Words("0 (equal)", "0（相等）")
    return Words.same(f"{found.error:.2g}")


def difference_text(found: Difference) -> Words:
    """Return a difference of an output in words."""
    if not found.differing:
        return Words("equal to the original's", "与原模型相等")
    return Words(
        f"differs by {found.error:.2g} of its range, in {found.differing} of {found.elements} "
        "elements",
        f"偏差为其范围的 {found.error:.2g}，{found.elements} 个元素中有 {found.differing} 个不同",
    )


def target_text(found: TargetError) -> Words:
    """Return the difference of an output in the target's precision."""
    cosine = "-" if found.cosine is None else f"{found.cosine:.6f}"
    return Words(
        f"cosine {cosine}, largest error {found.error:.2g} of its range",
        f"余弦 {cosine}，最大误差为其范围的 {found.error:.2g}",
    )


def time_text(rewrites: tuple[Rewrite, ...]) -> str:
    """Return the estimated time of all new nodes; `-` where it is not known of each."""
    times = [each.microseconds for each in rewrites]
    known = [each for each in times if each is not None]
    if not known or len(known) < len(times):
        return "-"
    return format_time(sum(known) * 1e-6)


def facts(done: Fixing, language: str) -> list[tuple[str, str]]:
    """Return what holds of the whole model: verdicts, opsets, outputs, target, file."""

    def word(key: str) -> str:
        return HEADINGS[key].in_language(language)

    before, after = verdict_texts(done, language)
    rows = [
        (word("list"), done.operator_list),
        *([(word("verdict"), f"{before} -> {after}")] if before and after else []),
        (word("opset"), " -> ".join(map(str, dict.fromkeys(done.opset)))),
    ]
    for name, each in done.outputs.items():
        rows.append((f"{word('output')} {name}", difference_text(each).in_language(language)))
    if not done.seeds:
        rows.append((word("proof"), _no_proof(done).in_language(language)))
    rows += _target_rows(done, language)
    nothing = Words("nothing", "无")
    if done.changes and not done.left:
        nothing = Words("nothing (--dry-run)", "无（--dry-run）")
    written = nothing.in_language(language) if done.output is None else str(done.output)
    rows.append((word("written"), written))
    if done.deciding:
        rows.append((word("hint"), _choice(done).in_language(language)))
    return rows


def _choice(done: Fixing) -> Words:
    """Return the inputs that choose the branch of an If, and the options that bind them."""
    options = [
        option
        for name, values in done.deciding.items()
        for value in values
        for option in bind_options({name: value})
    ]
    names = ", ".join(done.deciding)
    verb = "decides" if len(done.deciding) == 1 else "decide"
    return Words(
        f"{names} {verb} which branch runs; {' or '.join(options)} keeps one of them",
        f"{names} 决定执行哪个分支；{' 或 '.join(options)} 只保留其中一个",
    )


def _no_proof(done: Fixing) -> Words:
    """Return why the two models were not run."""
    if not done.rewrites:
        return Words("none: nothing was rewritten", "无：没有改写任何节点")
    why = done.rewrites[0].shown.why
    return Words(f"none: {why.en}", f"无：{why.zh}")


def _target_rows(done: Fixing, language: str) -> list[tuple[str, str]]:
    """Return the fixed model in the target's precision, against the original in float32."""
    found = done.target
    if found is None:
        return []
    head = f"{found.precision_mode}, {found.soc}"
    if found.failed:
        first = found.failed[0]
        why = Words("not run", "未运行").in_language(language)
        return [(head, f"{why}: {first.code.id} {first.message}")]
    rows = [
        (f"{name}, {head}", target_text(each).in_language(language))
        for name, each in found.outputs.items()
    ]
    if found.microseconds is not None:
        time = format_time(found.microseconds * 1e-6)
        rows.append((HEADINGS["time"].in_language(language), f"{time}, {found.soc}"))
    return rows
