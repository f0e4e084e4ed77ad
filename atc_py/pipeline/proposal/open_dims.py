"""The dims that a model's inputs leave open, and files in which some of them are chosen."""

from collections.abc import Container, Iterable, Iterator, Mapping, Sequence

from atc_py.onnx_graph.reading.contents import DeclaredInput
from atc_py.onnx_graph.reading.onnx_file import OnnxFile
from atc_py.onnx_graph.source import OpenDim
from atc_py.options.auto_gears import DimSum, parse_dim
from atc_py.system.structs import replace
from atc_py.tensor.shapes import Shape


def open_dims(inputs: Iterable[DeclaredInput]) -> tuple[OpenDim, ...]:
    """List the open dims of inputs of known rank; sums of others are left out."""
    places: dict[str | tuple[str, int], list[tuple[str, int]]] = {}
    ranks: dict[str, int] = {}
    for declared in inputs:
        ranks[declared.name] = len(declared.dims or ())
        for axis, dim in enumerate(declared.dims or ()):
            if isinstance(dim, str):
                here = (declared.name, axis)
                places.setdefault(dim or here, []).append(here)
    names = {key for key in places if isinstance(key, str)}
    return tuple(
        OpenDim(key if isinstance(key, str) else "", tuple(where), ranks[where[0][0]])
        for key, where in places.items()
        if not (isinstance(key, str) and _sum_of(key, names))
    )


def _sum_of(name: str, known: Container[str]) -> DimSum | None:
    """The sum of known names that exporters write as a name, such as `past_length + 1`."""
    dim = parse_dim(name)
    is_sum = "+" in name and dim.names != (name.strip(),)
    return dim if is_sum and all(each in known for each in dim.names) else None


def chosen(file: OnnxFile, values: Mapping[OpenDim, int]) -> OnnxFile:
    """`file` as if its inputs had these values; the rest stays open."""
    by_place = {place: value for dim, value in values.items() for place in dim.places}
    by_name = {dim.name: value for dim, value in values.items() if dim.name}
    inputs = tuple(_with_values(each, by_place, by_name) for each in file.inputs)
    return replace(file, inputs=inputs)


def _with_values(
    declared: DeclaredInput, by_place: Mapping[tuple[str, int], int], by_name: Mapping[str, int]
) -> DeclaredInput:
    if declared.dims is None:
        return declared
    dims = tuple(
        dim if isinstance(dim, int) else by_place.get((declared.name, axis), _sum(dim, by_name))
        for axis, dim in enumerate(declared.dims)
    )
    return replace(declared, dims=dims)


def _sum(name: str, by_name: Mapping[str, int]) -> int | str:
    """Compute a sum; return the name if a term is open or it is not a sum."""
    dim = _sum_of(name, by_name)
    return name if dim is None else dim.value(by_name)


def shapes_of(file: OnnxFile, names: Iterable[str]) -> dict[str, Shape]:
    """The shapes of those of the named inputs that are fixed."""
    wanted = set(names)
    return {
        each.name: tuple(int(dim) for dim in each.dims)
        for each in file.inputs
        if each.name in wanted
        and each.dims is not None
        and all(isinstance(dim, int) for dim in each.dims)
    }


def given_dims(inputs: Sequence[DeclaredInput], shapes: Mapping[str, Shape]) -> dict[OpenDim, int]:
    """The values that `shapes` give open dims; a dim with two values has its first."""
    values: dict[OpenDim, int] = {}
    for dim in open_dims(inputs):
        for name, axis in dim.places:
            if name in shapes and axis < len(shapes[name]):
                values.setdefault(dim, shapes[name][axis])
    return values


def open_form(inputs: Iterable[DeclaredInput], shapes: Mapping[str, Shape]) -> str:
    """Write the text of --input-shape with names, or `?`, for open dims."""
    return ";".join(
        f"{each.name}:{','.join(_labels(each, shapes))}"
        for each in inputs
        if each.name in shapes
        or each.dims is None
        or any(isinstance(dim, str) for dim in each.dims)
    )


def _labels(declared: DeclaredInput, shapes: Mapping[str, Shape]) -> Iterator[str]:
    """Yield the dims of one input as text; three dots for an unknown rank."""
    if declared.name in shapes:
        yield from map(str, shapes[declared.name])
    elif declared.dims is None:
        yield "..."
    else:
        yield from (str(dim) or "?" for dim in declared.dims)
