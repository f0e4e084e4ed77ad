"""Fits the factors of the cost model to figures of boards, and says how good they are on others.

    python -m tests.bench.fitting FOLDER            refit, with the cross-validation
    python -m tests.bench.fitting FOLDER --write    estimate again and write tests/cost/measured.tsv

FOLDER has the networks that the table names, NAME.onnx with inputs x0, x1 ... and an open batch.
Networks without a file keep their estimate and are left out of the fit. Launches are kept beside
the models, so that the next fit takes seconds; remove FOLDER/launches after passes have changed.
"""

import pickle
import random
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import click
import numpy as np
from numpy.typing import NDArray

from atc_py.cost.calibration import FactorModel, factor_logs, fitted_factors
from atc_py.cost.estimate import estimate
from atc_py.cost.factors import EXPECTED, evidence_of, expected_case
from atc_py.cost.operation import LaunchGroup
from atc_py.cost.reading import launches_of
from atc_py.diag import AtcError
from atc_py.pipeline.opened import opened_model
from atc_py.target import Soc, find_soc
from tests.cost.figures import (
    KERNELS_SOC,
    NETWORKS,
    Figure,
    figures,
    measured_kernels,
    write_figures,
)

FOLDS = 8
PULL = 0.5
"""Weight of a built-in factor beside a figure; figures of a network are alike, so that few decide."""

LISTS = ("base", "cann-9.0")
"""Lists of operators, the first that takes a network counts."""


def launches(folder: Path, figure: Figure) -> list[LaunchGroup]:
    """Return the launches of a network, which are kept in a file."""
    path = (
        folder / "launches" / f"{figure.network}@{figure.soc}@{figure.batch}{'@aipp' * figure.aipp}"
    )
    if not path.exists():
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(pickle.dumps(_compiled(folder, figure)))
    found: list[LaunchGroup] = pickle.loads(path.read_bytes())  # noqa: S301  (written here)
    return found


def _compiled(folder: Path, figure: Figure) -> list[LaunchGroup]:
    shapes = {
        f"x{at}": tuple(int(dim.replace("b", str(figure.batch))) for dim in dims.split(","))
        for at, dims in enumerate(figure.dims.split(";"))
    }
    for name in LISTS:
        try:
            with opened_model(
                folder / f"{figure.network}.onnx",
                soc=figure.soc,
                input_shape=shapes,
                operator_list=name,
                aipp=_aipp(folder, shapes["x0"]) if figure.aipp else None,
            ) as model:
                return [placed.launch for placed in launches_of(model.description)]
        except AtcError as error:  # noqa: PERF203  (two lists at most)
            refused = error
    raise refused


def _aipp(folder: Path, shape: tuple[int, ...]) -> Path:
    """A configuration of AIPP for pictures of bytes as large as the input."""
    height, width = shape[2:]
    path = folder / f"aipp-{height}x{width}.cfg"
    path.write_text(
        "aipp_op {\n  aipp_mode: static\n  input_format: RGB888_U8\n"
        f"  src_image_size_w: {width}\n  src_image_size_h: {height}\n"
        "  mean_chn_0: 124\n  mean_chn_1: 117\n  mean_chn_2: 104\n"
        "  var_reci_chn_0: 0.0171\n  var_reci_chn_1: 0.0175\n  var_reci_chn_2: 0.0174\n}\n",
        encoding="utf-8",
    )
    return path


def summary(errors: Sequence[float] | NDArray[np.float64], soc: str) -> str:
    """Return mean and spread of estimated over measured time, and the share inside the range."""
    logs = np.asarray(errors)
    near = [f"{np.mean(np.abs(logs) < np.log(limit)):.0%} within {limit}x" for limit in (1.3, 1.5)]
    ends = np.exp(-np.quantile(logs, [0.975, 0.025]))
    evidence = evidence_of(find_soc(soc))
    inside = np.mean((np.exp(-logs) >= evidence.low) & (np.exp(-logs) <= evidence.high))
    return (
        f"{len(logs)} figures: mean {np.exp(logs.mean()):.2f}, spread x{np.exp(logs.std()):.2f}, "
        f"{', '.join(near)}, {inside:.0%} from {evidence.low:g} to {evidence.high:g} of the estimate, "
        f"95 % from {ends[0]:.2f} to {ends[1]:.2f}"
    )


def _on_others(
    soc: str, groups: Mapping[str, list[tuple[Figure, list[LaunchGroup]]]]
) -> Iterator[float]:
    """Yield the errors of each network with factors that were fitted to other ones."""
    names = sorted(groups)
    random.Random(1).shuffle(names)  # noqa: S311  (a split of networks)
    for fold in range(FOLDS):
        out = set(names[fold::FOLDS])
        model = _model(soc, [each for name in names if name not in out for each in groups[name]])
        logs = factor_logs(fitted_factors(model, find_soc(soc), pull=PULL))
        for name in sorted(out):
            yield from _model(soc, groups[name]).errors(logs)


def _model(soc: str, samples: Sequence[tuple[Figure, list[LaunchGroup]]]) -> FactorModel:
    seconds = [figure.measured for figure, _ in samples]
    return FactorModel([kernels for _, kernels in samples], seconds, find_soc(soc), run=True)


def by_kind() -> Iterator[str]:
    """Yield the errors of each kind of single kernel: 310P's factors, and those fitted to others."""
    soc = find_soc(KERNELS_SOC)
    measured = list(measured_kernels())
    model = _of_kernels(measured)
    places = list(range(len(measured)))
    random.Random(1).shuffle(places)  # noqa: S311  (a split of kernels)
    others = np.zeros(len(places))
    for fold in range(FOLDS):
        out = places[fold::FOLDS]
        rest = _of_kernels([measured[at] for at in places if at not in out])
        logs = factor_logs(fitted_factors(rest, soc, pull=PULL))
        others[out] = model.errors(logs)[out]
    plain = model.errors(factor_logs(EXPECTED.factors))
    builtin = model.errors(factor_logs(expected_case(soc).factors))
    yield f"{soc.name} built in: {summary(builtin, soc.name)}"
    yield f"  fitted to other kernels: {summary(others, soc.name)}"
    yield "  root mean square error: factors of 310P, built in, fitted to others"
    names = np.array([launch.operations[0].row.name for launch, _ in measured])
    for name in sorted(set(names)):
        errors = (each[names == name] for each in (plain, builtin, others))
        rates = ", ".join(f"{np.sqrt(np.mean(each**2)):.2f}" for each in errors)
        yield f"  {name} ({np.sum(names == name)}): {rates}"


def _of_kernels(measured: Sequence[tuple[LaunchGroup, float]]) -> FactorModel:
    seconds = [each for _, each in measured]
    return FactorModel(
        [[launch] for launch, _ in measured], seconds, find_soc(KERNELS_SOC), run=False
    )


def run_seconds(kernels: Sequence[LaunchGroup], soc: Soc) -> float:
    """Return the expected time of a run of kernels one after another."""
    run = expected_case(soc).factors.run
    return sum(estimate(kernel, soc).expected for kernel in kernels) + run


def main(folder: Path, *, write: bool) -> None:
    """Fit each SoC's figures, or write the table with new estimates."""
    table = list(figures())
    here = {each.network for each in table if (folder / f"{each.network}.onnx").exists()}
    found = {each: launches(folder, each) for each in table if each.network in here}
    if write:
        write_figures(
            each.estimated(run_seconds(found[each], find_soc(each.soc))) if each in found else each
            for each in table
        )
        return
    for soc in NETWORKS:
        groups: dict[str, list[tuple[Figure, list[LaunchGroup]]]] = {}
        for figure, kernels in found.items():
            if figure.soc == soc and not figure.of_other_kernels:
                groups.setdefault(figure.network, []).append((figure, kernels))
        model = _model(soc, [each for pairs in groups.values() for each in pairs])
        builtin = expected_case(find_soc(soc)).factors
        click.echo(f"{soc} built in: {summary(model.errors(factor_logs(builtin)), soc)}")
        factors = fitted_factors(model, find_soc(soc), pull=PULL)
        click.echo(f"  refitted: {summary(model.errors(factor_logs(factors)), soc)}")
        click.echo(f"  fitted to other networks: {summary(list(_on_others(soc, groups)), soc)}")
        values = (f"{name} {value:.3g}" for name, value in factors.as_json().items())
        click.echo(f"  {', '.join(values)}")
    for line in by_kind():
        click.echo(line)


if __name__ == "__main__":
    main(Path(sys.argv[1]), write="--write" in sys.argv)
