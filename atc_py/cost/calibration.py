"""Refitting the free factors to measured kernels, and the file that keeps them.

Least squares on the logarithm of estimated over measured time, so that a kernel of a microsecond
counts as much as one of a millisecond. The shares of the peak rates are free, each at most 1, and
the launch: those of cube, vector unit and transfers are by kind of kernel. A weak pull toward the
built-in factors of the SoC's family decides what measurements leave open.
"""

import json
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from msgspec import structs
from numpy.typing import NDArray

from atc_py.cost.cores import SERIAL, shares_of, ways_of
from atc_py.cost.estimate import Fit, waiting
from atc_py.cost.factors import EXPECTED, SHARES, Factors, expected_case
from atc_py.cost.measurements import LeftOut, Measurement
from atc_py.cost.operation import LaunchGroup
from atc_py.cost.work import memory_of
from atc_py.diag import BAD_FACTORS, Place
from atc_py.system.atomic_files import atomic_write
from atc_py.system.input_files import read_text
from atc_py.system.structs import replace
from atc_py.target import Soc
from atc_py.text import Text

_Floats: TypeAlias = NDArray[np.float64]
_Residuals: TypeAlias = Callable[[_Floats], _Floats]

_FORMAT, _VERSION = "atc-py cost factors", 2
_MOST_BYTES = 1 << 20
_FREE = (*SHARES, "launch")
_LEAST = np.log([*(0.01 for _ in SHARES), 1e-8])
_MOST = np.log([*(1.0 for _ in SHARES), 1e-2])
_PULL = 0.03
"""Weight of a built-in factor beside a measurement."""

_ROUNDS, _STEP, _ENOUGH = 60, 1e-4, 1e-9
_STARTS = (1.0, 0.4, 2.5)
"""Multiples of the built-in factors at which searches begin."""


@dataclass(frozen=True, slots=True)
class OperatorError:
    """Error of the estimates of an operator or a file: root mean square of the logarithm's error."""

    op: str
    count: int
    before: float
    after: float


@dataclass(frozen=True, slots=True)
class Calibration:
    """Result of a fit."""

    fit: Fit  # the factors, and what error they leave
    before: float  # root mean square error with the built-in factors; natural logarithm
    operators: tuple[OperatorError, ...]  # errors by operator
    count: int  # measurements
    soc: str
    # kinds of kernels that no fit takes, and how many there are of each
    left_out: tuple[tuple[LeftOut, int], ...] = ()
    files: tuple[OperatorError, ...] = ()  # errors by file, where there are several


class FactorModel:
    """The estimate of each sample, kernels that were measured together, by the free factors.

    A sample is one kernel alone or those of a whole network, with its time in `seconds`. `run` says
    whether it has the overhead of a run, for all samples or one by one.
    """

    def __init__(
        self,
        samples: Sequence[Sequence[LaunchGroup]],
        seconds: Sequence[float],
        soc: Soc,
        *,
        run: bool | Sequence[bool],
    ) -> None:
        case = expected_case(soc)
        self._run = case.factors.run * np.array(run)
        ways: list[list[float]] = []
        shares: list[list[int]] = []
        waits: list[float] = []
        first: list[int] = []
        counts: list[int] = []
        begin: list[int] = []
        for launches in samples:
            begin.append(len(first))
            for launch, count in Counter(launches).items():
                memory, names = memory_of(launch, soc, case), shares_of(launch, soc)
                first.append(len(ways))
                for busy in dict.fromkeys(ways_of(launch, soc, case, memory)):
                    shares.append([_FREE.index(name) for name in names])
                    ways.append([*structs.astuple(busy), memory.gm_read, memory.gm_write])
                waits.append(waiting(launch, soc, case.factors))
                counts.append(count)
        self._ways, self._shares = np.array(ways), np.array(shares)
        self._first, self._begin = np.array(first), np.array(begin)
        self._waits, self._counts = np.array(waits), np.array(counts)
        self._measured = np.log(seconds)

    def errors(self, logs: _Floats) -> _Floats:
        """The logarithms of estimated over measured time; `logs` are those of the free factors."""
        free = np.exp(logs)
        value = dict(zip(_FREE, free, strict=True))
        cube, vector, rows, mte1, read, written, fixp, gm_read, gm_write = self._ways.T
        of_cube, of_l2 = free[self._shares].T
        pipes = np.stack([
            cube / of_cube,
            vector / value["vector"] + rows / value["rows"],
            mte1,
            np.maximum(read / of_l2, gm_read / value["bandwidth"])
            + np.maximum(written / of_l2, gm_write / value["bandwidth"]),
            fixp,
        ])  # fmt: skip
        longest = pipes.max(axis=0)
        busy = longest + SERIAL * (pipes.sum(axis=0) - longest)
        each = np.minimum.reduceat(busy, self._first) + self._waits + value["launch"]
        seconds = np.add.reduceat(each * self._counts, self._begin) + self._run
        errors: _Floats = np.log(seconds) - self._measured
        return errors


def fitted_factors(
    model: FactorModel, soc: Soc, starts: Sequence[float] = (1.0,), pull: float = _PULL
) -> Factors:
    """The factors that fit samples best, from multiples of the built-in ones, with their `pull`."""
    factors = expected_case(soc).factors
    builtin = factor_logs(factors)

    def residuals(logs: _Floats) -> _Floats:
        return np.concatenate([model.errors(logs), pull * (logs - builtin)])

    found = min(
        (_search(residuals, builtin + math.log(start)) for start in starts),
        key=lambda logs: _loss(residuals, logs),
    )
    return replace(factors, **dict(zip(_FREE, map(float, np.exp(found)), strict=True)))


def factor_logs(factors: Factors) -> _Floats:
    """The logarithms of the free factors, as a model takes them."""
    logs: _Floats = np.log([getattr(factors, name) for name in _FREE])
    return logs


def calibrate(
    measured: Mapping[str, Sequence[Measurement]],
    soc: Soc,
    left_out: Mapping[LeftOut, int] | None = None,
) -> Calibration:
    """Refit the free factors to kernels and runs measured on a SoC, by the name of their file."""
    measurements = [each for found in measured.values() for each in found]
    model = FactorModel(
        [each.run or (each.launch,) for each in measurements],
        [each.seconds for each in measurements],
        soc,
        run=[bool(each.run) for each in measurements],
    )
    builtin = factor_logs(expected_case(soc).factors)
    factors = fitted_factors(model, soc, _STARTS)
    before, after = model.errors(builtin), model.errors(factor_logs(factors))
    operators = _errors_by([each.op for each in measurements], before, after)
    names = [name for name, found in measured.items() for _ in found]
    return Calibration(
        Fit(factors, _rms(after)),
        _rms(before),
        operators,
        len(measurements),
        soc.name,
        tuple((left_out or {}).items()),
        _errors_by(names, before, after) if len(measured) > 1 else (),
    )


def _errors_by(names: Sequence[str], before: _Floats, after: _Floats) -> tuple[OperatorError, ...]:
    found = []
    for name in sorted(set(names)):
        chosen = np.array([each == name for each in names])
        errors = _rms(before[chosen]), _rms(after[chosen])
        found.append(OperatorError(name, int(chosen.sum()), *errors))
    return tuple(found)


def _rms(errors: _Floats) -> float:
    return float(np.sqrt(np.mean(errors**2)))


def _loss(residuals: _Residuals, logs: _Floats) -> float:
    return float(np.sum(residuals(logs) ** 2))


def _search(residuals: _Residuals, start: _Floats) -> _Floats:
    """Minimize from `start` by the method of Levenberg and Marquardt, within the bounds."""
    logs = np.clip(start, _LEAST, _MOST)
    loss, damping = _loss(residuals, logs), 1e-2
    for _ in range(_ROUNDS):
        errors = residuals(logs)
        slopes = np.stack(
            [(residuals(logs + _STEP * unit) - errors) / _STEP for unit in np.eye(len(logs))],
            axis=1,
        )
        normal = slopes.T @ slopes
        step = np.linalg.solve(
            normal + damping * np.diag(np.diag(normal) + 1e-9), -slopes.T @ errors
        )
        tried = np.clip(logs + step, _LEAST, _MOST)
        better = _loss(residuals, tried)
        if better < loss:
            done = loss - better < _ENOUGH * loss
            logs, loss, damping = tried, better, damping / 3
            if done:
                break
        else:
            damping *= 4
    return logs


def save_fit(path: Path, done: Calibration) -> None:
    text = json.dumps(
        {
            "format": _FORMAT, "version": _VERSION, "soc": done.soc, "measurements": done.count,
            "spread": done.fit.spread, "factors": done.fit.factors.as_json(),
        },
        indent=2,
    )  # fmt: skip
    with atomic_write(path) as file:
        file.write(text.encode() + b"\n")


def load_fit(path: Path) -> tuple[str, Fit]:
    """The SoC and the factors in a file of `save_fit`; BAD_FACTORS for another file."""
    text = read_text(path, _MOST_BYTES)
    try:
        document: Any = json.loads(text)
    except (RecursionError, ValueError) as error:
        raise BAD_FACTORS.error(
            Text("{path} is not JSON: {error}", path=path, error=error), place=Place(str(path))
        ) from error
    problem = _problem(document)
    if problem:
        raise BAD_FACTORS.error(
            problem,
            place=Place(str(path)),
            help=Text("write the file again with --calibrate FILE.csv --save-factors"),
        )
    factors = Factors(**{name: float(value) for name, value in document["factors"].items()})
    return document["soc"], Fit(factors, float(document["spread"]))


def _problem(document: Any) -> Text:
    if not isinstance(document, dict) or document.get("format") != _FORMAT:
        return Text("the file must have the format {format}", format=repr(_FORMAT))
    if document.get("version") != _VERSION:
        return Text(
            "the format version must be {version}, found {document}",
            version=_VERSION,
            document=repr(document.get("version")),
        )
    if not isinstance(document.get("soc"), str):
        return Text("the file must name the SoC")
    return _impossible(document.get("factors"), document.get("spread"))


def _impossible(factors: Any, spread: Any) -> Text:
    wanted = EXPECTED.factors.as_json()
    if not isinstance(factors, dict) or factors.keys() != wanted.keys():
        return Text("the factors must be {wanted}", wanted=", ".join(wanted))
    if not _is_figure(spread, math.inf):
        return Text(
            "the spread must be a number of at least 0, found {spread}", spread=repr(spread)
        )
    for name, value in factors.items():
        most = 1.0 if name in SHARES else math.inf
        if not _is_figure(value, most) or value == 0:
            limit = Text(" up to 1") if most == 1.0 else ""
            return Text(
                "{name} must be a number above 0{limit}, found {value}",
                name=name,
                limit=limit,
                value=repr(value),
            )
    return Text("")


def _is_figure(value: object, most: float) -> bool:
    """True if a value is a finite number from 0 to `most`."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return False
    return math.isfinite(value) and 0 <= value <= most
