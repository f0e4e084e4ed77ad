"""ONNX's conformance cases compiled with every pass and without those that can be switched off.

`python -m tests.conformance.switched_off` prints every case whose results differ by more than the
arithmetic of the two explains, and every one that does not compile without those passes.
"""

import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

import atc_py
from atc_py.diag import AtcError
from atc_py.passes.pipeline import PIPELINE
from atc_py.results.comparison import compare, explained_share
from atc_py.tensor.dtypes import DType
from tests.conformance.cases import arrays_of, cases

Array = npt.NDArray[Any]


MODES = ("force_fp16", "must_keep_origin_dtype")
"""One in which cubes and vectors compute in float16, and one that keeps float32 where it can."""

OPTIONAL = tuple(row.name for row in PIPELINE if row.optional)
"""Every pass that a user can switch off."""


def changed_cases(folders: Iterable[Path], mode: str) -> Iterator[Path]:
    """Yield those of the cases that compile in `mode` and that an optional pass changes.

    Where none does, the two compilations are one and the same.
    """
    for case in folders:
        with tempfile.TemporaryDirectory() as folder:
            try:
                done = atc_py.convert(
                    case / "model.onnx", Path(folder) / "on.om", precision_mode=mode
                )
            except AtcError:
                continue
        if any(each.changes and each.name in OPTIONAL for each in done.facts.passes):
            yield case


def differences(case: Path, mode: str) -> list[str]:
    """Return the differences of two compilations beyond what each may differ from exact.

    The bound is that of `run --expect`, once for each of the two.
    """
    with tempfile.TemporaryDirectory() as folder:
        paths = Path(folder) / "on.om", Path(folder) / "off.om"
        try:
            for path, off in zip(paths, ((), OPTIONAL), strict=True):
                atc_py.convert(
                    case / "model.onnx", path, precision_mode=mode, disable_pass=off, verify=True
                )
        except AtcError as error:
            return [f"does not compile: {error}"]
        with atc_py.load(paths[0]) as all_on, atc_py.load(paths[1]) as all_off:
            feeds = _feeds(all_on, case)
            return list(_differing(all_on, all_off, all_on.run(feeds), all_off.run(feeds)))


def _differing(
    on: atc_py.Model, off: atc_py.Model, found: Mapping[str, Array], wanted: Mapping[str, Array]
) -> Iterator[str]:
    """Yield the outputs that differ by too much."""
    for name, expected in wanted.items():
        if expected.dtype.kind in "iubSUO":
            if not np.array_equal(found[name], expected):
                yield f"{name}: other {expected.dtype}"
            continue
        bounds = [explained_share(each.description, name, expected) for each in (on, off)]
        row = compare(name, found[name], expected, sum(bounds))
        if not row.passed:
            yield f"{name}: {row.range_error:.3g} of the range, {row.tolerance:.3g} explained"


def _feeds(model: atc_py.Model, case: Path) -> dict[str, Array]:
    """Return the first data set of a case; files hold bfloat16 as its bits."""
    graph = onnx.load(case / "model.onnx", load_external_data=False).graph
    weights = {tensor.name for tensor in graph.initializer}
    names = [value.name for value in graph.input if value.name not in weights]
    dtypes = {port.name: port.dtype for port in model.inputs}
    data = next(iter(sorted(case.glob("test_data_set_*"))))
    feeds = dict(zip(names, arrays_of(data, "input"), strict=False))
    return {
        name: array.view(DType.BFLOAT16.numpy) if dtypes[name] is DType.BFLOAT16 else array
        for name, array in feeds.items()
    }


def main(arguments: Sequence[str]) -> int:
    """Print what differs in the modes of the command line, or in both; 1 if something does."""
    count = 0
    for mode in arguments or MODES:
        changed = list(changed_cases(cases(), mode))
        sys.stdout.write(f"{mode}: {len(changed)} cases that optional passes change\n")
        for case in changed:
            for line in differences(case, mode):
                count += 1
                sys.stdout.write(f"  {case.parent.name}/{case.name}: {line}\n")
    return int(count > 0)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
