"""The call of `atc-py fix` that helps a refused model, with the options that the check was given."""

import shlex

from atc_py.check.findings import CheckReport, FixAdvice
from atc_py.options.bound_values import bind_options
from atc_py.options.compile_options import DEFAULT_LIST, PrecisionMode
from atc_py.report.escape import visible

_FLAGS = frozenset({"only_atc_passes", "strict_list"})
_ELSEWHERE = frozenset({"input_shape", "operator_list"})
_GENERIC = "sim"


def fix_command(report: CheckReport, path: str, advice: FixAdvice) -> str:
    """Return `atc-py fix m.onnx --list cann-9.0 --bind sr=16000`, quoted for a shell.

    Args:
        report: what was checked, with which options.
        path: the model.
        advice: what helps it.
    """
    words = ["atc-py", "fix", path]
    if report.operator_list != DEFAULT_LIST:
        words += ["--list", report.operator_list]
    if report.precision_mode not in {"", PrecisionMode.FORCE_FP16.value}:
        words += ["--precision-mode", report.precision_mode]
    if report.soc not in {"", _GENERIC}:
        words += ["--soc", report.soc]
    for name, value in report.options.items():
        if name in _ELSEWHERE:
            continue
        option = f"--{name.replace('_', '-')}"
        words += [option] if name in _FLAGS else [option, value]
    if advice.input_shape:
        words += ["--input-shape", advice.input_shape]
    for each in bind_options(advice.bind):
        words += each.split(" ", 1)
    return " ".join(shlex.quote(visible(each)) for each in words)
