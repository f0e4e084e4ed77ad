"""Dims that a model leaves open, as the data have them that it is fed."""

import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.compare.sample_source import sample_arrays, sample_paths
from atc_py.diag import BAD_RUN_INPUT, PROPOSED_DIMS, Diagnostic, Place, Sink
from atc_py.onnx_graph.reading.contents import DeclaredInput
from atc_py.onnx_graph.reading.read import read_model
from atc_py.onnx_graph.reading.tensors import dtype_of_element
from atc_py.options.compile_options import CheckOptions
from atc_py.options.option import parse_options
from atc_py.options.ranges import shapes_and_ranges
from atc_py.package.foreign import is_offline
from atc_py.pipeline.running.feeds import read_feeds
from atc_py.pipeline.running.model import Port
from atc_py.pipeline.running.sample_files import FileSamples
from atc_py.pipeline.running.sample_rows import RowSamples
from atc_py.pipeline.running.samples import Samples, has_rows
from atc_py.system.cache_folders import is_folder
from atc_py.tensor.shapes import Dims, Shape, format_shape
from atc_py.text import Text

Arrays = Mapping[str, NDArray[np.generic]]

_WITH_SHAPE = frozenset({".npy", ".npz", ".pb"})
"""Suffixes of files that state shapes."""


def shapes_with_data(
    model: str | os.PathLike[str],
    given: str | Mapping[str, Sequence[int]],
    inputs: Arrays | Iterable[str],
    samples: Any,
    keywords: Mapping[str, Any],
    notes: list[Diagnostic] | None = None,
) -> str | Mapping[str, Sequence[int]]:
    """The dims `given`, and for inputs that they leave open those of the data.

    Random samples that were asked for have the dims that a check proposes, if it finds any.

    The first of `samples` has the dims; None stands for random data that nobody asked for, which
    need dims. With gears or AIPP among the `keywords` of the compilation the dims are not those of
    the data. `notes` takes a note on dims that are proposed.
    """
    listed = inputs if isinstance(inputs, Mapping) else tuple(inputs)
    fed = bool(listed) or samples is not None
    elsewhere = ("aipp", "batch_sizes", "image_sizes", "dims")
    if not fed or any(keywords.get(name) for name in elsewhere) or is_offline(Path(model)):
        return given
    shapes, ranges = shapes_and_ranges(given)
    declared = read_model(Path(model), lenient=True).inputs
    left = [each for each in declared if each.name not in shapes and _is_open(each)]
    if ranges or not left:
        return given
    if isinstance(samples, int) and not listed:
        found = proposed_dims(Path(model), given, keywords, notes)
        return given if found is None else found
    ports = [port for each in declared if (port := _port(each, shapes)) is not None]
    found = _shapes_of(listed, samples, ports)
    _refuse_ranks(left, found)
    return {**shapes, **_bound(left, {**shapes, **found}, declared)}


def proposed_dims(
    model: Path,
    given: str | Mapping[str, Sequence[int]],
    keywords: Mapping[str, Any],
    notes: list[Diagnostic] | None,
) -> dict[str, Shape] | None:
    """The dims `given` and those that a check proposes for the others, which `notes` names.

    None where the model takes none that the check tries.
    """
    from atc_py.pipeline.check import check_files

    options = parse_options("check", CheckOptions, {**keywords, "input_shape": given})
    check = check_files([model], options).models[0]
    if not check.shape_hint or not check.hint_fits:
        return None
    if notes is not None:
        notes.append(
            PROPOSED_DIMS.diagnostic(
                Text("random data have the proposed dims {shapes}", shapes=check.shape_hint),
                place=Place(str(model)),
                help=Text("give other dims with --input-shape, or data with dims of their own"),
            )
        )
    return shapes_and_ranges(check.shape_hint)[0]


def _refuse_ranks(left: Iterable[DeclaredInput], found: Mapping[str, Shape]) -> None:
    """Raise BAD_RUN_INPUT for data that have more or fewer axes than their input."""
    for each in left:
        shape, dims = found.get(each.name), each.dims or ()
        if shape is not None and len(shape) != len(dims):
            raise BAD_RUN_INPUT.error(
                Text(
                    "data for {name} have {n} axes, {shape}, but the input has {count}: {dims}",
                    name=each.name,
                    n=len(shape),
                    shape=format_shape(shape),
                    count=len(dims),
                    dims=format_shape(dim if isinstance(dim, int) else None for dim in dims),
                ),
                help=Text("save the data of one run, with exactly the axes of the input"),
            )


def _is_open(declared: DeclaredInput) -> bool:
    return declared.dims is not None and any(isinstance(dim, str) for dim in declared.dims)


def _port(declared: DeclaredInput, shapes: Mapping[str, Shape]) -> Port | None:
    dtype = dtype_of_element(declared.element)
    if dtype is None or declared.dims is None:
        return None
    dims: Dims = tuple(dim if isinstance(dim, int) else None for dim in declared.dims)
    return Port(declared.name, dtype, shapes.get(declared.name, dims))


def _shapes_of(
    inputs: Arrays | tuple[str, ...], samples: Any, ports: Sequence[Port]
) -> dict[str, Shape]:
    """The shapes of the arrays, those of samples from the first one."""
    if isinstance(inputs, Mapping):
        arrays: dict[str, Any] = dict(inputs)
    else:
        paths = {text: Path(text.rpartition("=")[2]) for text in inputs}
        stating = [
            text for text, path in paths.items() if path.suffix in _WITH_SHAPE or is_folder(text)
        ]
        arrays = dict(read_feeds(stating, ports))
    if not isinstance(samples, int | None):
        arrays |= _first_sample(samples, ports)
    return {name: tuple(np.shape(array)) for name, array in arrays.items()}


def _first_sample(samples: Any, ports: Sequence[Port]) -> Mapping[str, Any]:
    if not isinstance(samples, str | os.PathLike | Sequence):
        return {}
    opened: Samples | None = sample_arrays(samples)
    if opened is None:
        named = sample_paths(samples, ports)
        opened = RowSamples(named, ports) if has_rows(named) else FileSamples(named, ports, Sink())
    return next((feeds for _, feeds in opened), {})


def _bound(
    left: Iterable[DeclaredInput], shapes: Mapping[str, Shape], declared: Iterable[DeclaredInput]
) -> dict[str, Shape]:
    """Shapes of inputs whose dims are all known: of their own data, or by name from other inputs."""
    numbers = {
        dim: number
        for each in declared
        if each.name in shapes and each.dims is not None
        if len(shapes[each.name]) == len(each.dims)
        for dim, number in zip(each.dims, shapes[each.name], strict=True)
        if isinstance(dim, str) and dim
    }
    found = {}
    for each in left:
        dims = tuple(numbers.get(dim) if isinstance(dim, str) else dim for dim in each.dims or ())
        own = shapes.get(each.name) or tuple(dim for dim in dims if dim is not None)
        if len(own) == len(dims):
            found[each.name] = own
    return found
