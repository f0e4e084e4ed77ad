"""What `check` and `convert` say of one model, and whether they contradict each other."""

import traceback
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from atc_py import api
from atc_py.check.findings import Standing
from atc_py.diag import AtcError, ExitCode


@dataclass(frozen=True)
class Verdict:
    """The verdict of one command on a model.

    Attributes:
        errors: code and message of every error.
        undecided: whether something is not decided.
        crash: the traceback of an answer that is not a coded refusal; "" for none.
    """

    errors: tuple[tuple[str, str], ...] = ()
    undecided: bool = False
    crash: str = ""

    @property
    def codes(self) -> frozenset[str]:
        """The codes of the errors."""
        return frozenset(code for code, _ in self.errors)


@dataclass(frozen=True)
class Pair:
    """The verdicts of both commands on a model."""

    check: Verdict
    convert: Verdict

    @property
    def kind(self) -> str:
        """The kind of contradiction between them, with the codes; "" where there is none."""
        if self.check.crash or self.convert.crash:
            name = "check" if self.check.crash else "convert"
            last = (self.check.crash or self.convert.crash).strip().splitlines()[-1]
            return f"{name} crashes: {last[:120]}"
        if self.check.errors and not self.convert.errors:
            return f"check alone refuses: {_shown(self.check)}"
        if self.convert.errors and not self.check.errors and not self.check.undecided:
            return f"convert alone refuses: {_shown(self.convert)}"
        return ""

    @property
    def outcome(self) -> str:
        """The outcome of the model, in a word or two."""
        if self.kind:
            return "contradiction"
        if self.check.errors:
            alike = self.check.codes >= self.convert.codes
            return "refused by both" if alike else "refused by both, with other codes"
        return "not decided" if self.check.undecided else "converted"


def verdicts(path: Path, **options: Any) -> Pair:
    """Return the verdicts of both commands on the model at `path`; the offline model is deleted.

    Args:
        path: an ONNX file.
        **options: of `api.check_models` and `api.convert` alike.
    """
    om = path.with_suffix(".om")
    checked = _verdict(lambda: _checked(path, options))
    converted = _verdict(lambda: _converted(path, om, options))
    om.unlink(missing_ok=True)
    return Pair(checked, converted)


def _shown(verdict: Verdict) -> str:
    """Return the codes and the first message."""
    return f"{' '.join(sorted(verdict.codes))} ({verdict.errors[0][1][:160]})"


def _checked(path: Path, options: dict[str, Any]) -> Verdict:
    """Return the verdict of `check`."""
    (model,) = api.check_models(path, **options).models
    errors = [(each.code.id, str(each.message)) for each in model.faults]
    errors += [
        (each.code.id, each.message.en)
        for each in model.findings
        if each.standing is Standing.ERROR
    ]
    undecided = any(each.standing is Standing.UNKNOWN for each in model.findings)
    return Verdict(tuple(errors), undecided)


def _converted(path: Path, om: Path, options: dict[str, Any]) -> Verdict:
    """Return the verdict of `convert` where it refuses nothing."""
    api.convert(path, om, **options)
    return Verdict()


def _verdict(command: Callable[[], Verdict]) -> Verdict:
    """Return the verdict of a command, or its exception; an internal error is a crash."""
    try:
        return command()
    except AtcError as error:
        if error.exit_code is ExitCode.BUG:
            return Verdict(crash=traceback.format_exc())
        return Verdict(tuple((each.code.id, each.message) for each in error.diagnostics))
    except Exception:  # noqa: BLE001  (what is looked for)
        return Verdict(crash=traceback.format_exc())
