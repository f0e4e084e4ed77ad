"""AMCT's simplified configuration, a message AMCTConfig in protobuf's text format.

Of the fields of one choice, such as ifmr_quantize and hfmg_quantize, the last holds.
"""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from atc_py.diag import BAD_QUANT_CONFIG, QUANT_FIELD_NOT_MODELED, Place
from atc_py.options.aipp.text_format import TextField
from atc_py.quantizing.calibrate.amct_choices import (
    AmctConfig,
    LayerChoice,
    choice,
    require_modeled,
)
from atc_py.quantizing.calibrate.text_numbers import TextFile
from atc_py.text import Text

_Readers: TypeAlias = "Mapping[str, Callable[[TextFile, TextField], Any]]"
"""Fields and what reads their values."""

_NOT_MODELED = {"tensor_quantize", "nuq_config", "ada_quantize"}
_OVERRIDES = {"override_layer_types": "layer_type", "override_layer_configs": "layer_name"}

_MODEL: _Readers = {
    "version": TextFile.whole,
    "batch_num": TextFile.whole,
    "activation_offset": TextFile.truth,
    "joint_quant": TextFile.truth,
    "weight_compress_only": TextFile.truth,
    "do_fusion": TextFile.truth,
    "fakequant_precision_mode": TextFile.word,
    "skip_layers": TextFile.strings,
    "skip_layer_types": TextFile.strings,
    "skip_fusion_layers": TextFile.strings,
}
_ALLOWED: dict[str, tuple[object, ...]] = {
    "version": (1,),
    "joint_quant": (False,),
    "weight_compress_only": (False,),
    "fakequant_precision_mode": ("DEFAULT",),
    "dst_type": ("INT8",),
    "quant_bits": (8,),
}
"""Values of fields beside which others are not modeled."""

_ARQ: _Readers = {
    "channel_wise": TextFile.truth,
    "quant_bits": TextFile.whole,
    "asymmetric": TextFile.truth,
}
_IFMR: _Readers = {
    "search_range_start": TextFile.decimal,
    "search_range_end": TextFile.decimal,
    "search_step": TextFile.decimal,
    "max_percentile": TextFile.decimal,
    "min_percentile": TextFile.decimal,
    "asymmetric": TextFile.truth,
    "dst_type": TextFile.word,
}
_HFMG: _Readers = {
    "num_of_bins": TextFile.whole,
    "asymmetric": TextFile.truth,
    "dst_type": TextFile.word,
}
_DMQ: _Readers = {"migration_strength": TextFile.decimal}


def read_amct_text(text: str, path: str | None = None) -> AmctConfig:
    file = TextFile(text, path, BAD_QUANT_CONFIG)
    return _Reader(file).config()


class _Reader:
    def __init__(self, file: TextFile) -> None:
        self._file = file
        self._asymmetric = True

    def config(self) -> AmctConfig:
        file, messages = self._file, []
        results: dict[str, Any] = {}
        for field in file.fields:
            self._refuse_not_modeled(field)
            if field.name in _MODEL:
                value = self._value(_MODEL, field)
                results[field.name] = (
                    [*results.get(field.name, ()), *value] if isinstance(value, list) else value
                )
            elif field.name in _OVERRIDES or field.name == "common_config":
                messages.append(field)
            else:
                raise file.wrong(field, "is not a field of a configuration")
        if results.get("batch_num", 1) < 1:
            field = next(field for field in file.fields if field.name == "batch_num")
            raise file.wrong(
                field, Text("must be at least 1, found {model}", model=results["batch_num"])
            )
        self._asymmetric = results.get("activation_offset", True)
        common = choice({}, Place(), asymmetric=self._asymmetric)
        overrides: dict[str, dict[str, LayerChoice]] = {name: {} for name in _OVERRIDES}
        for field in messages:
            if field.name == "common_config":
                common = self._choice(field)
            else:
                key, chosen = self._override(field)
                overrides[field.name][key] = chosen
        return AmctConfig(
            batch_num=results.get("batch_num", 1),
            do_fusion=results.get("do_fusion", True),
            skip_fusion_layers=tuple(results.get("skip_fusion_layers", ())),
            skip_layers=tuple(results.get("skip_layers", ())),
            skip_layer_types=tuple(results.get("skip_layer_types", ())),
            common=common,
            by_type=overrides["override_layer_types"],
            by_layer=dict(overrides["override_layer_configs"]),
        )

    def _override(self, field: TextField) -> tuple[str, LayerChoice]:
        name = _OVERRIDES[field.name]
        parts = {part.name: part for part in self._file.message(field)}
        for part in parts.values():
            if part.name not in {name, "calibration_config"}:
                raise self._file.wrong(part, Text("is not a field of {named}", named=field.name))
        if len(parts) != 2:  # noqa: PLR2004
            raise self._file.wrong(field, Text("needs {name} and calibration_config", name=name))
        return self._file.string(parts[name]), self._choice(parts["calibration_config"])

    def _choice(self, field: TextField) -> LayerChoice:
        values: dict[str, Any] = {}
        data: dict[str, Any] = {}
        for part in self._file.message(field):
            self._refuse_not_modeled(part)
            if part.name == "arq_quantize":
                found = self._values(_ARQ, part)
                values["channel_wise"] = found.get("channel_wise")
                if found.get("asymmetric"):
                    place = self._file.place(part.place, "asymmetric")
                    require_modeled("arq_quantize.asymmetric", True, (False,), place)  # noqa: FBT003
            elif part.name == "ifmr_quantize":
                data = {"calibrator": "ifmr", **self._values(_IFMR, part)}
            elif part.name == "hfmg_quantize":
                data = {"calibrator": "hfmg", **self._values(_HFMG, part)}
            elif part.name == "dmq_balancer":
                values["migration_strength"] = 0.5
                values |= self._values(_DMQ, part)
            else:
                raise self._file.wrong(part, Text("is not a field of {named}", named=field.name))
        place = self._file.place(field.place, field.name)
        return choice(values | data, place, asymmetric=self._asymmetric)

    def _values(self, readers: _Readers, field: TextField) -> dict[str, Any]:
        return {part.name: self._value(readers, part) for part in self._file.message(field)}

    def _value(self, readers: _Readers, field: TextField) -> Any:
        if field.name not in readers:
            raise self._file.wrong(field, "is not a field here")
        value = readers[field.name](self._file, field)
        if field.name in _ALLOWED:
            place = self._file.place(field.place, field.name)
            require_modeled(field.name, value, _ALLOWED[field.name], place)
        return value

    def _refuse_not_modeled(self, field: TextField) -> None:
        if field.name in _NOT_MODELED:
            place = self._file.place(field.place, field.name)
            raise QUANT_FIELD_NOT_MODELED.error(
                Text("{name} is not modeled", name=field.name), place=place
            )
