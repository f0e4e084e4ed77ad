"""Choices of a configuration of AMCT for a model and its layers."""

from collections.abc import Mapping
from typing import Any

import msgspec

from atc_py.diag import BAD_QUANT_CONFIG, QUANT_FIELD_NOT_MODELED, AtcError, Place
from atc_py.quantizing.calibrate.value_range import RangeOptions
from atc_py.text import Text

STRENGTHS = (0.2, 0.8)
"""Least and largest migration strength of the DMQ balancer."""


class LayerChoice(msgspec.Struct, frozen=True, kw_only=True):
    """Choices for a layer."""

    calibrator: str = "ifmr"  # name of the calibrator of its data
    # what the calibrator reads; `symmetric` is the opposite of AMCT's asymmetric
    settings: RangeOptions = RangeOptions()
    # one scale for each output channel of the weights; None is the layer's default
    channel_wise: bool | None = None
    migration_strength: float | None = None  # that of the DMQ balancer; None for none


class AmctConfig(msgspec.Struct, frozen=True, kw_only=True):
    """Choices for a model."""

    batch_num: int = 1  # how many batches calibrate it
    do_fusion: bool = True  # BatchNormalization is folded into the layer before it
    skip_fusion_layers: tuple[str, ...] = ()  # names of the layers into which it is not
    skip_layers: tuple[str, ...] = ()  # names of layers that stay in floats
    skip_layer_types: tuple[str, ...] = ()  # operators whose layers do
    # how layers are quantized that nothing else says it of; None if they stay in floats
    common: LayerChoice | None = LayerChoice()
    # how layers of an operator are
    by_type: Mapping[str, LayerChoice] = msgspec.field(default_factory=dict)
    # how a layer is; None if it stays in floats
    by_layer: Mapping[str, LayerChoice | None] = msgspec.field(default_factory=dict)

    def choice_for(self, name: str, op_type: str) -> LayerChoice | None:
        """The choice for a layer; None if it stays in floats.

        What is said of a layer has precedence over what is said of its type, and this over the
        rest; a layer that is skipped by name or type is skipped in any case.
        """
        if name in self.skip_layers or op_type in self.skip_layer_types:
            return None
        if name in self.by_layer:
            return self.by_layer[name]
        return self.by_type.get(op_type, self.common)

    def layer_names(self) -> tuple[str, ...]:
        """The names of layers that it mentions, for a check that the model has them."""
        return tuple(dict.fromkeys((*self.skip_layers, *self.skip_fusion_layers, *self.by_layer)))


def choice(values: Mapping[str, Any], place: Place, *, asymmetric: bool) -> LayerChoice:
    """The choice of fields by AMCT's names; `asymmetric` is what holds where no field says it.

    Raises:
        AtcError: BAD_QUANT_CONFIG for a value outside its limits.
    """
    settings = {"symmetric": not values.get("asymmetric", asymmetric)}
    for ours, theirs in (
        ("max_percentile", "max_percentile"),
        ("min_percentile", "min_percentile"),
        ("search_start", "search_range_start"),
        ("search_end", "search_range_end"),
        ("search_step", "search_step"),
        ("hfmg_bins", "num_of_bins"),
    ):
        if theirs in values:
            settings[ours] = values[theirs]
    strength = values.get("migration_strength")
    if strength is not None and not STRENGTHS[0] <= strength <= STRENGTHS[1]:
        raise BAD_QUANT_CONFIG.error(
            Text(
                "the migration strength must be in {strengths}, found {strength}",
                strengths=list(STRENGTHS),
                strength=strength,
            ),
            place=place,
        )
    try:
        return LayerChoice(
            calibrator=values.get("calibrator", "ifmr"),
            settings=RangeOptions(**settings),
            channel_wise=values.get("channel_wise"),
            migration_strength=strength,
        )
    except AtcError as error:
        raise BAD_QUANT_CONFIG.error(error.diagnostics[0].message, place=place) from None


def require_modeled(name: str, found: object, allowed: tuple[object, ...], place: Place) -> None:
    """Refuse a value that asks for what is not computed here."""
    if found not in allowed:
        words = " or ".join(str(value) for value in allowed)
        raise QUANT_FIELD_NOT_MODELED.error(
            Text(
                "{name} {actual} is not modeled, only {words} is",
                name=name,
                actual=repr(found),
                words=words,
            )
            if allowed
            else Text("{name} is not modeled", name=name),
            place=place,
        )
