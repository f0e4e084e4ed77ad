"""Checks that a kit and what came back belong together: inputs, SoC, model file, outputs, release."""

import hashlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

import msgspec
import numpy as np

from atc_py.adapters.board.layout import BoardRun, HostFacts, KitSample, Manifest
from atc_py.diag import AtcError
from atc_py.options.compile_options import release_of
from atc_py.package.ge.model import HuaweiModel
from atc_py.pipeline.huawei_facts import soc_of
from atc_py.pipeline.running.array_files import read_npy
from atc_py.results.board import BoardCheck, CheckState
from atc_py.tensor.sameness import same_elements
from atc_py.text import COMMA, Text

INPUTS_CHECK = Text("the board was fed the inputs of the kit")
SOC_CHECK = Text("kit, model and host have the same SoC")
OM_CHECK = Text("all runs loaded the same model file")
OUTPUTS_CHECK = Text("outputs with and without a dump are equal")
BENCH_CHECK = Text("outputs of ais_bench and pyACL are equal")
CANN_CHECK = Text("the host has the release of CANN that the kit assumed")


class CameBack(msgspec.Struct, frozen=True):
    """Files and records of one sample of one variant."""

    runs: Mapping[str, tuple[BoardRun, Path]]  # records by their kind, each with its folder
    facts: HostFacts | None
    model: HuaweiModel | None  # that ran, by its JSON
    bench: Path | None  # folder with outputs of ais_bench; None where it did not run


def run_checks(
    manifest: Manifest, sample: KitSample, kit: Path, back: CameBack
) -> Iterator[BoardCheck]:
    """The checks of one sample of one variant; `kit` is the kit's folder."""
    records, bench = [run for run, _ in back.runs.values()], back.bench
    yield _inputs(sample, kit, records)
    yield _soc(manifest, records, back.facts, back.model)
    yield _one_file(records)
    yield _same_outputs(OUTPUTS_CHECK, back.runs, _files_of(back.runs.get("dump")))
    if bench is not None:
        stem = Path(sample.inputs[0]).stem if sample.inputs else ""
        yield _same_outputs(BENCH_CHECK, back.runs, lambda at: bench / f"{stem}_{at}.npy")
    yield _release(manifest, back.facts)


def _checked(name: Text, *, holds: bool | None, detail: str) -> BoardCheck:
    states = {True: CheckState.HOLDS, False: CheckState.FAILS, None: CheckState.OPEN}
    return BoardCheck(name, states[holds], detail)


def _inputs(sample: KitSample, kit: Path, runs: Sequence[BoardRun]) -> BoardCheck:
    digests = []
    for file in sample.inputs:
        try:
            array = np.ascontiguousarray(read_npy(kit / file))
        except AtcError as error:
            return _checked(INPUTS_CHECK, holds=None, detail=error.diagnostics[0].message)
        digests.append(hashlib.sha256(array.tobytes()).hexdigest())
    others = [run.kind for run in runs if list(run.fed) != digests]
    if not runs:
        return _checked(INPUTS_CHECK, holds=None, detail=Text("no run was returned"))
    detail = Text("{count} inputs", count=len(digests))
    if others:
        detail = Text("different bytes in {runs}", runs=", ".join(others))
    return _checked(INPUTS_CHECK, holds=not others, detail=detail)


def _soc(
    manifest: Manifest,
    runs: Sequence[BoardRun],
    facts: HostFacts | None,
    model: HuaweiModel | None,
) -> BoardCheck:
    said = {"kit": manifest.soc, "model": "" if model is None else soc_of(model)[0]}
    said["host"] = next(
        (soc for soc in [*(run.soc for run in runs), "" if facts is None else facts.soc] if soc), ""
    )
    names = {soc for soc in said.values() if soc}
    detail = COMMA.join(
        Text("{where}: {soc}", where=where, soc=soc or "?") for where, soc in said.items()
    )
    known = all(said.values())
    return _checked(SOC_CHECK, holds=False if len(names) > 1 else (known or None), detail=detail)


def _one_file(runs: Sequence[BoardRun]) -> BoardCheck:
    digests = {run.om_sha256 for run in runs if run.om_sha256}
    holds = None if not digests else len(digests) == 1
    return _checked(OM_CHECK, holds=holds, detail=", ".join(sorted(each[:12] for each in digests)))


_Files = Callable[[int], Path]


def _files_of(run: tuple[BoardRun, Path] | None) -> _Files | None:
    return None if run is None else lambda at: run[1] / _output(at)


def _output(at: int) -> str:
    return f"{at}.npy"


def _same_outputs(
    name: Text, runs: Mapping[str, tuple[BoardRun, Path]], second: _Files | None
) -> BoardCheck:
    """Compare the outputs of the plain run with those of another one."""
    plain = runs.get("plain")
    if plain is None or second is None:
        return _checked(name, holds=None, detail=Text("one of the two runs is missing"))
    differing, (run, folder) = [], plain
    for at, port in enumerate(run.outputs):
        try:
            one, other = read_npy(folder / _output(at)), read_npy(second(at))
        except AtcError as error:
            return _checked(name, holds=None, detail=error.diagnostics[0].message)
        if one.shape != other.shape or not same_elements(one, other).all():
            differing.append(port.name or str(at))
    detail = Text("different: {names}", names=", ".join(differing)) if differing else Text("equal")
    return _checked(name, holds=not differing, detail=detail)


def _release(manifest: Manifest, facts: HostFacts | None) -> BoardCheck:
    found = "" if facts is None else facts.cann
    if not found or not manifest.cann:
        return _checked(CANN_CHECK, holds=None, detail=found or "?")
    holds = release_of(found) == release_of(manifest.cann)
    detail = Text("assumed {wanted}, found {found}", wanted=manifest.cann, found=found)
    return _checked(CANN_CHECK, holds=holds, detail=detail)
