"""`quantize` of a float model: samples, calibration, files, and the record of all that."""

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

from atc_py.compare.dims_of_data import proposed_dims
from atc_py.diag import (
    BAD_OPTION,
    BAD_SAMPLE,
    BELOW_TARGET,
    LAYERS_IN_BODIES,
    RANDOM_SAMPLES,
    STEP_LEFT_OUT,
    AtcError,
    Diagnostic,
    Place,
    Sink,
)
from atc_py.onnx_graph.graph import OnnxGraph
from atc_py.onnx_graph.rewriting.onnx_writer import bytes_read
from atc_py.onnx_graph.rewriting.qdq.rewriting import Rewritten
from atc_py.options.command_options import BOTH, FORMS
from atc_py.options.output_paths import rewritten_output
from atc_py.pipeline.quantize import list_verdict
from atc_py.pipeline.running.model import Port
from atc_py.pipeline.running.samples import ArraySamples, RandomSamples, Samples, open_samples
from atc_py.quantizing.calibrated import Calibrated, balanced_tensors, layer_facts, node_outcomes
from atc_py.quantizing.calibration import calibrate
from atc_py.quantizing.layers.float_model import FloatModel, original_places
from atc_py.quantizing.layers.layers import layers_in_bodies
from atc_py.quantizing.observe import no_progress, ports_of_model
from atc_py.quantizing.options import QuantizeOptions
from atc_py.quantizing.picture_samples import PictureSamples
from atc_py.quantizing.prove import proved
from atc_py.quantizing.recorded import calibrated_by_record, write_record
from atc_py.results.layer_comparison import least_text
from atc_py.results.quantization import (
    CalibrationRun,
    FallBack,
    FloatQuantization,
    QuantBiases,
    Quantization,
    QuantizationProof,
    StepGain,
    layer_counts,
)
from atc_py.spec import specifications
from atc_py.system.atomic_files import put_in_place
from atc_py.system.structs import replace
from atc_py.system.temp_folders import work_folder
from atc_py.tensor.shapes import Shape, format_shape
from atc_py.text import SEMICOLON, Text, plural

_STEPS = {
    "equalize": "--no-equalize",
    "smooth": "--no-smooth",
    "correct_bias": "--no-correct-bias",
}
"""The options that leave steps out."""


def notes_on_steps(steps: Iterable[StepGain]) -> list[Diagnostic]:
    """A note for each step that made the outputs worse with all of its parts."""
    return [
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
        for step in steps
        if step.whole_gain is not None and step.kept != step.parts
    ]


def notes_on_bodies(graph: OnnxGraph) -> Sequence[Diagnostic]:
    """A note for each node whose own graphs have layers."""
    return [
        LAYERS_IN_BODIES.diagnostic(
            Text(
                "layers in subgraphs of {op_type} stay in floats: {listed}",
                op_type=node.op_type,
                listed=", ".join(f"{count} {kind}" for kind, count in counts.items()),
            ),
            place=node.place,
        )
        for node, counts in layers_in_bodies(graph)
    ]


def quantize_float(
    model: Path,
    output: str | os.PathLike[str] | None,
    options: QuantizeOptions,
    on_stage: Callable[[str], None] | None = None,
) -> FloatQuantization:
    """Write the float `model` with layers on int8; `on_stage` is called with the progress.

    Raises:
        AtcError: with every finding; previous files at the outputs are then unchanged.
    """
    tell = on_stage or no_progress
    paths = _outputs(model, output, options.form)
    specifications(None, options.operator_list)
    sink = Sink()
    tell("read")
    with _calibrated(model, options, sink, tell) as (found, count, proof):
        read = options.record is not None and not count
        return FloatQuantization(
            model=model,
            written=_write(found, paths, options, tell, None if read else options.record),
            calibration=CalibrationRun(
                samples=count,
                executor=found.executor,
                calibrator="" if read else options.calibration.calibrator,
                seconds=found.seconds,
            ),
            folded_norms=found.prepared.folded_norms,
            balanced=balanced_tensors(found),
            steps=found.steps,
            ranges=found.trials,
            record=options.record,
            layers=layer_facts(found),
            warnings=(
                *sink.diagnostics,
                *found.warnings,
                *notes_on_steps(found.steps),
                *notes_on_bodies(found.original.graph),
            ),
            proof=proof,
        )


@contextmanager
def _calibrated(
    model: Path, options: QuantizeOptions, sink: Sink, tell: Callable[[str], None]
) -> Iterator[tuple[Calibrated, int, QuantizationProof | None]]:
    """The calibrated model, the number of samples, 0 where a record was read, and the proof."""
    wanted = options.proof
    if options.record is not None and not options.data and not options.random:
        if wanted.target:
            raise BAD_OPTION.error(
                Text("a target needs samples on which the outputs are compared"),
                help=Text("give --data together with --target"),
            )
        with (
            calibrated_by_record(model, options.record, options.calibration) as found,
            original_places(found.original, found.folder),
        ):
            yield found, 0, None
        return
    original = FloatModel(model)
    samples = _samples(original, options, sink)
    with (
        calibrate(original, samples, options.calibration, tell) as found,
        original_places(found.original, found.folder),
    ):
        if wanted.samples == 0:
            yield found, samples.count, None
            return
        chosen, proof = proved(found, samples, wanted, tell)
        if proof.fall_back is not None and not proof.fall_back.reached:
            raise _unreached(model, proof.fall_back)
        yield chosen, samples.count, proof


def _unreached(model: Path, found: FallBack) -> AtcError:
    """The refusal of a target that no layer on int8 lets the outputs reach."""
    best = min((each for each in found.points if each.int8), key=lambda each: each.int8)
    ratios = (
        f"{name}: {each.snr:.1f} dB, cosine {each.cosine:.6f}"
        for name, each in best.outputs.items()
    )
    target = ", ".join(f"{name} {least_text(least)}" for name, least in found.target.items())
    return BELOW_TARGET.error(
        Text(
            "the target ({target}) is not reached with any layer on int8; with {int8} of "
            "{count} layers on int8, the outputs have {ratios}",
            target=target,
            int8=best.int8,
            count=len(found.order),
            ratios=SEMICOLON.join(ratios),
        ),
        place=Place(str(model)),
        help=Text("set a lower target, or leave the model in floats"),
    )


def _outputs(model: Path, output: str | os.PathLike[str] | None, form: str) -> dict[str, Path]:
    if form not in {*FORMS, BOTH}:
        raise BAD_OPTION.error(
            Text("there is no form {form}", form=repr(form)),
            help=Text("forms are {forms} and {both}", forms=", ".join(FORMS), both=BOTH),
        )
    if form != BOTH:
        return {form: rewritten_output(model, output, form, FORMS)}
    first, second = FORMS
    path = rewritten_output(model, output, first, FORMS)
    stem = path.stem.removesuffix(f".{first}") or path.stem
    beside = path.with_name(f"{stem}.{second}.onnx")
    return {first: path, second: rewritten_output(model, beside, second, FORMS)}


def _samples(model: FloatModel, options: QuantizeOptions, sink: Sink) -> Samples:
    ports = ports_of_model(model, options.input_shapes)
    if bool(options.data) == bool(options.random):
        raise BAD_OPTION.error(
            Text("a float model is calibrated with samples: given ones or random ones"),
            help=Text("give either --data or --random"),
        )
    if options.random:
        if options.random < 0:
            raise BAD_OPTION.error(
                Text("--random must be positive, found {random}", random=options.random)
            )
        closed = _closed(model.shown, ports, options, sink)
        sink.add(
            RANDOM_SAMPLES.diagnostic(
                plural(
                    options.random,
                    "the model is calibrated with {n} random sample",
                    "the model is calibrated with {n} random samples",
                ),
                help=Text("give real samples with --data before the result is used"),
            )
        )
        return RandomSamples(closed, options.random, options.seed)
    given = list(options.data)
    if options.aipp is not None:
        if len(given) != 1 or not isinstance(given[0], str | os.PathLike):
            raise BAD_OPTION.error(Text("with --aipp, --data is one folder of pictures"))
        return PictureSamples(Path(given[0]), options.aipp, ports, resize=options.resize)
    files = [each for each in given if isinstance(each, str) or hasattr(each, "__fspath__")]
    if len(files) == len(given):
        return open_samples([str(each) for each in files], ports, sink)
    return ArraySamples([each for each in given if not isinstance(each, str)])  # type: ignore[misc]


def _closed(model: Path, ports: Sequence[Port], options: QuantizeOptions, sink: Sink) -> list[Port]:
    """Inputs for random samples: open batches are of 1, other open dims those that a check proposes."""
    notes: list[Diagnostic] = []
    shapes: Mapping[str, Shape] = {}
    if any(None in port.shape[1:] for port in ports):
        shapes = proposed_dims(model, options.input_shapes, {}, notes) or {}
        sink.extend(notes)
    found = []
    for port in ports:
        shape = (1, *port.shape[1:]) if port.shape[:1] == (None,) else port.shape
        shape = shapes.get(port.name, shape)
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
        found.append(replace(port, shape=shape))
    return found


def _write(
    found: Calibrated,
    paths: Mapping[str, Path],
    options: QuantizeOptions,
    tell: Callable[[str], None],
    record: Path | None,
) -> tuple[Quantization, ...]:
    """Write each form, and the record if it has a path; files get their names together."""
    records: list[Quantization] = []
    moves: list[tuple[Path, Path]] = []
    with ExitStack() as stack:
        for form, path in paths.items():
            tell(Text("write the {form} form", form=form))
            folder = stack.enter_context(work_folder(Path(os.path.realpath(path)).parent))
            trial = folder / path.name
            done = found.written(trial, None, form, external=options.external_data, final=path)
            tell(Text("check the {form} form", form=form))
            records.append(_record(found, form, (trial, path), done, options))
            beside = [] if done.data is None else [done.data]
            moves += [(each, path.with_name(each.name)) for each in (*beside, trial)]
        if record is not None:
            folder = stack.enter_context(work_folder(Path(os.path.realpath(record)).parent))
            write_record(found, folder / record.name)
            moves.insert(0, (folder / record.name, record))
        put_in_place(moves)
    return tuple(records)


def _record(
    found: Calibrated,
    form: str,
    paths: tuple[Path, Path],
    written: Rewritten,
    options: QuantizeOptions,
) -> Quantization:
    """The record of one form, which is at the first of two paths and moves to the second."""
    specs = specifications(None, options.operator_list)
    trial, path = paths
    nodes = node_outcomes(found, written.nodes)
    return Quantization(
        model=found.original.file.path,
        output=path,
        data=None if written.data is None else path.with_name(written.data.name),
        form=form,
        opset=written.opset,
        counts=layer_counts(nodes),
        nodes=nodes,
        bytes_before=bytes_read(found.original.file),
        bytes_after=written.bytes_after,
        listed=list_verdict(trial, specs, options.operator_list, strict=options.strict_list),
        biases=QuantBiases(None, written.written_as),
    )
