"""`compare_model`: compile a model and compare every layer with the original.

Of the network that a model of Huawei's atc came from, the known deviations from ONNX are looked for.
"""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from typing_extensions import Unpack

from atc_py.compare.comparison_session import ComparisonSession, GivenSamples
from atc_py.compare.compilation import Compilation
from atc_py.compare.dims_of_data import shapes_with_data
from atc_py.compare.observed import DEVICES
from atc_py.compare.suggest import LEAST_TRIALS
from atc_py.compare.targets import check_targets
from atc_py.diag import BAD_OPTION, DEVIATES_ON_CANN, AtcError, Diagnostic, Place
from atc_py.fix.as_cann import WrittenOut, file_as_cann
from atc_py.onnx_graph.reading.read import read_model
from atc_py.options.command_options import SearchOptions
from atc_py.options.compile_options import CompileOptions
from atc_py.options.keywords import CompareKeywords
from atc_py.options.option import optional_path, parse_options, reject_unknown
from atc_py.options.ranges import refuse_ranges
from atc_py.package.foreign import is_huawei
from atc_py.package.reader import OfflineModel, open_model
from atc_py.pipeline.huawei.opening import RECORD
from atc_py.pipeline.judging import judge_of
from atc_py.pipeline.lowering import cann_nodes
from atc_py.results.cann_nodes import CannSemantics
from atc_py.results.compiled_model import CompiledModel, compiled_model
from atc_py.results.layer_comparison import LayerComparison
from atc_py.system.input_files import guarded_run
from atc_py.system.memory_limit import require_own_memory
from atc_py.system.structs import replace
from atc_py.system.temp_folders import work_folder
from atc_py.target import find_soc
from atc_py.tensor.shapes import closed_shape
from atc_py.text import Text, Words, plural

Array = npt.NDArray[np.generic]
PathText = str | os.PathLike[str]


_RUNTIME = 1 << 30
"""Bytes of addresses that onnxruntime takes; with less it may end the process."""

TRIALS = 60
"""Most compilations of a search for nodes to keep, unless another number is given."""


@guarded_run()
def compare_model(  # noqa: PLR0913  (the options of a command)
    model: str | os.PathLike[str],
    *,
    inputs: Mapping[str, Array] | Iterable[str] = (),
    samples: GivenSamples = None,
    seed: int = 0,
    soc: str = "sim",
    input_shape: str | Mapping[str, Sequence[int]] = "",
    op_specs: str | os.PathLike[str] | None = None,
    targets: Mapping[str, float] | None = None,
    suggest: Mapping[str, float] | None = None,
    suggest_trials: int = TRIALS,
    histograms: bool = False,
    device: str = DEVICES[0],
    aipp_settings: str | os.PathLike[str] | None = None,
    reference: str | os.PathLike[str] | None = None,
    submodel: str | None = None,
    compiled: list[CompiledModel] | None = None,
    on_stage: Callable[[str], None] | None = None,
    **keywords: Unpack[CompareKeywords],
) -> LayerComparison:
    """Compile an ONNX model and compare every layer with the original, run as its file says.

    Args:
        model: path of the .onnx file, or of an offline model of Huawei's atc.
        inputs: arrays by name, or `name=file` texts, of pictures for AIPP; others get random data.
        samples: number of random samples, whose open dims a check proposes, or `data` of `quantize`.
        seed: seed of the first sample's random data; the next ones count on from it.
        soc: as in `convert`, and so are the next two.
        input_shape: dims of inputs; others that the model leaves open are those of the data.
        op_specs: folder of specifications.
        targets: least `cosine` and `snr` of every output; the result says whether they are met.
        suggest: least figures for which to search nodes to keep in float32; empty: no output may fail.
        suggest_trials: most compilations of the search.
        histograms: also sample every layer's values, for histograms of the worst ones.
        device: what runs the compiled model: `sim`, or `ort`, which is faster.
        aipp_settings: file with the settings of dynamic AIPP; random pictures are taken whole without.
        reference: ONNX file that runs in its place; the network of an .om of Huawei's atc.
        submodel: the model of an .om with several, by position or name.
        compiled: takes the compiled model.
        on_stage: called with the name of each stage as it begins.
        **keywords: ATC's finer controls, and rules that fix the model; see `CompareKeywords`.

    Raises:
        AtcError: from `convert`, for data that do not fit, REFERENCE_FAILED, DEVICE_FAILED.
    """
    files, named = (model, reference, submodel), (soc, input_shape, op_specs)
    compilation = compiling(files, keywords, named, (inputs, samples))
    shown, search = (histograms, device, targets, compiled), (suggest, suggest_trials, keywords)
    return _compared(compilation, (inputs, aipp_settings), (samples, seed), shown, search, on_stage)


def compiling(
    files: tuple[PathText, PathText | None, str | None],
    keywords: Mapping[str, object],
    named: tuple[Any, Any, Any],
    data: tuple[Mapping[str, Array] | Iterable[str], GivenSamples] = ((), None),
) -> Compilation:
    """The compilation of a model, or the offline model that is compared in its place.

    `files` are the model, its reference, and the submodel of an offline model; `named` SoC, dims of
    inputs and the folder of specifications; `data` inputs and samples, which give dims to inputs
    that are left open.
    """
    reject_unknown("compare_model", keywords, CompareKeywords)
    model, reference, submodel = Path(files[0]), optional_path(files[1]), files[2]
    notes: list[Diagnostic] = []
    given = dict(zip(("soc", "input_shape", "op_specs"), named, strict=True))
    dims = shapes_with_data(model, given["input_shape"], *data, {**keywords, **given}, notes)
    given["input_shape"] = dims
    options = parse_options("compare_model", CompileOptions, {**keywords, **given})
    refuse_ranges(options.ranges, Text("a comparison runs one shape"))
    if not is_huawei(model):
        return Compilation(model, options, reference, notes=tuple(notes))
    if reference is None:
        raise BAD_OPTION.error(
            Text("{model} is an offline model: a comparison needs the ONNX file too", model=model),
            place=Place(str(model)),
            help=Text("give the ONNX file that it was compiled from with --reference"),
        )
    return Compilation(reference, options, real=model, submodel=submodel)


def _compared(
    compilation: Compilation,
    data: tuple[Mapping[str, Array] | Iterable[str], PathText | None],
    draws: tuple[GivenSamples, int],
    shown: tuple[bool, str, Mapping[str, float] | None, list[CompiledModel] | None],
    search: tuple[Mapping[str, float] | None, int, Mapping[str, object]],
    on_stage: Callable[[str], None] | None,
) -> LayerComparison:
    """Compile and compare; the arguments are those of a session, and a search.

    Returns every layer, up to the kernel that invalid data stopped, and what has no counterpart.
    """
    least, trials, keywords = search
    judging = parse_options("compare_model", SearchOptions, keywords)
    _check_search(least, trials)
    if least is not None and compilation.real is not None:
        raise BAD_OPTION.error(
            Text(
                "--suggest compiles a model, but {model} is already compiled",
                model=compilation.real,
            )
        )
    inputs, settings = data
    histograms, device, targets, kept = shown
    with (
        work_folder() as folder,
        open_compiled(compilation, folder, on_stage, to_run=kept is None) as package,
    ):
        given = inputs, optional_path(settings)
        if kept is not None:
            kept.append(compiled_model(package))
        session = ComparisonSession(compilation, package, folder, given, draws)
        session.histograms, session.device = histograms, device
        session.targets = targets or {}
        session.on_stage = on_stage
        judges = judging.suggest_samples, judging.jobs
        if compilation.real is None:
            return session.suggested(least, trials, judges, on_stage)
        known = network_semantics(package, compilation.model, compilation.options)
        session.semantics = known.nodes
        session.warnings += (*package.findings, *known.warnings)
        return replace(session.suggested(None, trials, judges, on_stage), model=compilation.real)


def _check_search(targets: Mapping[str, float] | None, trials: int) -> None:
    if targets is not None and trials < LEAST_TRIALS:
        raise BAD_OPTION.error(
            Text(
                "a search needs {least_trials} trials, found {trials}",
                least_trials=LEAST_TRIALS,
                trials=trials,
            )
        )
    check_targets(targets or {})


def open_compiled(
    compilation: Compilation,
    folder: Path,
    on_stage: Callable[[str], None] | None,
    *,
    to_run: bool = False,
) -> OfflineModel:
    """The compiled model, in `folder`, open; the stage after it is `compare`.

    One that is only `to_run` has no kernels.
    """
    require_own_memory(_RUNTIME)
    if compilation.real is not None:
        from atc_py.pipeline.huawei import open_offline

        if on_stage is not None:
            on_stage("compare")
        return open_offline(compilation.real, compilation.model, compilation.submodel)
    om = folder / "model.om"
    compilation.write(om, on_stage, to_run=to_run)
    if on_stage is not None:
        on_stage("compare")
    return open_model(om)


_RELEASES = (
    *(((9, 2), "9.2"), ((9, 1), "9.1"), ((8, 6), "9.0"), ((8, 5), "8.5")),
    *(((7, 2), "8"), ((7, 0), "7"), ((6, 0), "6"), ((1, 82), "6"), ((1, 0), "5")),
)
"""Releases of CANN by the least version of the operators: 1.75 and 1.81 are of CANN 20.2 and 5.1,
7.1 of 7.0 and 7.6 of 8.0 [proven]; what is between is inferred."""


class NetworkSemantics(NamedTuple):
    """The nodes of a network that CANN computes otherwise than ONNX defines."""

    # those of the release that compiled it; None where there are none, the file does not say which
    # release that is, or the network cannot be judged
    nodes: CannSemantics | None
    warnings: tuple[Diagnostic, ...]  # one about each deviation, in words


_NONE = NetworkSemantics(None, ())


def network_semantics(
    package: OfflineModel, network: Path, options: CompileOptions
) -> NetworkSemantics:
    release = _release(package)
    if release is None:
        return _NONE
    own = replace(options, precision=replace(options.precision, cann=release))
    description = package.description
    shapes = {
        port.name: closed_shape(tuple(description.tensors[port.tensor].shape))
        for port in description.inputs
        if None not in description.tensors[port.tensor].shape
    }
    try:
        judge = judge_of(own, find_soc(description.soc))
        file = read_model(network)
        known = {each.name for each in file.inputs}
        given = {name: shape for name, shape in shapes.items() if name in known}
        _, written = file_as_cann(file, judge.conditions, judge.specs, given)
    except AtcError:
        return _NONE
    nodes = cann_nodes(written)
    if not nodes:
        return _NONE
    return NetworkSemantics(
        CannSemantics(release, nodes), tuple(_warnings(written, release, network))
    )


def _warnings(written: Iterable[WrittenOut], release: str, network: Path) -> Iterator[Diagnostic]:
    """A warning about each deviation, at the first node that meets it."""
    met: dict[tuple[str, str], list[WrittenOut]] = {}
    for each in written:
        met.setdefault((each.operator, each.name), []).append(each)
    for (operator, name), nodes in met.items():
        effect, first = nodes[0].effect, nodes[0].node
        said = plural(
            len(nodes),
            "CANN {major} computes this node differently from ONNX, {name}: ",
            "CANN {major} computes this node and {more} more differently from ONNX, {name}: ",
            major=release,
            more=len(nodes) - 1,
            name=f"{operator}/{name}",
        )
        yield DEVIATES_ON_CANN.diagnostic(
            said + Words(effect.en, effect.zh),
            place=Place(str(network), first.index, first.name, first.op_type),
            help=_ADVICE,
        )


_ADVICE = Text(
    "a board agrees with the offline model; `atc-py fix --for cann` writes a network that "
    "CANN and ONNX read the same way"
)


def _release(package: OfflineModel) -> str | None:
    """The release of CANN that compiled a model, by the version of its operators."""
    record = package.report.get(RECORD)
    version = record.get("opp_version") if isinstance(record, dict) else None
    parts = str(version or "").split(".")[:2]
    if len(parts) < 2 or not all(part.isdecimal() for part in parts):  # noqa: PLR2004
        return None
    numbers = int(parts[0][:4]), int(parts[1][:4])
    return next((each for least, each in _RELEASES if numbers >= least), None)
