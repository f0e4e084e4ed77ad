"""Checking model files: each is read, surveyed and held against the specifications."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.check.bound import Conditions
from atc_py.check.evaluate import check_view
from atc_py.check.findings import CheckReport, ModelCheck
from atc_py.diag import AtcError
from atc_py.diag.codes import BAD_INPUT_SHAPE
from atc_py.frontend.history import history
from atc_py.frontend.read import read_model
from atc_py.frontend.survey import survey
from atc_py.input_shapes import INPUT_SHAPE_PLACE, format_input_shapes
from atc_py.spec import specifications
from atc_py.target import find_soc

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from atc_py.config import CheckOptions
    from atc_py.diag import Diagnostic

__all__ = ["check_files"]


def check_files(models: Sequence[Path], options: CheckOptions) -> CheckReport:
    """Check every one of `models`; one that cannot be read does not keep the others from it.

    Raises:
        AtcError: UNKNOWN_SOC; BAD_INPUT_SHAPE for shapes that fit no input of any model, or none
            of the only one; BAD_SPEC and file errors of the user's specifications.
    """
    conditions = Conditions(options.precision_mode, find_soc(options.soc))
    specs = specifications(options.op_specs)
    unused = set(options.input_shapes)
    checks: list[ModelCheck] = []
    for path in models:
        try:
            file = read_model(path, lenient=True)
        except AtcError as error:
            checks.append(_unread(path, error.diagnostics))
            continue
        names = {each.name for each in file.inputs}
        shapes = options.input_shapes
        if len(models) > 1:
            shapes = {name: shape for name, shape in shapes.items() if name in names}
        unused -= names
        view = survey(file, shapes)
        checks.append(check_view(view, conditions, specs, history()).check)
    _refuse_unused(unused, checks)
    mode = options.precision_mode.value
    return CheckReport(tuple(checks), mode, conditions.soc.name, _further(options))


def _further(options: CheckOptions) -> dict[str, str]:
    """The options beside mode and SoC that were given, as the command line spells them."""
    given = {
        "input_shape": format_input_shapes(options.input_shapes),
        "op_specs": "" if options.op_specs is None else str(options.op_specs),
    }
    return {name: text for name, text in given.items() if text}


def _unread(path: Path, faults: tuple[Diagnostic, ...]) -> ModelCheck:
    """The check of a file of which no graph can be made."""
    return ModelCheck(str(path), "", {}, 0, 0, (), faults)


def _refuse_unused(unused: set[str], checks: Sequence[ModelCheck]) -> None:
    """Refuse shapes for inputs that no model has; a file that cannot be read may have them."""
    if unused and all(check.opsets for check in checks):
        names = ", ".join(repr(name) for name in sorted(unused))
        raise BAD_INPUT_SHAPE.error(
            f"no model has an input {names}",
            place=INPUT_SHAPE_PLACE,
            help="`atc-py check MODEL` of one model alone names its inputs",
        )
