"""Signals that end the command: exit status, message, and handlers that are put back."""

import signal
import threading
from collections.abc import Callable

import click
import pytest

from atc_py.cli import start
from atc_py.cli.guards import SignalledError, signals_as_exceptions
from atc_py.cli.main import cli
from tests.cli.conftest import Result

Atc = Callable[..., Result]

ENDING = [signal.SIGINT, signal.SIGTERM, signal.SIGHUP]


@pytest.mark.parametrize(
    ("number", "word"),
    [(signal.SIGINT, "interrupted"), (signal.SIGTERM, "terminated"), (signal.SIGHUP, "ended by")],
)
def test_signal_ends_the_command_with_its_status(
    atc: Atc, monkeypatch: pytest.MonkeyPatch, number: signal.Signals, word: str
) -> None:
    before = [signal.getsignal(each) for each in ENDING]

    @click.command()
    def stuck() -> None:
        signal.raise_signal(number)

    monkeypatch.setitem(cli.commands, "stuck", stuck)
    done = atc("stuck")
    assert done.status == 128 + number
    assert done.out == ""
    assert done.err.startswith(word)
    assert "no output file is left partially written" in done.err
    assert [signal.getsignal(each) for each in ENDING] == before


def test_second_signal_has_the_effect_that_it_has_for_others() -> None:
    seen: list[object] = []

    def ended() -> None:
        with signals_as_exceptions():
            try:
                signal.raise_signal(signal.SIGTERM)
            finally:
                seen.extend(signal.getsignal(each) for each in ENDING)

    with pytest.raises(SignalledError):
        ended()
    assert seen == [signal.SIG_DFL] * 3


def test_signal_that_is_ignored_stays_ignored() -> None:
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        with signals_as_exceptions():
            signal.raise_signal(signal.SIGHUP)
        assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    finally:
        signal.signal(signal.SIGHUP, before)


def test_other_threads_leave_signals_alone() -> None:
    seen = []

    def inside() -> None:
        with signals_as_exceptions():
            seen.append(signal.getsignal(signal.SIGTERM))

    before = signal.getsignal(signal.SIGTERM)
    thread = threading.Thread(target=inside)
    thread.start()
    thread.join()
    assert seen == [before]


def test_ctrl_c_during_the_imports_is_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    seen = []
    before = signal.getsignal(signal.SIGINT)
    monkeypatch.setattr(
        "atc_py.cli.main.main", lambda: seen.append(signal.getsignal(signal.SIGINT))
    )
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        start.main()
    finally:
        signal.signal(signal.SIGINT, before)
    assert seen == [signal.SIG_DFL]
