"""Command lines with a hostile text in each place that takes one, derived from the commands."""

import os
from collections.abc import Iterator
from pathlib import Path

import click
import numpy as np
import onnx

from atc_py.adapters.atc.options import OPTIONS
from atc_py.cli.main import cli
from tests.cli.conftest import small_model

MODEL, OFFLINE, SAMPLES = "small.onnx", "small.om", "samples"
AIPP, PICTURE = "aipp.cfg", "picture.npy"
WEIGHTS, HARD, SOFT = "weights.data", "hard.bin", "soft.bin"
"""Files that the lines name."""

READ = (MODEL, OFFLINE, WEIGHTS, f"{SAMPLES}/one.npz", AIPP, PICTURE)
"""Those that some line reads."""

_LONG = "a" * 300

TEXTS = {
    "nothing": "",
    "long name": _LONG,
    "below a long name": f"{_LONG}/x",
    "long name after =": f"x={_LONG}",
    "long name after colon": f"x:{_LONG}",
    "longer than a path": "a" * 5000,
    "long in bytes": "é" * 300,
    "no text": "\udcff\udcfe",
    "loop of links": "loop",
    "pipe": "pipe",
    "pipe after =": "x=pipe",
    "folder of a pipe": "pipes",
    "below a file": f"{MODEL}/x",
    "below a folder of the kernel": "/proc/nope/x",
    "full device": "/dev/full",
    "file that cannot be read": "/proc/self/mem",
    "folder": "samples",
    "name alone": "x=",
    "equals": "=",
    "colon": ":",
    "comma": ",",
    "semicolon": ";",
    "minus": "-1",
    "nan": "nan",
    "infinity": "1e999",
    "long number": "9" * 400,
    "more digits than int takes": "9" * 5000,
    "cut number": "0x",
    "digit of another script": "\u0663",
    "two shapes": "x:1,2;",
    "format": "%s{0}",
    "open list": "[",
    "open object": "{",
    "escape": "\x1b[31m",
}
"""Texts by what is odd about them."""

_USUAL: dict[str, tuple[str, ...]] = {
    "aipp": (AIPP, PICTURE),
    "atc": (f"--model={MODEL}", "--framework=5", "--output=o", "--soc_version=Ascend310P3"),
    "check": (MODEL,),
    "compare": (MODEL,),
    "completion": ("bash",),
    "config": (),
    "convert": (MODEL,),
    "diff": (OFFLINE, OFFLINE),
    "exec": ("--", "true"),
    "explain": ("ATC1001",),
    "export": (MODEL,),
    "fix": (MODEL,),
    "info": (MODEL,),
    "kernels": (OFFLINE,),
    "board": (),
    "ops": (),
    "plan": (MODEL, "--samples", SAMPLES, "--target", "cosine=0.9"),
    "profile": (MODEL,),
    "quantize": (MODEL, "--random", "1"),
    "report": (MODEL,),
    "run": (OFFLINE, "--random", "0"),
    "socs": (),
    "sweep": (MODEL, "-o", "results"),
}
"""Arguments with which each command ends well or nearly so."""


def command_lines() -> dict[str, list[tuple[str, ...]]]:
    """Return lines by command: each text as the value of each option, as an argument, and as one more."""
    found = {
        " ".join(words): [
            line for text in TEXTS.values() for line in _lines_with(text, words, command)
        ]
        for words, command in _commands(cli, ())
    }
    found["atc"] = [
        ("atc", *(each for each in _USUAL["atc"] if not each.startswith(f"--{name}=")), option)
        for text in TEXTS.values()
        for name in OPTIONS
        for option in (f"--{name}={text}",)
    ]
    return found


def overwriting_lines() -> dict[str, list[tuple[str, ...]]]:
    """Return lines by command: each option with a path gets one that is read, under some name."""
    names = (WEIGHTS, HARD, SOFT, f"{SAMPLES}/../{WEIGHTS}")
    found: dict[str, list[tuple[str, ...]]] = {}
    for words, command in _commands(cli, ()):
        read = {"aipp": PICTURE, "diff": OFFLINE, "kernels": OFFLINE, "run": OFFLINE}.get(words[0])
        paths = [each for each in command.params if isinstance(each.type, click.Path)]
        own = [max(each.opts, key=len) for each in paths if isinstance(each, click.Option)]
        for at, option in enumerate(sorted(set(own) - _SHARED)):
            usual = _USUAL[words[0]] if len(words) == 1 else ()
            end = usual.index("--") if "--" in usual else len(usual)
            text = read or names[at % len(names)]
            line = (*words, *usual[:end], option, text, *usual[end:])
            found.setdefault(" ".join(words), []).append(line)
    for form in ("fix", "quantize"):
        found[form].append((form, *_USUAL[form], "--external-data", "-o", "weights"))
    return found


_SHARED = frozenset(
    {"--keep-dtype", "--customize-dtypes", "--modify-mixlist", "--op-precision-mode"}
    | {"--insert_op_conf", "--fusion-switch-file", "--op-specs", "--templates"}
    | {"--aipp-settings"}
)
"""Options of many commands that name files to read."""


def _lines_with(
    text: str, words: tuple[str, ...], command: click.Command
) -> Iterator[tuple[str, ...]]:
    """Yield the lines of a command that have a text in one place."""
    usual = _USUAL[words[0]] if len(words) == 1 else ()
    end = usual.index("--") if "--" in usual else len(usual)
    for parameter in command.params:
        if not isinstance(parameter, click.Option):
            yield (*words, text, *usual[1:])
            yield (*words, *usual, text)
        elif not parameter.is_flag:
            others = _without(parameter.opts, usual[:end])
            yield (*words, *others, max(parameter.opts, key=len), text, *usual[end:])


def _without(options: list[str], line: tuple[str, ...]) -> tuple[str, ...]:
    """Leave out an option with its value, for most are refused when they are given twice."""
    at = next((at for at, word in enumerate(line) if word in options), len(line))
    return line[:at] + line[at + 2 :]


def write_files(folder: Path) -> None:
    """Write the files that the lines name, but for the offline model."""
    for name in (WEIGHTS, HARD):
        (folder / name).unlink(missing_ok=True)
    onnx.save(
        small_model(),
        folder / MODEL,
        save_as_external_data=True,
        location=WEIGHTS,
        size_threshold=0,
    )
    (folder / HARD).hardlink_to(folder / WEIGHTS)
    (folder / SAMPLES).mkdir(exist_ok=True)
    np.savez(folder / SAMPLES / "one.npz", x=np.zeros((1, 3, 8, 8), np.float32))
    (folder / AIPP).write_text("aipp_op { aipp_mode: static input_format: RGB888_U8 }")
    np.save(folder / PICTURE, np.zeros((4, 6, 3), np.uint8))
    if (folder / "loop").is_symlink():
        return
    (folder / "loop").symlink_to("loop")
    (folder / SOFT).symlink_to(WEIGHTS)
    (folder / "pipes").mkdir()
    for pipe in ("pipe", "pipes/x.npy"):
        os.mkfifo(folder / pipe)


def _commands(
    group: click.Group, words: tuple[str, ...]
) -> Iterator[tuple[tuple[str, ...], click.Command]]:
    """Yield the commands below a group, with the words that call them."""
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        if isinstance(command, click.Group):
            yield from _commands(command, (*words, name))
        elif command is not None:
            yield (*words, name), command
