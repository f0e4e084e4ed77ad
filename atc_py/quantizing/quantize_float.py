"""`quantize` of a float model: samples, calibration, files, and the record of all that."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import msgspec
from numpy.typing import NDArray

from atc_py.diag import AtcError, Diagnostic, Place, Sink
from atc_py.diag.codes import (
    BAD_OPTION,
    BAD_SAMPLE,
    BELOW_TARGET,
    LAYERS_IN_BODIES,
    RANDOM_SAMPLES,
    STEP_LEFT_OUT,
)
from atc_py.onnx_graph.folding.graph import WorkGraph
from atc_py.onnx_graph.rewriting.onnx_writer import bytes_read
from atc_py.onnx_graph.rewriting.qdq.rewriting import FORMS, Rewritten
from atc_py.options.compile_options import DEFAULT_LIST
from atc_py.options.output_paths import rewritten_output
from atc_py.pipeline.quantize import list_verdict
from atc_py.pipeline.running.model import Port
from atc_py.pipeline.running.samples import ArraySamples, RandomSamples, Samples, open_samples
from atc_py.quantizing.calibrate.settings import QuantizeSettings
from atc_py.quantizing.calibrated import Calibrated, balanced_tensors, layer_facts, node_outcomes
from atc_py.quantizing.calibration import calibrate
from atc_py.quantizing.layers.float_model import FloatModel, original_places
from atc_py.quantizing.layers.layers import layers_in_bodies
from atc_py.quantizing.observe import no_progress, ports_of_model
from atc_py.quantizing.picture_samples import PictureSamples
from atc_py.quantizing.prove import ProofSettings, proved
from atc_py.quantizing.recorded import calibrated_by_record, write_record
from atc_py.results.float_quantization import FloatQuantization
from atc_py.results.quantization import Quantization
from atc_py.results.quantization_proof import FallBack, QuantizationProof
from atc_py.results.step_gain import StepGain
from atc_py.spec import specifications
from atc_py.system.atomic_files import put_in_place
from atc_py.system.structs import replace
from atc_py.system.temp_folders import work_folder
from atc_py.tensor.shapes import Shape, format_shape
from atc_py.text import SEMICOLON, Text

_STEPS = {
    "equalize": "--no-equalize",
    "smooth": "--no-smooth",
    "correct_bias": "--no-correct-bias",
}
"""The options that leave steps out."""


def notes_on_steps(steps: Iterable[StepGain]) -> list[Diagnostic]:
    """A note for each step that made the outputs worse with all of its parts."""
    results = []
    for step in steps:
        if step.whole_gain is None or step.kept == step.parts:
            continue
        results.append(
            STEP_LEFT_OUT.diagnostic(
                Text(
                    "step {name} makes the outputs worse by {whole_gain} dB with all of its "
                    "{parts} parts: {kept} are kept",
                    name=repr(step.name),
                    whole_gain=f"{-step.whole_gain:.2f}",
                    parts=step.parts,
                    kept=step.kept,
                ),
                help=Text(
                    "the report has the gain of each step; {steps} leaves this one out",
                    steps=_STEPS[step.name],
                ),
            )
        )
    return results


def notes_on_bodies(graph: WorkGraph) -> Sequence[Diagnostic]:
    """A note for each node whose own graphs have layers."""
    return [
        LAYERS_IN_BODIES.diagnostic(
            Text(
                "layers in the graphs of {op_type} stay in floats: {listed}",
                op_type=node.op_type,
                listed=", ".join(f"{count} {kind}" for kind, count in counts.items()),
            ),
            place=node.place,
        )
        for node, counts in layers_in_bodies(graph)
    ]


BOTH = "both"
"""The form that stands for all of FORMS."""


class FloatRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Request to quantize a float model: the keywords of `QuantizeChoice` in their normal form.

    Attributes:
        data: samples: `PATH` or `NAME=PATH` texts, or arrays by input for each sample.
        form: one of FORMS, or BOTH.
        settings: choices of the calibration.
        proof: what is measured, and the target that the outputs have to reach.
    """

    data: Sequence[str | os.PathLike[str]] | Sequence[Mapping[str, NDArray[Any]]] = ()
    aipp: Path | None = None
    resize: bool = False
    random: int = 0
    seed: int = 0
    input_shapes: Mapping[str, Shape] = msgspec.field(default_factory=dict)
    form: str = FORMS[0]
    external: bool = False
    operator_list: str = DEFAULT_LIST
    strict_list: bool = False
    record: Path | None = None
    settings: QuantizeSettings = msgspec.field(default_factory=QuantizeSettings)
    proof: ProofSettings = msgspec.field(default_factory=ProofSettings)


def quantize_float(
    model: Path,
    output: str | os.PathLike[str] | None,
    request: FloatRequest,
    on_stage: Callable[[str], None] | None = None,
) -> FloatQuantization:
    """Write the float `model` with layers on int8; `on_stage` is called with the progress.

    Raises:
        AtcError: with every finding; previous files at the outputs are then unchanged.
    """
    tell = on_stage or no_progress
    paths = _outputs(model, output, request.form)
    specifications(None, request.operator_list)
    sink = Sink()
    tell("read")
    with _open_calibrated(model, request, sink, tell) as (result, count, proof):
        read = request.record is not None and not count
        return FloatQuantization(
            model=model,
            written=_write(result, paths, request, tell, None if read else request.record),
            layers=layer_facts(result),
            samples=count,
            executor=result.observed.executor if result.observed else "",
            calibrator="" if read else request.settings.calibrator,
            seconds=result.seconds,
            folded_norms=result.prepared.folded_norms,
            balanced=balanced_tensors(result),
            steps=result.steps,
            ranges=result.trials,
            record=request.record,
            warnings=(
                *sink.diagnostics,
                *result.warnings,
                *notes_on_steps(result.steps),
                *notes_on_bodies(result.original.graph),
            ),
            proof=proof,
        )


@contextmanager
def _open_calibrated(
    model: Path, request: FloatRequest, sink: Sink, tell: Callable[[str], None]
) -> Iterator[tuple[Calibrated, int, QuantizationProof | None]]:
    """Give the calibrated model, the number of samples, 0 where a record was read, and the proof."""
    wanted = request.proof
    if request.record is not None and not request.data and not request.random:
        if wanted.target:
            raise BAD_OPTION.error(
                "a target needs samples on which the outputs are compared",
                help="give --data beside --target",
            )
        with (
            calibrated_by_record(model, request.record, request.settings) as calibrated,
            original_places(calibrated.original, calibrated.folder),
        ):
            yield calibrated, 0, None
        return
    samples = _samples(FloatModel(model), request, sink)
    with (
        calibrate(model, samples, request.settings, tell) as calibrated,
        original_places(calibrated.original, calibrated.folder),
    ):
        if wanted.samples == 0:
            yield calibrated, samples.count, None
            return
        chosen, proof = proved(calibrated, samples, wanted, tell)
        if proof.fall_back is not None and not proof.fall_back.reached:
            raise _unreached(model, proof.fall_back)
        yield chosen, samples.count, proof


def _unreached(model: Path, back: FallBack) -> AtcError:
    """The refusal of a target that no layer on int8 lets the outputs reach."""
    best = min((point for point in back.points if point.int8), key=lambda point: point.int8)
    ratios = (
        f"{name}: {output.snr:.1f} dB, cosine {output.cosine:.6f}"
        for name, output in best.outputs.items()
    )
    target = ", ".join(f"{name} {least:g}" for name, least in back.target.items())
    return BELOW_TARGET.error(
        Text(
            "the target ({target}) is not reached with any layer on int8; with {int8} of "
            "{count} there the outputs have {ratios}",
            target=target,
            int8=best.int8,
            count=len(back.order),
            ratios=SEMICOLON.join(ratios),
        ),
        place=Place(str(model)),
        help="set a lower target, or leave the model in floats",
    )


def _outputs(model: Path, output: str | os.PathLike[str] | None, form: str) -> dict[str, Path]:
    """The path of each form that is to be written.

    Of both forms, the name that the user gives is that of the deploy form.
    """
    if form not in {*FORMS, BOTH}:
        raise BAD_OPTION.error(
            Text("no form is called {form}", form=repr(form)),
            help=Text("forms are {forms} and {both}", forms=", ".join(FORMS), both=BOTH),
        )
    if form != BOTH:
        return {form: rewritten_output(model, output, form, FORMS)}
    first, second = FORMS
    path = rewritten_output(model, output, first, FORMS)
    stem = path.stem.removesuffix(f".{first}") or path.stem
    beside = path.with_name(f"{stem}.{second}.onnx")
    return {first: path, second: rewritten_output(model, beside, second, FORMS)}


def _samples(model: FloatModel, request: FloatRequest, sink: Sink) -> Samples:
    """The samples."""
    ports = ports_of_model(model, request.input_shapes)
    if bool(request.data) == bool(request.random):
        raise BAD_OPTION.error(
            "a float model is calibrated with samples, or with a number of random ones",
            help="give either --data or --random",
        )
    if request.random:
        if request.random < 0:
            raise BAD_OPTION.error(
                Text("--random must be positive, found {random}", random=request.random)
            )
        sink.add(
            RANDOM_SAMPLES.diagnostic(
                Text("the model is calibrated with {random} random samples", random=request.random),
                help="give real samples with --data before the result is used",
            )
        )
        return RandomSamples(_close_batches(ports), request.random, request.seed)
    given = list(request.data)
    if request.aipp is not None:
        if len(given) != 1 or not isinstance(given[0], str | os.PathLike):
            raise BAD_OPTION.error("with --aipp, --data is one folder of pictures")
        return PictureSamples(Path(given[0]), request.aipp, ports, resize=request.resize)
    files = [value for value in given if isinstance(value, str) or hasattr(value, "__fspath__")]
    if len(files) == len(given):
        return open_samples([str(file) for file in files], ports, sink)
    return ArraySamples([value for value in given if not isinstance(value, str)])  # type: ignore[misc]


def _close_batches(ports: Sequence[Port]) -> list[Port]:
    """Inputs for random samples; batches that the model leaves open are of 1."""
    results = []
    for port in ports:
        shape = (1, *port.shape[1:]) if port.shape[:1] == (None,) else port.shape
        if None in shape:
            raise BAD_SAMPLE.error(
                Text(
                    "random samples for {port} need its shape, which is {shape}",
                    port=repr(port.name),
                    shape=format_shape(shape),
                ),
                place=Place(field=Text("input {at}", at=port.name)),
                help=Text('give it with --input-shape "{name}:..."', name=port.name),
            )
        results.append(replace(port, shape=shape))
    return results


def _write(
    calibrated: Calibrated,
    paths: Mapping[str, Path],
    request: FloatRequest,
    tell: Callable[[str], None],
    record: Path | None,
) -> tuple[Quantization, ...]:
    """Write each form, and the record if there is a path for it; files get their names when all are there."""
    records: list[Quantization] = []
    moves: list[tuple[Path, Path]] = []
    with ExitStack() as stack:
        for form, path in paths.items():
            tell(f"write {form}")
            folder = stack.enter_context(work_folder(Path(os.path.realpath(path)).parent))
            trial = folder / path.name
            done = calibrated.written(trial, None, form, external=request.external, final=path)
            tell(f"check {form}")
            records.append(_record(calibrated, form, (trial, path), done, request))
            beside = [] if done.data is None else [done.data]
            moves += [(written, path.with_name(written.name)) for written in (*beside, trial)]
        if record is not None:
            folder = stack.enter_context(work_folder(Path(os.path.realpath(record)).parent))
            write_record(calibrated, folder / record.name)
            moves.insert(0, (folder / record.name, record))
        put_in_place(moves)
    return tuple(records)


def _record(
    calibrated: Calibrated,
    form: str,
    paths: tuple[Path, Path],
    written: Rewritten,
    request: FloatRequest,
) -> Quantization:
    """The record of one form, which is at the first of two paths and moves to the second."""
    specs = specifications(None, request.operator_list)
    trial, path = paths
    return Quantization(
        model=calibrated.original.file.path,
        output=path,
        data=None if written.data is None else path.with_name(written.data.name),
        form=form,
        opset=written.opset,
        nodes=node_outcomes(calibrated, written.nodes),
        bytes_before=bytes_read(calibrated.original.file),
        bytes_after=written.bytes_after,
        listed=list_verdict(trial, specs, request.operator_list, strict=request.strict_list),
        written_as=written.written_as,
    )
