"""The conditions under which a rule is asked, in words: `W of Y is 1`."""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from atc_py.diag import Words

if TYPE_CHECKING:
    from atc_py.options.compile_options import PrecisionMode
    from atc_py.spec import When

__all__ = ["joined", "mode_words", "soc_words", "when_words", "with_condition"]


def when_words(when: When) -> Words:
    """Name the conditions of a rule, all of which must hold."""
    facts: list[Words] = []
    if when.modes:
        facts.append(mode_words(*when.modes))
    if when.cube_float32 is not None:
        en, zh = ("", "支持") if when.cube_float32 else ("no ", "不支持")
        facts.append(Words(f"the SoC's cube has {en}float32", f"SoC 的 cube 单元{zh} float32"))
    if when.families:
        names = ", ".join(when.families)
        facts.append(Words(f"the SoC is of {names}", f"SoC 属于 {names}"))
    if when.opsets is not None:
        first, last = when.opsets
        facts.append(Words(f"opset is {first}-{last}", f"opset 为 {first}-{last}"))
    if when.written is not None:
        first, last = when.written
        facts.append(
            Words(f"the model's opset is {first}-{last}", f"模型的 opset 为 {first}-{last}")
        )
    for attribute in when.attributes:
        values = _value(attribute.one_of)
        facts.append(
            Words(f"{attribute.name} is one of {values}", f"{attribute.name} 取值 {values}")
        )
    facts += [Words(f"{name} is given", f"给出 {name}") for name in when.present]
    facts += [Words(f"{name} is not given", f"未给出 {name}") for name in when.absent]
    for each in when.dtypes:
        english, chinese = _alternatives([dtype.value for dtype in each.one_of])
        text = f"{each.tensor} has dtype {english}"
        facts.append(Words(text, f"{each.tensor} 的数据类型为 {chinese}"))
    for ranked in when.ranks:
        text = f"{ranked.tensor} has rank {ranked.rank}"
        facts.append(Words(text, f"{ranked.tensor} 的秩为 {ranked.rank}"))
    for dim in when.dims:
        text = f"{dim.dim} of {dim.tensor} is {dim.equals}"
        facts.append(Words(text, f"{dim.tensor} 的 {dim.dim} 维为 {dim.equals}"))
    return joined(facts)


def mode_words(*modes: PrecisionMode) -> Words:
    """Name precision modes: `precision mode is force_fp16`, `... is force_fp16 or force_fp32`."""
    names = [mode.value for mode in modes]
    *first, last = names
    english = f"{', '.join(first)} or {last}" if first else last
    return Words(f"precision mode is {english}", f"精度模式为 {' 或 '.join(names)}")


def soc_words(name: str) -> Words:
    """Name a SoC: `the SoC is Ascend310P3`."""
    return Words(f"the SoC is {name}", f"SoC 为 {name}")


def joined(facts: list[Words]) -> Words:
    """Join conditions that must hold together; those that say nothing are left out."""
    return Words(" and ", "，且").join(each for each in facts if each)


def with_condition(sentence: Words, when: Words) -> Words:
    """Return a rule's sentence with its conditions, which may be none."""
    if not when:
        return sentence
    return sentence + Words(f", when {when.en}", f"（条件：{when.zh}）")


def _alternatives(names: list[str]) -> tuple[str, str]:
    """Return names of which one is meant, in both languages: `int8, int64 or float64`."""
    *first, last = names
    return f"{', '.join(first)} or {last}" if first else last, " 或 ".join(names)


def _value(value: object) -> str:
    """Write a value as the file does."""
    if isinstance(value, tuple):
        return f"[{', '.join(_value(item) for item in value)}]"
    return str(value.value) if isinstance(value, Enum) else str(value)
