"""Compilation with gears: one graph for each list of shapes, in one offline model."""

from collections.abc import Callable, Sequence
from pathlib import Path

from atc_py.check.findings_builder import RulesBrokenError
from atc_py.cost.network import network_cost
from atc_py.diag import (
    BAD_INPUT_SHAPE,
    GEAR_NOT_COMPILED,
    UNSUPPORTED_FORM,
    AtcError,
    AtcFault,
    Diagnostic,
    Place,
    Sink,
)
from atc_py.ir import Graph
from atc_py.kernels.kernels import SourceMemo
from atc_py.onnx_graph.folding.evaluate import FoldMemo
from atc_py.onnx_graph.graph import ValueType
from atc_py.onnx_graph.reading.contents import DeclaredInput
from atc_py.onnx_graph.reading.onnx_file import OnnxFile
from atc_py.onnx_graph.reading.read import read_model, with_user_ends
from atc_py.options.auto_gears import AutoGears
from atc_py.options.compile_options import CompileOptions
from atc_py.options.gears import Gears, format_gear
from atc_py.options.input_shapes import INPUT_SHAPE_PLACE, format_input_shapes
from atc_py.package.gears_writer import CompiledGear, write_gears
from atc_py.package.schema import OmModel
from atc_py.pipeline.auto_gears import gears_by_name
from atc_py.pipeline.compile import CompiledGraph, compile_graph, refuse_open_layers, too_large
from atc_py.pipeline.padding_trial import padding_warnings, with_padding
from atc_py.pipeline.shared_inputs import SharedInputs, StageClock, shared_inputs
from atc_py.results.conversion import Conversion, GearFacts
from atc_py.results.memory_facts import memory_facts
from atc_py.system.structs import replace
from atc_py.tensor.shapes import Dims, closed_shape, format_shape
from atc_py.text import Text


def with_open_inputs(file: OnnxFile, gears: Gears) -> OnnxFile:
    """The file with open dims where the gears have them, as ATC replaces the shapes.

    A dim that the file fixes may be open, too: the batch of 1, say, that a model was traced with.
    What the file states of results is dropped then.
    """
    sink = Sink()
    known = {each.name: each for each in file.inputs}
    for name in gears.shapes:
        if name not in known:
            sink.add(_unknown(name, known))
    for name, declared in known.items():
        dims = gears.shapes.get(name)
        if dims is None:
            sink.add(_missing(declared, gears))
        elif not _agrees(declared, dims):
            sink.add(_disagreeing(declared, dims))
    sink.raise_errors()
    inputs = tuple(_opened(each, gears.shapes[each.name]) for each in file.inputs)
    if inputs == file.inputs:
        return file
    declared_types = {name: ValueType(each.element, None) for name, each in file.declared.items()}
    return replace(file, inputs=inputs, declared=declared_types)


def _agrees(declared: DeclaredInput, dims: Dims) -> bool:
    if declared.dims is None:
        return True
    return len(dims) == len(declared.dims) and all(
        isinstance(own, str) or wanted is None or own == wanted
        for own, wanted in zip(declared.dims, dims, strict=True)
    )


def _opened(declared: DeclaredInput, dims: Dims) -> DeclaredInput:
    """An input whose dims are open where gears decide."""
    if declared.dims is None or None not in dims:
        return declared
    opened = tuple(
        "" if wanted is None and isinstance(own, int) else own
        for own, wanted in zip(declared.dims, dims, strict=True)
    )
    return DeclaredInput(declared.name, declared.element, opened, declared.kind)


def _unknown(name: str, known: dict[str, DeclaredInput]) -> Diagnostic:
    listed = ", ".join(f"{each.name!r} {each.label}" for each in known.values())
    return BAD_INPUT_SHAPE.diagnostic(
        Text("the model has no input {name}", name=repr(name)),
        place=INPUT_SHAPE_PLACE,
        help=Text("inputs of the model: {listed}", listed=listed or Text("none")),
        atc=AtcFault("E10016", (name, "input_shape")),
    )


def _missing(declared: DeclaredInput, gears: Gears) -> Diagnostic:
    listed = len(gears.shapes)
    reason = Text("with gears every input must be listed, scalars as `name:`")
    return BAD_INPUT_SHAPE.diagnostic(
        Text(
            "--input-shape lists {listed} inputs and leaves out {declared}, which is {label}",
            listed=listed,
            declared=repr(declared.name),
            label=declared.label,
        ),
        place=INPUT_SHAPE_PLACE,
        help=reason,
        atc=AtcFault("E10001", (str(listed), "--input_shape", reason)),
    )


def _disagreeing(declared: DeclaredInput, dims: Dims) -> Diagnostic:
    text = format_shape(dims)
    reason = f"the model has {declared.label}"
    return BAD_INPUT_SHAPE.diagnostic(
        Text(
            "input {declared} is {label} in the model, but --input-shape gives {text}",
            declared=repr(declared.name),
            label=declared.label,
            text=text,
        ),
        place=INPUT_SHAPE_PLACE,
        help=Text("give the model's own dims, or -1 where gears decide"),
        atc=AtcFault("E10001", (text, "--input_shape", reason)),
    )


def compile_gears(
    model: Path,
    output: Path,
    options: CompileOptions,
    gears: Gears | AutoGears,
    on_stage: Callable[[str], None] | None = None,
) -> Conversion:
    """Compile `model` for all `gears` to one offline model, which they share the weights of.

    Every gear goes through the whole compilation; what does not depend on shapes is done once: the
    file is read once, weights are made of weights once, and stored once, as kernels are.

    Raises:
        AtcError: with every finding of the failing stage of the first gear that does not compile,
            and a note that names it; a file at `output` is then unchanged.
    """
    clock = StageClock(on_stage)
    shared = shared_inputs(options, FoldMemo(), SourceMemo())
    with clock.stage("read"):
        file, gears = _file_and_gears(model, options, gears, shared)
        refuse_open_layers(file, shared.soc)
    compiled = [
        _compiled_gear(file, options, shared, clock, gears, gear)
        for gear in range(len(gears.gears))
    ]
    clock.prefix = ""
    refuse_other_ranks([each.graph for each in compiled], gears, str(model))
    gears = with_padding(file, gears)
    with clock.stage("package"):
        packed = [CompiledGear(each.graph, each.contents) for each in compiled]
        written = write_gears(packed, gears, output)
    with clock.stage("estimate"):
        facts = tuple(_facts(gears, at, each) for at, each in enumerate(written.descriptions))
        time = network_cost(written.descriptions[gears.largest]).time
    main, memory = compiled[gears.largest], facts[gears.largest].memory
    warnings = dict.fromkeys(warning for each in compiled for warning in each.warnings)
    others = (*padding_warnings(gears, file), *too_large(model, memory, shared.soc))
    return Conversion(
        model,
        output,
        main.check,
        main.facts,
        clock.stages,
        written.weight_bytes,
        written.file_bytes,
        (*warnings, *others),
        memory,
        time,
        gears=facts,
    )


def _file_and_gears(
    model: Path, options: CompileOptions, gears: Gears | AutoGears, shared: SharedInputs
) -> tuple[OnnxFile, Gears]:
    file = with_user_ends(read_model(model), options)
    if isinstance(gears, AutoGears):
        gears = gears_by_name(file, gears, shared.soc.most_gears)
    return with_open_inputs(file, gears), gears


def _compiled_gear(
    file: OnnxFile,
    options: CompileOptions,
    shared: SharedInputs,
    clock: StageClock,
    gears: Gears,
    gear: int,
) -> CompiledGraph:
    clock.prefix = f"gear {gear + 1} of {len(gears.gears)}: "
    own = replace(
        options,
        input_shapes=gears.shapes_of(gear),
        dump_ir=None if options.dump_ir is None else options.dump_ir / f"gear{gear}",
        kernels=None if options.kernels is None else options.kernels / f"gear{gear}",
    )
    try:
        return compile_graph(file, own, shared, clock)
    except RulesBrokenError as error:
        missing = (*error.missing, not_compiled(gears, gear))
        raise RulesBrokenError(error.check, missing) from error
    except AtcError as error:
        raise AtcError(*error.diagnostics, not_compiled(gears, gear)) from error


def refuse_other_ranks(graphs: Sequence[Graph], gears: Gears, path: str) -> None:
    """Refuse outputs whose ranks differ between gears, as those of Squeeze without axes may."""
    first, *others = graphs
    for gear, graph in enumerate(others, start=1):
        outputs = zip(first.outputs, graph.outputs, graph.output_names, strict=True)
        for value, other, name in outputs:
            if value.type.rank != other.type.rank:
                raise UNSUPPORTED_FORM.error(
                    Text(
                        "output {name} has {rank} dims in gear {first}, but {other} in gear {gear}",
                        name=repr(name),
                        rank=value.type.rank,
                        first=format_gear(gears.gears[0]),
                        other=other.type.rank,
                        gear=format_gear(gears.gears[gear]),
                    ),
                    place=Place(path, field=name),
                    help=Text(
                        "give Squeeze its axes, or convert the model once for each shape: gears "
                        "share the ranks of outputs"
                    ),
                )


def not_compiled(gears: Gears, gear: int) -> Diagnostic:
    return GEAR_NOT_COMPILED.diagnostic(
        Text(
            "gear {gear} of {option} ({input_shapes}) does not compile; nothing is written",
            gear=format_gear(gears.gears[gear]),
            option=gears.kind.option,
            input_shapes=format_input_shapes(gears.shapes_of(gear)),
        ),
        place=Place(field=gears.kind.option),
    )


def _facts(gears: Gears, gear: int, description: OmModel) -> GearFacts:
    return GearFacts(
        gears.gears[gear],
        {
            port.name: closed_shape(tuple(description.tensors[port.tensor].shape))
            for port in description.inputs
        },
        len(description.nodes),
        memory_facts(description),
    )
