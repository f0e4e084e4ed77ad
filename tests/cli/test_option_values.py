"""Whatever stands in an option or an argument, a command ends with a documented status."""

from __future__ import annotations

import os
import resource
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from atc_py.diag import ExitCode
from tests.cli.option_values import (
    OFFLINE,
    READ,
    TEXTS,
    command_lines,
    overwriting_lines,
    write_files,
)
from tests.sampling import WHOLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.cli.conftest import Result

ROOM = 6 << 30
"""Bytes of memory that a line may take: what reads a device to its end takes more."""

STRIDE = 1 if WHOLE in os.environ else 29
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
