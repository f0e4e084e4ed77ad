"""Words on rules: their conditions, `W of Y is 1`, their subjects, and what rewrites make of them."""

import math
from enum import Enum
from typing import Any, cast

from atc_py.check.predicate import PREDICATES, Predicate
from atc_py.options.compile_options import PrecisionMode
from atc_py.spec import OpSpec, Rule, When
from atc_py.spec.model import compressed
from atc_py.text import Text, one_of

_CUBE_FLOAT32 = Text("the SoC's cube has float32")
_NO_CUBE_FLOAT32 = Text("the SoC's cube has no float32")


def when_words(when: When) -> Text:
    """The conditions of a rule, all of which must hold."""
    facts: list[Text] = []
    if when.modes:
        facts.append(mode_words(*when.modes))
    if when.cube_float32 is not None:
        facts.append(_CUBE_FLOAT32 if when.cube_float32 else _NO_CUBE_FLOAT32)
    if when.families:
        names = ", ".join(when.families)
        facts.append(Text("the SoC is of {names}", names=names))
    if when.opsets is not None:
        first, last = when.opsets
        facts.append(Text("opset is {first}-{last}", first=first, last=last))
    if when.written is not None:
        first, last = when.written
        facts.append(Text("the model's opset is {first}-{last}", first=first, last=last))
    for attribute in when.attributes:
        values = value_text(attribute.one_of)
        facts.append(
            Text("{attribute} is one of {values}", attribute=attribute.name, values=values)
        )
    facts += [Text("{name} is given", name=name) for name in when.present]
    facts += [Text("{name} is not given", name=name) for name in when.absent]
    for condition in when.dtypes:
        dtypes = one_of(dtype.value for dtype in condition.one_of)
        facts.append(Text("{tensor} has dtype {dtypes}", tensor=condition.tensor, dtypes=dtypes))
    for ranked in when.ranks:
        facts.append(Text("{name} has rank {rank}", name=ranked.tensor, rank=ranked.rank))
    for dim in when.dims:
        facts.append(
            Text("{dim} of {tensor} is {length}", dim=dim.dim, tensor=dim.tensor, length=dim.equals)
        )
    return joined(facts)


def mode_words(*modes: PrecisionMode) -> Text:
    """Name precision modes: `precision mode is force_fp16`, `... is force_fp16 or force_fp32`."""
    return Text("precision mode is {modes}", modes=one_of(mode.value for mode in modes))


def soc_words(name: str) -> Text:
    return Text("the SoC is {name}", name=name)


def joined(facts: list[Text]) -> Text:
    """Join conditions that must hold together; those that say nothing are left out."""
    return Text(" and ").join(fact for fact in facts if fact)


def with_condition(sentence: Text, when: Text) -> Text:
    """A rule's sentence with its conditions, which may be none."""
    if not when:
        return sentence
    return sentence + Text(", when {condition}", condition=when)


def value_text(value: object) -> str:
    if isinstance(value, tuple):
        return f"[{', '.join(value_text(item) for item in value)}]"
    return str(value.value) if isinstance(value, Enum) else str(value)


def rule_subject(spec: OpSpec, rule: Rule) -> str:
    """The attribute, input or output that the rule is about."""
    arguments = rule.arguments
    if "attribute" in arguments:
        return f"attribute {arguments['attribute']}"
    name = str(arguments.get("axes") or arguments.get("tensor"))
    kind = "input" if any(row.name == name for row in spec.inputs) else "output"
    return f"{kind} {name}"


_ATTRIBUTE = "attribute "


def rewrite_text(op: str | None, field: str | None, observed: str, effect: str) -> Text:
    """`group 4 of Conv: will be split`.

    `field` is the attribute, input or output concerned, `attribute group`, `input X`; `observed`
    the value or form seen, empty where nodes of several are meant; `effect` what becomes of it.
    """
    subject = (field or "").removeprefix(_ATTRIBUTE)
    if not subject:
        template = "{op}, {observed}: {effect}" if observed else "{op}: {effect}"
    elif not observed:
        template = "{subject} of {op}: {effect}"
    elif (field or "").startswith(_ATTRIBUTE):
        template = "{subject} {observed} of {op}: {effect}"
    else:
        template = "{subject} of {op}, {observed}: {effect}"
    return Text(template, op=op or "", subject=subject, observed=observed, effect=effect)


_CHOICES = ("dtypes", "one_of")
"""Arguments of which any element satisfies the rule."""


def predicates() -> tuple[Predicate, ...]:
    return tuple(row for _, row in sorted(PREDICATES.all().items()))


def predicate_of(kind: type[Rule]) -> Predicate:
    """The predicate that answers rules of one kind; a test holds that there is one for each."""
    predicate = PREDICATES.get(kind.__name__)
    if predicate is None:
        raise KeyError(kind.__name__)
    return predicate


def sentence(spec: OpSpec, rule: Rule) -> Text:
    return filled(predicate_of(type(rule)).sentence, spec, rule)


def filled(words: Text, spec: OpSpec, rule: Rule) -> Text:
    arguments = {"op": spec.op, **rule.arguments}
    values = {name: _argument(value) for name, value in arguments.items()}
    values |= {name: _choice(arguments[name]) for name in _CHOICES if name in arguments}
    if "range" in arguments:
        values["range"] = _bounds(arguments["range"])
    if "opsets" in arguments:
        first, last = cast("tuple[int, int]", arguments["opsets"])
        values["opsets"] = compressed(tuple(range(first, last + 1)))
    return words.with_values(**values)


def _argument(value: object) -> str:
    if isinstance(value, tuple):
        return ", ".join(map(_argument, value))
    if isinstance(value, Enum):
        return str(value.value)
    return str(value).lower() if isinstance(value, bool) else str(value)


def _choice(values: Any) -> str:
    *others, last = map(_argument, values)
    return Text(" or ").join([", ".join(others), last]) if others else last


def _bounds(value: Any) -> Text:
    """`in [1, 63]`, `at least 1`, `at most 6` or `exactly 4`."""
    least, most = value
    if least == most:
        return Text("exactly {n}", n=least)
    if math.isinf(most):
        return Text("at least {n}", n=least)
    if math.isinf(least):
        return Text("at most {n}", n=most)
    return Text("in [{least}, {most}]", least=least, most=most)
