"""Hints for unknown options and for operators off the list: sensible ones, or none."""

from collections.abc import Callable

import pytest

from tests.cli.conftest import Result

Atc = Callable[..., Result]


@pytest.mark.parametrize(
    ("line", "meant"),
    [
        (("convert", "--input-shap", "x"), "--input-shape"),
        (("convert", "--inptu_shape", "x"), "--input-shape"),
        (("convert", "--precison-mode=fp16"), "--precision-mode"),
        (("convert", "--out", "a.om"), "--output"),
        (("fix", "--no-for-precison"), "--no-for-precision"),
        (("--vresion",), "--version"),
        (("plan", "m.onnx", "--input", "x=x.npy"), "--data?"),
        (("quantize", "m.onnx", "-i", "x=x.npy"), "--data?"),
        (("run", "m.om", "--data", "x.npy"), "--input?"),
    ],
)
def test_misspelled_option_is_guessed(atc: Atc, line: tuple[str, ...], meant: str) -> None:
    done = atc(*line)
    assert (done.status, done.out) == (2, "")
    assert f"did you mean {meant}" in done.err


@pytest.mark.parametrize("option", ["--framework", "--framework=5", "--log"])
def test_option_of_atc_leads_to_its_command_line(atc: Atc, option: str) -> None:
    done = atc("convert", "m.onnx", option)
    name = option.partition("=")[0]
    assert done.status == 2
    assert done.err.startswith(f"error[ATC1001 bad-option-value]: no such option: {name}\n")
    assert f"{name} is an option of atc; `atc-py atc` takes atc's command line" in done.err
    assert "did you mean" not in done.err
    assert "--max-memory" not in done.err


@pytest.mark.parametrize("option", ["--soc", "--list", "--precision-mode"])
def test_several_values_lead_to_the_command_that_takes_them(atc: Atc, option: str) -> None:
    done = atc("check", "m.onnx", option, "a,b")
    assert done.status == 2
    assert f"{option} takes one value here" in done.err
    assert "`atc-py sweep` takes several" in done.err


def test_option_like_no_other_gets_no_guess(atc: Atc) -> None:
    done = atc("run", "--zzz", "m.om")
    assert done.err.splitlines() == [
        "error[ATC1001 bad-option-value]: no such option: --zzz",
        "  help: `atc-py run --help` shows the options",
    ]


@pytest.mark.parametrize("name", ["LayerNormalization", "layernormalization"])
def test_operator_off_the_list_says_what_rewrites_it(atc: Atc, name: str) -> None:
    done = atc("ops", "show", name, "--list", "base")
    assert (done.status, done.out) == (2, "")
    head, help_ = done.err.splitlines()
    assert head == (
        "error[ATC1008 unknown-name]: LayerNormalization is in ONNX, since opset 17, and not on "
        "the operator list base"
    )
    assert "`atc-py fix MODEL` rewrites it (rules: layer-norm-as-steps" in help_
    assert help_.endswith("it is on cann-9.0 (--list)")


def test_operator_off_the_list_that_nothing_rewrites_has_its_hint(atc: Atc) -> None:
    done = atc("ops", "show", "Optional", "--json")
    (found,) = done.json["diagnostics"]
    assert found["message"].startswith("Optional is in ONNX, since opset 15")
    assert "rewrites it" not in found["help"]
    assert "the target has no optional values" in found["help"]


def test_operator_that_onnx_lacks_gets_near_names(atc: Atc) -> None:
    done = atc("ops", "show", "Reluu")
    assert "no operator is called 'Reluu'" in done.err
    assert "did you mean" in done.err
