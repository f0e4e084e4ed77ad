"""Whatever stands in an option or an argument, a command ends with a documented status."""

from __future__ import annotations

import os
import resource
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from atc_py.diag import ExitCode
from tests.cli.option_values import OFFLINE, TEXTS, command_lines, write_files
from tests.sampling import WHOLE

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.cli.conftest import Result

ROOM = 6 << 30
"""Bytes of memory that a line may take: what reads a device to its end takes more."""

STRIDE = 1 if WHOLE in os.environ else 29
"""One line in so many is tried; no divisor of the number of texts or of a command's options."""

LINES = command_lines()
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


def test_every_text_comes_up_in_the_sample() -> None:
    lines = [line for each in LINES.values() for line in each[::STRIDE]]
    used = {word for line in lines for word in line}
    assert set(TEXTS.values()) <= used
