"""The inputs of a file as gears need them: listed completely, with open dims where gears decide."""

from atc_py.diag import AtcFault, Diagnostic, Sink
from atc_py.diag.codes import BAD_INPUT_SHAPE
from atc_py.frontend.folding.graph import ValueType
from atc_py.frontend.reading.declared import DeclaredInput
from atc_py.frontend.reading.onnx_file import OnnxFile
from atc_py.options.gears import Gears
from atc_py.options.input_shapes import INPUT_SHAPE_PLACE
from atc_py.system.structs import replace
from atc_py.tensor.shapes import Dims, format_shape
from atc_py.text import Text


def with_open_inputs(file: OnnxFile, gears: Gears) -> OnnxFile:
    """Return the file with open dims where the gears have them, as ATC replaces the shapes.

    A dim that the file fixes may be open, too: the batch of 1, say, that a model was traced with.
    What the file states of results is dropped then.

    Raises:
        AtcError: BAD_INPUT_SHAPE for inputs that are missing in the list, or not in the model, or
            have other ranks or fixed dims there.
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
    declared_types = {name: _without_dims(each) for name, each in file.declared.items()}
    return replace(file, inputs=inputs, declared=declared_types)


def _agrees(declared: DeclaredInput, dims: Dims) -> bool:
    """Tell whether the user's fixed dims are those of the model."""
    if declared.dims is None:
        return True
    return len(dims) == len(declared.dims) and all(
        isinstance(own, str) or wanted is None or own == wanted
        for own, wanted in zip(declared.dims, dims, strict=True)
    )


def _opened(declared: DeclaredInput, dims: Dims) -> DeclaredInput:
    """Return an input whose dims are open where gears decide."""
    if declared.dims is None or None not in dims:
        return declared
    opened = tuple(
        "" if wanted is None and isinstance(own, int) else own
        for own, wanted in zip(declared.dims, dims, strict=True)
    )
    return DeclaredInput(declared.name, declared.element, opened, declared.kind)


def _without_dims(known: ValueType) -> ValueType:
    """Return the type of a result whose dims are those of another shape."""
    return ValueType(known.element, None)


def _unknown(name: str, known: dict[str, DeclaredInput]) -> Diagnostic:
    """Return the finding about a name that no input has."""
    listed = ", ".join(f"{each.name!r} {each.label}" for each in known.values())
    return BAD_INPUT_SHAPE.diagnostic(
        Text("the model has no input {name}", name=repr(name)),
        place=INPUT_SHAPE_PLACE,
        help=Text("inputs of the model: {listed}", listed=listed or "none"),
        atc=AtcFault("E10016", (name, "input_shape")),
    )


def _missing(declared: DeclaredInput, gears: Gears) -> Diagnostic:
    """Return the finding about an input that --input-shape leaves out."""
    listed = len(gears.shapes)
    reason = "with gears every input must be listed, scalars as `name:`"
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
    """Return the finding about dims that the model has otherwise."""
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
        help="give the model's own dims, or -1 where gears decide",
        atc=AtcFault("E10001", (text, "--input_shape", reason)),
    )
