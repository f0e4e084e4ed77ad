"""AMCT's configurations: its JSON file, which lists every layer, and the simplified text file.

Fields that ask for what is not computed here are refused by name. Sources: `config/field.py`,
`calibration_config_pytorch.proto` and the pages on parameters of AMCT.
"""

import json
from collections.abc import Iterable, Mapping
from typing import Any

from atc_py.diag import BAD_QUANT_CONFIG, AtcError, Place
from atc_py.quantizing.calibrate.amct_choices import (
    AmctConfig,
    LayerChoice,
    choice,
    require_modeled,
)
from atc_py.quantizing.calibrate.amct_text import read_amct_text
from atc_py.text import Text

_IFMR = {
    "max_percentile": float,
    "min_percentile": float,
    "search_range": list,
    "search_step": float,
}
_HFMG = {"num_of_bins": int}
_ACTIVATIONS = {"num_bits": int, "act_algo": str, "asymmetric": bool, **_IFMR, **_HFMG}
_ADA = {"num_iteration": int, "reg_param": float, "beta_range": list, "warm_start": float}
_WEIGHTS = {"num_bits": int, "wts_algo": str, "channel_wise": bool, **_ADA}
_LAYER = {
    "quant_enable": bool,
    "dmq_balancer_param": float,
    "activation_quant_params": dict,
    "weight_quant_params": dict,
}
_MODEL = {
    "version": int,
    "batch_num": int,
    "activation_offset": bool,
    "joint_quant": bool,
    "do_fusion": bool,
    "skip_fusion_layers": list,
    "fakequant_precision_mode": str,
    "tensor_quantize": list,
}
_KINDS = {bool: Text("true or false"), int: Text("a whole number"), float: Text("a number"), str: "a text",
          list: "a list", dict: Text("an object")}  # fmt: skip


def read_amct_config(text: str, path: str | None = None) -> AmctConfig:
    """The choices of a configuration in either form; JSON begins with a brace."""
    if not text.lstrip("\ufeff \t\r\n").startswith("{"):
        return read_amct_text(text, path)
    try:
        document = json.loads(text.lstrip("\ufeff"), object_pairs_hook=_unique)
    except json.JSONDecodeError as error:
        place = Place(path, line=error.lineno, column=error.colno)
        raise BAD_QUANT_CONFIG.error(
            Text("the JSON is incomplete or malformed: {msg}", msg=error.msg), place=place
        ) from None
    except (RecursionError, ValueError) as error:
        message = Text("the JSON cannot be read: {error}", error=error)
        raise BAD_QUANT_CONFIG.error(message, place=Place(path)) from None
    return _of_document(document, Place(path))


def _unique(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    results: dict[str, Any] = {}
    for name, value in pairs:
        if name in results:
            raise ValueError(Text("{name} occurs twice", name=repr(name)))
        results[name] = value
    return results


def _of_document(document: dict[str, Any], place: Place) -> AmctConfig:
    """The choices of a JSON document; a layer that is not there stays in floats."""
    layers = {
        name: value
        for name, value in document.items()
        if isinstance(value, dict) and name not in _MODEL
    }
    model = _check_fields({k: v for k, v in document.items() if k not in layers}, _MODEL, place)
    if model.get("version", 1) != 1:
        raise _fault(place, "version", Text("must be 1, found {model}", model=model["version"]))
    if model.get("batch_num", 1) < 1:
        raise _fault(
            place, "batch_num", Text("must be at least 1, found {model}", model=model["batch_num"])
        )
    for name, allowed in (
        ("joint_quant", (False,)),
        ("fakequant_precision_mode", ("DEFAULT",)),
        ("tensor_quantize", ([],)),
    ):
        if name in model:
            require_modeled(name, model[name], allowed, place.with_field(name))
    kept = model.get("skip_fusion_layers", [])
    if not all(isinstance(name, str) for name in kept) or len(set(kept)) != len(kept):
        raise _fault(place, "skip_fusion_layers", "must be a list of names without repeats")
    offset = model.get("activation_offset", True)
    return AmctConfig(
        batch_num=model.get("batch_num", 1),
        do_fusion=model.get("do_fusion", True),
        skip_fusion_layers=tuple(kept),
        common=None,
        by_layer={
            name: _layer(value, place.with_field(name), asymmetric=offset)
            for name, value in layers.items()
        },
    )


def _layer(value: Mapping[str, Any], place: Place, *, asymmetric: bool) -> LayerChoice | None:
    layer = _check_fields(value, _LAYER, place)
    data = _check_fields(layer.get("activation_quant_params", {}), _ACTIVATIONS, place)
    weights = _check_fields(layer.get("weight_quant_params", {}), _WEIGHTS, place)
    for part in (data, weights):
        if "num_bits" in part:
            require_modeled("num_bits", part["num_bits"], (8,), place)
    require_modeled("wts_algo", weights.get("wts_algo", "arq_quantize"), ("arq_quantize",), place)
    for name in _ADA:
        if name in weights:
            require_modeled(name, weights[name], (), place)
    results = {
        name: data[name] for name in data if name not in {"num_bits", "act_algo", "search_range"}
    }
    results["calibrator"] = _algorithm(data, place)
    if "search_range" in data:
        results["search_range_start"], results["search_range_end"] = _pair(
            data["search_range"], place
        )
    if "channel_wise" in weights:
        results["channel_wise"] = weights["channel_wise"]
    if "dmq_balancer_param" in layer:
        results["migration_strength"] = layer["dmq_balancer_param"]
    chosen = choice(results, place, asymmetric=asymmetric)
    return chosen if layer.get("quant_enable", True) else None


def _algorithm(data: Mapping[str, Any], place: Place) -> str:
    """The calibrator of fields for data; any field of hfmg chooses it."""
    named = data.get("act_algo", "hfmg" if _HFMG.keys() & data.keys() else "ifmr")
    if named not in {"ifmr", "hfmg"}:
        raise _fault(
            place, "act_algo", Text("must be ifmr or hfmg, found {named}", named=repr(named))
        )
    wrong = (_HFMG if named == "ifmr" else _IFMR).keys() & data.keys()
    if wrong:
        raise _fault(place, min(wrong), Text("is not a field of {named}", named=named))
    return str(named)


def _pair(value: list[Any], place: Place) -> tuple[float, float]:
    if len(value) != 2 or not all(_is(float, part) for part in value):  # noqa: PLR2004
        raise _fault(
            place,
            "search_range",
            Text("must be a list of two numbers, found {value}", value=repr(value)),
        )
    return float(value[0]), float(value[1])


def _check_fields(
    value: Mapping[str, Any], fields: Mapping[str, type], place: Place
) -> Mapping[str, Any]:
    for name, found in value.items():
        if name not in fields:
            raise _fault(place, name, "is not a field of a configuration")
        if not _is(fields[name], found):
            raise _fault(
                place,
                name,
                Text(
                    "must be {kinds}, found {actual}",
                    kinds=_KINDS[fields[name]],
                    actual=repr(found),
                ),
            )
    return value


def _is(kind: type, value: object) -> bool:
    """True and false are not numbers."""
    if kind is float:
        return isinstance(value, int | float) and not isinstance(value, bool)
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))


def _fault(place: Place, field: str, words: str) -> AtcError:
    where = f"{place.field}.{field}" if place.field else field
    return BAD_QUANT_CONFIG.error(
        Text("{field} {message}", field=where, message=Text(words)), place=place.with_field(where)
    )
