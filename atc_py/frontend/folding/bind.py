"""Binding input shapes: what the model declares, joined with what the user gives."""

from __future__ import annotations

from typing import TYPE_CHECKING

from atc_py.diag import AtcFault, Place, Sink
from atc_py.diag.codes import BAD_INPUT_SHAPE, BAD_MODEL, BAD_TENSOR, FREE_DIMENSION
from atc_py.frontend.folding.graph import ValueType
from atc_py.frontend.reading.tensors import dtype_of_element, element_name, size_complaint
from atc_py.options.input_shapes import INPUT_SHAPE_PLACE, format_input_shapes
from atc_py.tensor.shapes import MAX_RANK, format_shape

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from atc_py.diag import Diagnostic
    from atc_py.frontend.folding.graph import WorkNode
    from atc_py.frontend.reading.declared import DeclaredInput
    from atc_py.options.input_shapes import ShapeAdvice
    from atc_py.tensor.shapes import Dims, Shape

__all__ = ["bind_inputs", "input_faults", "observe_inputs"]


def bind_inputs(
    path: Path,
    inputs: Sequence[DeclaredInput],
    shapes: Mapping[str, Shape],
    suggest: Callable[[], ShapeAdvice] | None = None,
    nodes: Sequence[WorkNode] = (),
    opened: Mapping[str, Dims] | None = None,
) -> dict[str, ValueType]:
    """Return types of `inputs`, with dims of `shapes` where the model leaves them open.

    Args:
        path: the model's file.
        inputs: its inputs.
        shapes: what the user gave.
        suggest: finds shapes to propose; without it every open dim is proposed as 1.
        nodes: the model's nodes, whose names are not those of inputs.
        opened: inputs with dims that each run decides, None for these.

    Raises:
        AtcError: with every finding: BAD_INPUT_SHAPE for shapes that fit no input, FREE_DIMENSION
            for inputs that stay open, BAD_MODEL and BAD_TENSOR for inputs that no shape can fix.
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
    nodes: Sequence[WorkNode] = (),
) -> dict[str, ValueType]:
    """Return types of `inputs` as far as they are known, with the dims of `shapes`.

    Args are those of `bind_inputs`.

    Raises:
        AtcError: BAD_INPUT_SHAPE for shapes that fit no input.
    """
    sink = Sink()
    _check_names(inputs, list(shapes), nodes, sink)
    binder = _Binder(path, inputs, shapes, sink, suggest)
    observed = {declared.name: binder.observe(declared) for declared in inputs}
    sink.raise_errors()
    return observed


def input_faults(
    path: Path, inputs: Sequence[DeclaredInput], shapes: Mapping[str, Shape]
) -> list[Diagnostic]:
    """Return the faults of `inputs` that hold for any shape: BAD_MODEL and BAD_TENSOR."""
    sink = Sink()
    binder = _Binder(path, inputs, shapes, sink)
    for declared in inputs:
        binder.look_at(declared)
    return sink.errors


def _check_names(
    inputs: Sequence[DeclaredInput],
    shapes: Sequence[str],
    nodes: Sequence[WorkNode],
    sink: Sink,
) -> None:
    """Report shapes for inputs that the model does not have."""
    names = [declared.name for declared in inputs]
    for name in shapes:
        if name in names:
            continue
        import difflib  # most runs misspell nothing

        near = difflib.get_close_matches(name, names, n=1)
        guess = f"did you mean {near[0]!r}? " if near else ""
        listed = ", ".join(f"{declared.name!r} {declared.label}" for declared in inputs)
        is_node = any(node.name == name for node in nodes)
        sink.add(
            BAD_INPUT_SHAPE.diagnostic(
                f"the model has no input {name!r}",
                place=INPUT_SHAPE_PLACE,
                help=f"{guess}inputs of the model: {listed or 'none'}",
                atc=AtcFault("E10017" if is_node else "E10016", (name, "input_shape")),
            )
        )


class _Binder:
    """Binds the inputs of one model."""

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
        """Return the type of one input; findings go to the sink."""
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
        """Return the known type of one input; only the user's shape can be at fault."""
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
        """Report an input that is not a tensor, has no element type, or one that is not supported."""
        place = self._place(declared)
        if declared.kind:
            message = f"the input {declared.name!r} must be a tensor, found a {declared.kind}"
            self._sink.add(BAD_MODEL.diagnostic(message, place=place))
        elif not declared.element:
            message = f"the input {declared.name!r} has no element type"
            self._sink.add(BAD_MODEL.diagnostic(message, place=place))
        elif dtype_of_element(declared.element) is None:
            name = element_name(declared.element)
            message = f"the element type {name} of input {declared.name!r} is not supported"
            self._sink.add(BAD_TENSOR.diagnostic(message, place=place))

    def _check_rank(self, declared: DeclaredInput) -> None:
        """Report an input with more axes than an array can have."""
        rank = len(self._shapes.get(declared.name) or declared.dims or ())
        if rank > MAX_RANK:
            message = f"tensors have at most {MAX_RANK} axes, input {declared.name!r} has {rank}"
            self._sink.add(BAD_TENSOR.diagnostic(message, place=self._place(declared)))

    def _check_given(self, declared: DeclaredInput, given: Shape) -> None:
        """Report where the user's shape contradicts the model's."""
        model = f"input {declared.name!r} is {declared.label} in the model"
        user = f"--input-shape gives {format_shape(given)}"
        if any(wanted < 1 for wanted in given):
            self._report_given(f"dims must be at least 1, but {user}")
        elif (too_large := size_complaint(declared.element, given)) is not None:
            self._sink.add(
                BAD_INPUT_SHAPE.diagnostic(
                    too_large, place=INPUT_SHAPE_PLACE, help="give the input smaller dims"
                )
            )
        if declared.dims is None:
            return
        if len(declared.dims) != len(given):
            ranks = len(declared.dims), len(given)
            self._report_given(
                f"{model} (rank {ranks[0]}), but {user} (rank {ranks[1]})",
                AtcFault("E10049", (str(ranks[1]), str(ranks[0]))),
            )
            return
        for axis, (dim, wanted) in enumerate(zip(declared.dims, given, strict=True)):
            if isinstance(dim, int) and dim != wanted:
                self._report_given(
                    f"{model}, but {user}: axis {axis} is {dim}, not {wanted}",
                    AtcFault("E10050", (str(dim), str(wanted), str(wanted))),
                )

    def _report_given(self, message: str, fault: AtcFault | None = None) -> None:
        """Report a finding about the user's text; `fault` is ATC's code for it."""
        advice = self._suggested_shapes()
        text = format_input_shapes(self._suggestion()) if advice is None else advice.text
        self._sink.add(
            BAD_INPUT_SHAPE.diagnostic(
                message,
                place=INPUT_SHAPE_PLACE,
                help=f'for example --input-shape "{text}"',
                atc=fault,
            )
        )

    def _suggested_shapes(self) -> ShapeAdvice | None:
        """Return shapes found by `suggest`, if given; it is called once."""
        if self._suggest is not None and self._advice is None:
            self._advice = self._suggest()
        return self._advice

    def _report_free(self, declared: DeclaredInput) -> None:
        """Report a finding about an input that stays open."""
        if declared.dims is None:
            what = f"the rank of input {declared.name!r} is open"
        else:
            free = [(axis, dim) for axis, dim in enumerate(declared.dims) if isinstance(dim, str)]
            listed = ", ".join(f"axis {axis}" + (f" ({dim})" if dim else "") for axis, dim in free)
            what = f"input {declared.name!r} is {declared.label}: {listed} left open"
        self._sink.add(
            FREE_DIMENSION.diagnostic(
                what,
                place=self._place(declared),
                help=self._hint(),
                atc=AtcFault("E10001", ("NULL", "--input_shape", what)),
            )
        )

    def _hint(self) -> str:
        """Return the hint: what to give for inputs that stay open."""
        is_first = self._advice is None
        advice = self._suggested_shapes()
        if advice is None:
            text = format_input_shapes(self._suggestion())
            note = "1 stands for a dim that the model leaves open"
            if any(each.dims is None and each.name not in self._shapes for each in self._inputs):
                note += "; replace the 1 of an input of unknown rank by all its dims"
            return f'give --input-shape "{text}" ({note})'
        if not is_first:
            return "give its shape as above"
        note = "a proposal that the model takes; other dims may do as well"
        if not advice.fits:
            note = (
                "with numbers in place of the names; none of the "
                f"{advice.tried} choices that were tried fits the model"
            )
        return f'give --input-shape "{advice.text}" ({note})'

    def _suggestion(self) -> dict[str, Shape]:
        """Return shapes that fit the model, for all inputs that need one or were given one."""
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
        """Return the location of the input."""
        return Place(file=str(self._path), field=f"input {declared.name!r}")
