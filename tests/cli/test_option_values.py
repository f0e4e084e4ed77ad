"""Whatever stands in an option or an argument, a command ends with a documented status."""

import os
import resource
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest

from atc_py.cli.main import cli
from atc_py.diag import ExitCode
from tests.cli.conftest import Result
from tests.cli.option_values import (
    OFFLINE,
    READ,
    TEXTS,
    command_lines,
    overwriting_lines,
    write_files,
)
from tests.sampling import WHOLE

ROOM = 6 << 30
"""Bytes of memory that a line may take: what reads a device to its end takes more."""

STRIDE = 1 if WHOLE in os.environ else 113
"""One line in so many is tried; no divisor of the number of texts or of a command's options."""

LINES, OVERWRITING = command_lines(), overwriting_lines()
WRITING = frozenset(
    {
        "--output",
        "--report",
        "--record",
        "--trace",
        "--suggest",
        "--save",
        "--int8",
        "--external-data",
    }
)
"""Options that name a file to write; `convert` adds a suffix to its own."""

STATUSES = {int(each) for each in ExitCode} - {int(ExitCode.BUG)}


@pytest.fixture(autouse=True)
def _limited_memory() -> Iterator[None]:
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    limits = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (pages * resource.getpagesize() + ROOM, limits[1]))
    yield
    resource.setrlimit(resource.RLIMIT_AS, limits)


@pytest.mark.parametrize("command", LINES)
def test_command_ends_with_a_documented_status(
    atc: Callable[..., Result], tmp_path: Path, command: str
) -> None:
    write_files(tmp_path)
    assert atc("convert", "small.onnx", "-o", OFFLINE).status == 0
    offline = (tmp_path / OFFLINE).read_bytes()
    allowed = STATUSES | ({255} if command == "atc" else set())
    wrong = []
    for line in LINES[command][::STRIDE]:
        done = atc(*line)
        said = done.out + done.err
        if done.status not in allowed or "internal-error" in said:
            wrong.append((line, done.status, done.err[-400:]))
        write_files(tmp_path)
        (tmp_path / OFFLINE).write_bytes(offline)
    assert wrong == []


@pytest.mark.parametrize("command", OVERWRITING)
def test_nothing_that_a_command_reads_is_written(
    atc: Callable[..., Result], tmp_path: Path, command: str
) -> None:
    write_files(tmp_path)
    assert atc("convert", "small.onnx", "-o", OFFLINE).status == 0
    before = {name: (tmp_path / name).read_bytes() for name in READ}
    for line in OVERWRITING[command]:
        done = atc(*line)
        assert done.status in STATUSES, line
        assert {name: (tmp_path / name).read_bytes() for name in READ} == before, line
        if command != "convert" and WRITING.intersection(line):
            assert done.status, line


def test_every_text_comes_up_in_the_sample() -> None:
    lines = [line for each in LINES.values() for line in each[::STRIDE]]
    used = {word for line in lines for word in line}
    assert set(TEXTS.values()) <= used


@pytest.mark.parametrize("command", [name for name in LINES if name != "atc"])
def test_option_given_twice_adds_up_or_is_refused(atc: Callable[..., Result], command: str) -> None:
    words = command.split()
    found: click.Command = cli
    for word in words:
        assert isinstance(found, click.Group)
        inner = found.get_command(click.Context(found), word)
        assert inner is not None
        found = inner
    for option in found.params:
        if not isinstance(option, click.Option) or option.multiple or option.count:
            continue
        value = [] if option.is_flag else ["1"]
        line = (*words, option.opts[0], *value, [*option.opts, *option.secondary_opts][-1], *value)
        takes_one = not option.is_flag or bool(option.secondary_opts)
        done = atc(*line)
        assert ("is given twice, and takes one value" in done.err) is takes_one, line
        assert done.status == 2 or not takes_one


def test_values_of_a_sweep_add_up(atc: Callable[..., Result], tmp_path: Path) -> None:
    write_files(tmp_path)
    twice = ("--soc", "sim", "--soc", "Ascend310P3", "--list", "base", "--list", "cann-9.0")
    modes = ("--precision-mode", "force_fp16,", "--precision_mode", "force_fp32")
    done = atc("sweep", "small.onnx", *twice, *modes, "-o", "out", "--jobs", 1, "--no-reports")
    assert done.out.startswith("8 rows: "), done.err


def test_help_comes_before_the_refusal_of_a_second_value(atc: Callable[..., Result]) -> None:
    assert atc("convert", "--soc", "A", "--soc", "B", "--help").status == 0
