"""docs/exports.md: today's architectures as PyTorch's exporters write them, after one `fix --for cann`.

`python -m tests.trained.exports_page --write` makes the page again of the files that `make exports`
wrote; with names of networks, it measures these alone and keeps the other rows.
"""

import sys
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from onnxruntime.capi.onnxruntime_pybind11_state import Fail

import atc_py
from atc_py.diag import AtcError
from tests.trained.exports import TODAY_OPSETS, today_path
from tests.trained.fixed_figures import COSINE, on_device, rules_of, session

PAGE = Path(__file__).resolve().parents[2] / "docs" / "exports.md"

_HEAD = f"""\
<!-- Derived from a run over exports; `make exports` writes it again. -->

# PyTorch's exports

Small networks of today's architectures with random weights, exported by torch's tracing exporter at opset
{TODAY_OPSETS["traced"]} and by that of torch.export at opset {TODAY_OPSETS["dynamo"]}, its default, fixed once by `atc-py fix --for cann`, converted
and run on the simulator in force_fp16. `make exports` makes the files with torch 2.13.0, transformers 4.57.6 and diffusers
0.36.0; networks that an exporter of these does not export have no row. Integer inputs have the ranges of the example.

Verdict: of `check`, before and after. Cosine: of the floats of the result with those of the original in onnxruntime; it
should be at least {COSINE}. A value that misses its mark has a `!`; a code stands for a refusal. The results of dpt with random
weights are about 1e-8, below the least number of float16; the traced mixtral gathers as many words as data say, so that dims depend
on data, which no list takes.

"""
_TABLE = """\
| network | exporter | verdict | opset | rules | cosine |
| --- | --- | --- | --- | --- | --- |
"""


def row(network: str, exporter: str) -> str:
    """The row of one export."""
    path = today_path(network, exporter)
    with np.load(path.with_suffix(".npz")) as data:
        feeds = dict(data)
    with tempfile.TemporaryDirectory() as folder:
        cells = _cells(path, feeds, Path(folder))
    return f"| {' | '.join([network, exporter, *cells])} |"


def _cells(path: Path, feeds: Mapping[str, npt.NDArray[Any]], folder: Path) -> list[str]:
    fixed = folder / "fixed.onnx"
    words = {name for name, array in feeds.items() if array.dtype.kind == "i"}
    ranges = {name: (0, max(1, int(feeds[name].max()))) for name in words}
    try:
        wanted = session(path)(feeds)
    except Fail:
        return ["-", "-", "-", "onnxruntime refuses the export"]
    try:
        done = atc_py.fix_model(path, fixed, for_cann=True, ranges=ranges, simulate=False)
    except AtcError as error:
        return ["-", "-", "-", f"{error.diagnostics[0].code.id} !"]
    rules = ", ".join(f"{name} {count}" for name, count in rules_of(done).items()) or "-"
    opset = " to ".join(dict.fromkeys(map(str, done.opset)))
    cells = [" to ".join(done.verdicts), opset, rules]
    fixed = path if done.output is None else fixed
    cosine, _, refusal = on_device(fixed, [dict(feeds)], [wanted], "any", folder)
    good = not refusal and cosine >= COSINE
    return [*cells, (refusal or f"{cosine:.5f}") + ("" if good else " !")]


def rows_of_page() -> dict[tuple[str, str], str]:
    """The rows of the page as it is, by network and exporter."""
    if not PAGE.exists():
        return {}
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line[:2] == "| "][2:]
    return {(cells[0], cells[1]): each for each in rows for cells in [each[2:].split(" | ")]}


def _counts(rows: Mapping[tuple[str, str], str]) -> str:
    """How many exports compile, and how many are right."""
    cells = [each.rstrip(" |").rpartition(" | ")[2] for each in rows.values()]
    cells = [each for each in cells if "refuses" not in each]
    refused, bad = sum("ATC" in each for each in cells), sum("!" in each for each in cells)
    return (
        f"Of {len(cells)} exports that onnxruntime runs {len(cells) - refused} compile, {len(cells) - bad} of them with a "
        f"cosine of {COSINE} or more.\n\n"
    )


def main(names: list[str]) -> None:
    """Measure all exports at hand, or those of `names`, and write the page after each."""
    rows = rows_of_page()
    for path in sorted(today_path("x", "y").parent.glob("*.onnx")):
        network, _, exporter = path.stem.rpartition("-")
        if names and network not in names:
            continue
        rows[network, exporter] = row(network, exporter)
        print(rows[network, exporter], flush=True)  # noqa: T201
        ordered = dict(sorted(rows.items()))
        table = _TABLE + "".join(f"{each}\n" for each in ordered.values())
        PAGE.write_text(_HEAD + _counts(ordered) + table, encoding="utf-8")


if __name__ == "__main__" and "--write" in sys.argv:
    main([each for each in sys.argv[1:] if each != "--write"])
