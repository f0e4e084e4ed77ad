"""Binding input shapes: what the model declares, joined with what the user gives."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from atc_py.diag import (
    BAD_INPUT_SHAPE,
    BAD_MODEL,
    BAD_TENSOR,
    FREE_DIMENSION,
    AtcFault,
    Diagnostic,
    Place,
    Sink,
)
from atc_py.onnx_graph.graph import OnnxNode, ValueType
from atc_py.onnx_graph.reading.contents import DeclaredInput
from atc_py.onnx_graph.reading.tensors import dtype_of_element, element_name, size_complaint
from atc_py.options.input_shapes import INPUT_SHAPE_PLACE, ShapeAdvice, format_input_shapes
from atc_py.tensor.shapes import MAX_RANK, Dims, Shape, format_shape
from atc_py.text import Text, plural


def bind_inputs(
    path: Path,
    inputs: Sequence[DeclaredInput],
    shapes: Mapping[str, Shape],
    suggest: Callable[[], ShapeAdvice] | None = None,
    nodes: Sequence[OnnxNode] = (),
    opened: Mapping[str, Dims] | None = None,
) -> dict[str, ValueType]:
    """Types of `inputs`, with dims of `shapes` where the model leaves them open.

    `suggest` finds shapes to propose, else every open dim is proposed as 1; no input has the name
    of one of `nodes`; `opened` are inputs with dims that each run decides, None for these.

    An AtcError has every finding: BAD_INPUT_SHAPE for shapes that fit no input, FREE_DIMENSION for
    inputs that stay open, BAD_MODEL and BAD_TENSOR for inputs that no shape can fix.
    """
    sink = Sink()
    left = {} if opened is None else opened
    _check_names(inputs, [*shapes, *left], nodes, sink)
    binder = _Binder(path, inputs, shapes, sink, suggest)
    bound = {
        declared.name: ValueType(declared.element, left[declared.name])
        if declared.name in left
        else binder.bind(declared)
        for declared in inputs
    }
    sink.raise_errors()
    return bound


def observe_inputs(
    path: Path,
    inputs: Sequence[DeclaredInput],
    shapes: Mapping[str, Shape],
    suggest: Callable[[], ShapeAdvice] | None = None,
    nodes: Sequence[OnnxNode] = (),
) -> dict[str, ValueType]:
    """Types of `inputs` as far as they are known; BAD_INPUT_SHAPE for shapes that fit no input."""
    sink = Sink()
    _check_names(inputs, list(shapes), nodes, sink)
    binder = _Binder(path, inputs, shapes, sink, suggest)
    observed = {declared.name: binder.observe(declared) for declared in inputs}
    sink.raise_errors()
    return observed


def input_faults(
    path: Path, inputs: Sequence[DeclaredInput], shapes: Mapping[str, Shape]
) -> list[Diagnostic]:
    """The faults of `inputs` that hold for any shape: BAD_MODEL and BAD_TENSOR."""
    sink = Sink()
    binder = _Binder(path, inputs, shapes, sink)
    for declared in inputs:
        binder.look_at(declared)
    return sink.errors


def _check_names(
    inputs: Sequence[DeclaredInput],
    shapes: Sequence[str],
    nodes: Sequence[OnnxNode],
    sink: Sink,
) -> None:
    """Report shapes for inputs that the model does not have."""
    names = [declared.name for declared in inputs]
    for name in shapes:
        if name in names:
            continue
        import difflib  # most runs misspell nothing

        near = difflib.get_close_matches(name, names, n=1)
        guess = Text("did you mean {near}? ", near=repr(near[0])) if near else ""
        listed = ", ".join(f"{declared.name!r} {declared.label}" for declared in inputs)
        is_node = any(node.name == name for node in nodes)
        sink.add(
            BAD_INPUT_SHAPE.diagnostic(
                Text("the model has no input {name}", name=repr(name)),
                place=INPUT_SHAPE_PLACE,
                help=Text(
                    "{guess}inputs of the model: {listed}",
                    guess=guess,
                    listed=listed or Text("none"),
                ),
                atc=AtcFault("E10017" if is_node else "E10016", (name, "input_shape")),
            )
        )


class _Binder:
    def __init__(
        self,
        path: Path,
        inputs: Sequence[DeclaredInput],
        shapes: Mapping[str, Shape],
        sink: Sink,
        suggest: Callable[[], ShapeAdvice] | None = None,
    ) -> None:
        self._path = path
        self._inputs = inputs
        self._shapes = shapes
        self._sink = sink
        self._suggest = suggest
        self._advice: ShapeAdvice | None = None

    def bind(self, declared: DeclaredInput) -> ValueType:
        """The type of one input; findings go to the sink."""
        self.look_at(declared)
        if declared.kind:
            return ValueType(0, None)
        given = self._shapes.get(declared.name)
        if given is not None:
            self._check_given(declared, given)
            return ValueType(declared.element, given)
        if declared.dims is None or any(isinstance(dim, str) for dim in declared.dims):
            self._report_free(declared)
        fixed = tuple(dim if isinstance(dim, int) else 1 for dim in declared.dims or ())
        return ValueType(declared.element, fixed)

    def observe(self, declared: DeclaredInput) -> ValueType:
        """The known type of one input; only the user's shape can be at fault."""
        given = self._shapes.get(declared.name)
        if given is not None:
            self._check_given(declared, given)
            return ValueType(declared.element, given)
        if declared.dims is None:
            return ValueType(declared.element, None)
        dims = tuple(dim if isinstance(dim, int) else None for dim in declared.dims)
        return ValueType(declared.element, dims)

    def look_at(self, declared: DeclaredInput) -> None:
        """Report an input that no shape can fix."""
        self._check_element(declared)
        if not declared.kind:
            self._check_rank(declared)

    def _check_element(self, declared: DeclaredInput) -> None:
        place = self._place(declared)
        if declared.kind:
            message = Text(
                "the input {declared} must be a tensor, found a {kind}",
                declared=repr(declared.name),
                kind=declared.kind,
            )
            self._sink.add(BAD_MODEL.diagnostic(message, place=place))
        elif not declared.element:
            message = Text("the input {declared} has no element type", declared=repr(declared.name))
            self._sink.add(BAD_MODEL.diagnostic(message, place=place))
        elif dtype_of_element(declared.element) is None:
            name = element_name(declared.element)
            message = Text(
                "the element type {name} of input {declared} is not supported",
                name=name,
                declared=repr(declared.name),
            )
            self._sink.add(BAD_TENSOR.diagnostic(message, place=place))

    def _check_rank(self, declared: DeclaredInput) -> None:
        rank = len(self._shapes.get(declared.name) or declared.dims or ())
        if rank > MAX_RANK:
            message = Text(
                "tensors have at most {max_rank} axes, input {declared} has {rank}",
                max_rank=MAX_RANK,
                declared=repr(declared.name),
                rank=rank,
            )
            self._sink.add(BAD_TENSOR.diagnostic(message, place=self._place(declared)))

    def _check_given(self, declared: DeclaredInput, given: Shape) -> None:
        """Report where the user's shape contradicts the model's."""
        model = Text(
            "input {declared} is {label} in the model",
            declared=repr(declared.name),
            label=declared.label,
        )
        user = Text("--input-shape gives {shape}", shape=format_shape(given))
        if any(wanted < 1 for wanted in given):
            self._report_given(Text("dims must be at least 1, but {user}", user=user))
        elif (too_large := size_complaint(declared.element, given)) is not None:
            self._sink.add(
                BAD_INPUT_SHAPE.diagnostic(
                    too_large, place=INPUT_SHAPE_PLACE, help=Text("give the input smaller dims")
                )
            )
        if declared.dims is None:
            return
        if len(declared.dims) != len(given):
            ranks = len(declared.dims), len(given)
            self._report_given(
                Text(
                    "{model} (rank {ranks}), but {user} (rank {ranks_2})",
                    model=model,
                    ranks=ranks[0],
                    user=user,
                    ranks_2=ranks[1],
                ),
                AtcFault("E10049", (str(ranks[1]), str(ranks[0]))),
            )
            return
        for axis, (dim, wanted) in enumerate(zip(declared.dims, given, strict=True)):
            if isinstance(dim, int) and dim != wanted:
                self._report_given(
                    Text(
                        "{model}, but {user}: axis {axis} is {dim}, not {wanted}",
                        model=model,
                        user=user,
                        axis=axis,
                        dim=dim,
                        wanted=wanted,
                    ),
                    AtcFault("E10050", (str(dim), str(wanted), str(wanted))),
                )

    def _report_given(self, message: Text, fault: AtcFault | None = None) -> None:
        """Report a finding about the user's text; `fault` is ATC's code for it."""
        advice = self._suggested_shapes()
        text = format_input_shapes(self._suggestion()) if advice is None else advice.text
        self._sink.add(
            BAD_INPUT_SHAPE.diagnostic(
                message,
                place=INPUT_SHAPE_PLACE,
                help=Text('for example --input-shape "{text}"', text=text),
                atc=fault,
            )
        )

    def _suggested_shapes(self) -> ShapeAdvice | None:
        """Shapes found by `suggest`, if given; it is called once."""
        if self._suggest is not None and self._advice is None:
            self._advice = self._suggest()
        return self._advice

    def _report_free(self, declared: DeclaredInput) -> None:
        if declared.dims is None:
            what = Text("the rank of input {declared} is open", declared=repr(declared.name))
        else:
            free = [(axis, dim) for axis, dim in enumerate(declared.dims) if isinstance(dim, str)]
            listed = ", ".join(f"axis {axis}" + (f" ({dim})" if dim else "") for axis, dim in free)
            what = plural(
                len(free),
                "input {declared} has shape {label}: {listed} has no value",
                "input {declared} has shape {label}: {listed} have no value",
                declared=repr(declared.name),
                label=declared.label,
                listed=listed,
            )
        self._sink.add(
            FREE_DIMENSION.diagnostic(
                what,
                place=self._place(declared),
                help=self._hint(),
                atc=AtcFault("E10001", ("NULL", "--input_shape", what)),
            )
        )

    def _hint(self) -> Text:
        is_first = self._advice is None
        advice = self._suggested_shapes()
        if advice is None:
            text = format_input_shapes(self._suggestion())
            note = Text("1 stands for a dim that the model leaves open")
            if any(
                declared.dims is None and declared.name not in self._shapes
                for declared in self._inputs
            ):
                note += Text("; replace the 1 of an input of unknown rank by all its dims")
            return Text('give --input-shape "{advice}" ({note})', advice=text, note=note)
        if not is_first:
            return Text("give its shape as above")
        note = Text("a proposal that the model takes; other dims may do as well")
        if not advice.fits:
            note = Text(
                "with numbers in place of the names; none of the {tried} choices that "
                "were tried fits the model",
                tried=advice.tried,
            )
        elif not advice.runs:
            note = Text("the model compiles with these dims, but no run with them gave numbers")
        return Text('give --input-shape "{advice}" ({note})', advice=advice.text, note=note)

    def _suggestion(self) -> dict[str, Shape]:
        """Shapes that fit the model, for all inputs that need one or were given one."""
        wanted: dict[str, Shape] = {}
        for declared in self._inputs:
            dims = declared.dims
            given = self._shapes.get(declared.name)
            if dims is None:
                wanted[declared.name] = given or (1,)
            elif given is not None and declared.fits(given):
                wanted[declared.name] = given
            elif given is not None or any(isinstance(dim, str) for dim in dims):
                wanted[declared.name] = tuple(dim if isinstance(dim, int) else 1 for dim in dims)
        return wanted

    def _place(self, declared: DeclaredInput) -> Place:
        return Place(file=str(self._path), field=Text("input {at}", at=repr(declared.name)))
