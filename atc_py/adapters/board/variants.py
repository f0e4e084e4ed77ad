"""The ways in which a kit has its model compiled: atc's line for each, and the same as keywords of `convert`."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from atc_py.adapters.board.layout import CONFIG, MODEL, RUN_FOLDER, KitVariant
from atc_py.options.compile_options import CompileOptions, Semantics
from atc_py.options.option import Option, OptionField, options_in
from atc_py.system.input_files import read_bytes

NOT_PACKED = frozenset(
    {"precision_mode", "precision_mode_v2", "semantics", "only_atc_passes", "out_nodes", "kernels"}
    | {"templates", "dump_ir", "disable_pass", "op_specs", "verify"}
)
"""Options of a compilation that `board pack` does not take: it decides them itself, or atc has no such."""

_HOME_ALONE = frozenset({"fix", "soc"})
"""Options that the kit's model or the kit itself says."""

_WITHOUT_FUSION = '{"Switch": {"GraphFusion": {"ALL": "off"}, "UBFusion": {"ALL": "off"}}}\n'

_MOST_BYTES = 16 << 20
"""Bytes of a configuration file."""

_SWITCHES = "fusion_switch_file"
_SUFFIXES = {"modify_mixlist": ".json", "aipp": ".cfg", _SWITCHES: ".cfg"}


class Compiling(msgspec.Struct, frozen=True):
    """The part of a compilation that all variants share."""

    # of `convert` that are given, files as paths in the kit
    keywords: Mapping[str, str | int | bool]
    files: Mapping[str, bytes]  # contents of these files, by their paths in the kit


def shared_compiling(keywords: Mapping[str, Any]) -> Compiling:
    """The keywords that differ from their defaults, with the files that they name."""
    said: dict[str, str | int | bool] = {"semantics": Semantics.CANN.value}
    files: dict[str, bytes] = {}
    for name, (field, option) in _options().items():
        value = keywords.get(name)
        if name in _HOME_ALONE or value is None or value == _default(field, option):
            continue
        if isinstance(value, Path):
            path = config_path(name)
            files[path] = read_bytes(value, _MOST_BYTES)
            value = path
        said[name] = value if isinstance(value, int) else str(value)
    return Compiling(said, files)


def config_path(keyword: str) -> str:
    """The path in the kit of a file that a keyword names."""
    return f"{CONFIG}/{keyword}{_SUFFIXES.get(keyword, '.txt')}"


def _options() -> dict[str, tuple[OptionField, Option]]:
    pairs = {option.keyword: (field, option) for field, option in options_in(CompileOptions)}
    return {name: pair for name, pair in pairs.items() if name not in NOT_PACKED}


def _default(field: OptionField, option: Option) -> object:
    return field.default if option.default is msgspec.UNSET else option.default


def variants_of(
    name: str, shared: Compiling, soc: str, modes: Sequence[str], *, unfused: bool
) -> tuple[list[KitVariant], dict[str, bytes]]:
    """A variant for each mode, perhaps the first one without fusion, and files that they need.

    `name` is the model's, for the .om files; `unfused` asks for the first mode again, with the
    fusion switches off.
    """
    variants = [_variant(name, shared.keywords, soc, mode) for mode in dict.fromkeys(modes)]
    if not unfused or _SWITCHES in shared.keywords:
        return variants, {}
    path = f"{CONFIG}/without_fusion.cfg"
    keywords = {**shared.keywords, _SWITCHES: path}
    variants.append(_variant(name, keywords, soc, modes[0], unfused=True))
    return variants, {path: _WITHOUT_FUSION.encode()}


def _variant(
    name: str,
    keywords: Mapping[str, str | int | bool],
    soc: str,
    mode: str,
    *,
    unfused: bool = False,
) -> KitVariant:
    own = f"{mode}-unfused" if unfused else mode
    words = {
        "framework": "5",
        "model": MODEL,
        "output": f"{RUN_FOLDER}/{own}/om/{name}_{own.replace('-', '_')}",
        "soc_version": soc,
        "precision_mode": mode,
        **_atc_words(keywords),
    }
    return KitVariant(
        name=own,
        purpose="fusion" if unfused else "precision",
        atc=tuple(f"--{word}={value}" for word, value in words.items()),
        precision_mode=mode,
        without_fusion=unfused,
        compiling={**keywords, "soc": soc, "precision_mode": mode},
        dump=(),
        executes=0,
    )


def _atc_words(keywords: Mapping[str, str | int | bool]) -> dict[str, str]:
    """The options of atc among keywords, in the order of the options."""
    words = {}
    for name, (_, option) in _options().items():
        spelling = "input_shape" if name == "input_shape" else option.atc
        if name in keywords and spelling:
            words[spelling] = _spelled(option, keywords[name])
    return words


def _spelled(option: Option, value: str | int | bool) -> str:
    texts = option.values or {}
    known = (text for text, meaning in texts.items() if meaning == value)
    return next(known, str(int(value) if isinstance(value, bool) else value))
