"""What rules are conditional on: settings in which the conditions are met, and in which not."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from atc_py.options.compile_options import PrecisionMode
from atc_py.spec import AttributeSpec, AttributeType, When
from atc_py.spec.rule import OfDtype
from atc_py.target import socs
from atc_py.tensor.dtypes import DType
from tests.check.boundary_ground import NONE, Change, Ground


@dataclass(frozen=True)
class Setting:
    """The settings that a check is run with.

    Attributes:
        met: whether the conditions of the rule are met.
        change: what they change of the example.
        mode: the precision mode; as a rule the one that changes dtypes least.
        soc: name of the SoC.
        text: what of it is not as always, in words.
    """

    met: bool = True
    change: Change = NONE
    mode: PrecisionMode = PrecisionMode.MUST_KEEP_ORIGIN_DTYPE
    soc: str = "sim"
    text: str = ""


def settings(ground: Ground) -> Iterator[Setting]:
    """Yield settings in which the rule applies, and one for each condition in which it does not."""
    when = ground.rule.when
    if when is None:
        yield Setting()
        return
    applies = when.opsets is None or when.opsets[0] <= ground.opset <= when.opsets[1]
    met = replace(_machine(when), met=applies)
    changes = [each.plus(_given(ground, when)) for each in _attributes_met(when)]
    for change in changes:
        for mode in when.modes or (met.mode,):
            found = _dims_met(ground, when, change.plus(_ranks_met(ground, when)))
            yield replace(met, mode=mode, change=found)
    for other in _lifted(ground, when, met):
        yield replace(other, met=False, text=f", {other.text}")


def _machine(when: When) -> Setting:
    """Return a setting with the precision mode and the SoC that are asked for."""
    setting = Setting()
    if when.modes:
        setting = replace(setting, mode=when.modes[0])
    if when.cube_float32 is not None:
        setting = replace(setting, soc=_soc(cube_float32=when.cube_float32))
    if when.families:
        setting = replace(setting, soc=_soc_of(when.families))
    return setting


def _soc_of(families: tuple[str, ...], *, inside: bool = True) -> str:
    """Return the name of a SoC that is, or is not, of one of the families."""
    return next(row.name for row in socs() if (row.family.value in families) is inside)


def _soc(*, cube_float32: bool) -> str:
    """Return the name of a SoC with or without float32 in its cube."""
    return next(row.name for row in socs() if row.cube_float32 is cube_float32)


def _attributes_met(when: When) -> list[Change]:
    """Return a change for each value of the attributes that the rule is conditional on."""
    names = [condition.name for condition in when.attributes]
    return [
        Change(attributes=dict(zip(names, values, strict=True)))
        for values in product(*(condition.one_of for condition in when.attributes))
    ]


def _given(ground: Ground, when: When) -> Change:
    """Return the inputs that the rule is conditional on: as in the example, absent, of a dtype."""
    known = ground.spec.example.inputs
    present = {name: known[name] for name in when.present}
    return Change(
        shapes={**present, **dict.fromkeys(when.absent)},
        dtypes={each.tensor: each.one_of[0] for each in when.dtypes},
    )


def _ranks_met(ground: Ground, when: When) -> Change:
    """Return inputs of the ranks that the rule is conditional on."""
    change = NONE
    for each in when.ranks:
        change = change.plus(ground.with_rank(each.tensor, each.rank))
    return change


def _dims_met(ground: Ground, when: When, change: Change) -> Change:
    """Return the change with the dims that the rule is conditional on."""
    for each in when.dims:
        found = ground.with_length(each.tensor, each.dim, each.equals, change)
        assert found is not None
        change = found
    return change


def _lifted(ground: Ground, when: When, met: Setting) -> Iterator[Setting]:
    """Yield the setting with one condition after the other not met."""
    if when.modes:
        mode = next(mode for mode in PrecisionMode if mode not in when.modes)
        yield replace(met, mode=mode, text=f"mode {mode.value}")
    if when.cube_float32 is not None:
        soc = _soc(cube_float32=not when.cube_float32)
        yield replace(met, soc=soc, text=f"SoC {soc}")
    if when.families:
        soc = _soc_of(when.families, inside=False)
        yield replace(met, soc=soc, text=f"SoC {soc}")
    for condition in when.attributes:
        row = ground.spec.attribute(condition.name)
        assert row is not None
        value = _other(row, condition.one_of)
        change = _attributes_met(when)[0].plus(Change(attributes={condition.name: value}))
        yield replace(met, change=change, text=f"{condition.name} = {value}")
    for name in when.present:
        yield replace(met, change=Change(shapes={name: None}), text=f"no {name}")
    for name in when.absent:
        change = Change(shapes={name: ground.spec.example.inputs[name]})
        yield replace(met, change=change, text=f"{name} there")
    for typed in when.dtypes:
        other = _other_dtype(ground, typed)
        change = Change(dtypes={typed.tensor: other})
        yield replace(met, change=change, text=f"{typed.tensor} of {other.value}")
    for ranked in when.ranks:
        usual = len(ground.spec.example.inputs[ranked.tensor])
        rank = usual + 1 if usual == ranked.rank else usual
        change = ground.with_rank(ranked.tensor, rank)
        yield replace(met, change=change, text=f"{ranked.tensor} of rank {rank}")
    for each in when.dims:
        found = ground.with_length(each.tensor, each.dim, each.equals + 1)
        assert found is not None
        yield replace(met, change=found, text=f"{each.dim} of {each.tensor} = {each.equals + 1}")


def _other_dtype(ground: Ground, typed: OfDtype) -> DType:
    """Return a listed dtype of an input with which the condition is not met."""
    row = ground.spec.operand(typed.tensor)
    assert row is not None
    return next(each for each in ground.spec.dtypes_of(row) or () if each not in typed.one_of)


def _other(row: AttributeSpec, values: tuple[Any, ...]) -> Any:
    """Return a value of the attribute that is none of these."""
    known = (False, True) if row.type is AttributeType.BOOL else row.one_of
    return next(value for value in known if value not in values)
