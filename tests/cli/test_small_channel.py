"""`convert --enable-small-channel`: what it stores, where it says that it has no effect, results."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

import atc_py
from tests.cli.conftest import Result
from tests.device.stored_models import assert_same_bits

Atc = Callable[..., Result]

PLANES, SMALL = 9, 3
"""Planes of 16 x 16 of a 3 x 3 filter of at most 4 channels: one a tap, or 4 x 9 / 16."""

AROUND = 1024
"""Bytes before and behind the constants."""


def weights_of(atc: Atc, om: str) -> int:
    found: int = atc("info", om, "--json").json["memory"]["weights"]
    return found


@pytest.mark.parametrize("spelling", ["--enable-small-channel", "--enable_small_channel"])
def test_filters_of_few_channels_take_fewer_bytes(atc: Atc, model: Path, spelling: str) -> None:
    soc = ("--soc", "Ascend910B3", "--verify")
    plain = atc("convert", "-v", model, "-o", "plain.om", *soc, f"{spelling}=0")
    small = atc("convert", "-v", model, "-o", "small.om", *soc, f"{spelling}=1")
    assert (plain.status, small.status) == (0, 0)
    assert "ATC6030" not in small.out + small.err
    nbytes = [weights_of(atc, om) - AROUND for om in ("small.om", "plain.om")]
    assert nbytes[0] * PLANES == nbytes[1] * SMALL
    assert "FRACTAL_Z_C04" in atc("info", "small.om", "--layout").out
    with (
        atc_py.load("plain.om") as one,
        atc_py.load("small.om") as other,
        atc_py.load("small.om", storage="exact") as exact,
    ):
        (port,) = one.inputs
        dims = [length or 1 for length in port.shape]
        x = np.random.default_rng(0).standard_normal(dims).astype(np.float32)
        wanted = one.run({port.name: x})
        assert_same_bits(other.run({port.name: x}), wanted)
        assert_same_bits(exact.run({port.name: x}), wanted)


@pytest.mark.parametrize("soc", ["sim", "Ascend310P3", "Ascend610"])
def test_option_says_where_it_has_no_effect(atc: Atc, model: Path, soc: str) -> None:
    plain = atc("convert", "-v", model, "-o", "plain.om", "--soc", soc)
    done = atc("convert", "-v", model, "-o", "small.om", "--soc", soc, "--enable-small-channel=1")
    assert (plain.status, done.status) == (0, 0)
    assert "ATC6030" not in plain.out
    assert f"--enable-small-channel has no effect on {soc}" in done.out
    assert weights_of(atc, "plain.om") == weights_of(atc, "small.om")


def test_value_is_0_or_1(atc: Atc, model: Path) -> None:
    assert atc("convert", "-v", model, "--enable-small-channel=2").status == 2
