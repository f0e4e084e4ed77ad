"""Data of a model's inputs in the runs of a proof, and the bounds that they are of integers."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.compare.proof.whole_models import ModelFeeds
from atc_py.compare.row_order import RowOrder
from atc_py.diag import BAD_RUN_INPUT
from atc_py.onnx_graph.source import SourceModel
from atc_py.options.command_options import FixOptions
from atc_py.pipeline.running.feeds import read_feeds
from atc_py.pipeline.running.model import Port
from atc_py.system.cache_folders import is_folder
from atc_py.text import Text

_FORMS = frozenset({".bin", ".npy", ".npz", ".pb"})


def model_feeds(
    source: SourceModel, options: FixOptions, given: Mapping[str, NDArray[Any]] | None = None
) -> ModelFeeds | None:
    """The data of the runs, those of files if they were read; None where dims of inputs are open."""
    typed = [tensor for tensor in source.inputs if not tensor.is_open and tensor.dtype is not None]
    if len(typed) < len(source.inputs):
        if options.data:
            names = ", ".join(tensor.name for tensor in source.inputs if tensor not in typed)
            raise BAD_RUN_INPUT.error(
                Text("data cannot be fed while dims of {names} are open", names=names),
                help=Text("give the dims with --input-shape"),
            )
        return None
    ports = [Port(tensor.name, tensor.required_dtype, tensor.required_dims) for tensor in typed]
    free = [port for port in ports if port.name not in options.rules.bind]
    if given is None:
        given = read_feeds(_files(options.data, free), free)
    read = {port.name: given[port.name] for port in free if port.name in given}
    for port in free:
        if port.name in read:
            _refuse_misfit(port, read[port.name])
    bound: dict[str, NDArray[Any]] = {
        tensor.name: np.full(
            tensor.shape, options.rules.bind[tensor.name], tensor.required_dtype.numpy
        )
        for tensor in typed
        if tensor.name in options.rules.bind
    }
    # Where files have every input, a second run would be the first one again.
    runs = 1 if free and len(read) == len(free) else options.seeds
    return ModelFeeds(
        ports,
        range(min(runs, options.seeds)),
        {**read, **bound},
        options.rules.ranges,
        RowOrder.of_source(source),
    )


def _files(given: Iterable[str], ports: Iterable[Port]) -> Iterator[str]:
    """Yield `name=file` texts; a folder stands for its files, each called like an input."""
    names = [port.name for port in ports]
    for text in given:
        folder = Path(text)
        if not is_folder(folder):
            yield text
            continue
        results = [
            f"{name}={folder / f'{name}{form}'}"
            for name in names
            for form in sorted(_FORMS)
            if (folder / f"{name}{form}").is_file()
        ]
        if not results:
            raise BAD_RUN_INPUT.error(
                Text("{folder} has no file that is named after an input", folder=folder),
                help=Text("name files {names}", names=", ".join(f"{name}.npy" for name in names)),
            )
        yield from results


def _refuse_misfit(port: Port, array: NDArray[Any]) -> None:
    dims = tuple(port.shape)
    if array.shape != dims or array.dtype != port.dtype.numpy:
        raise BAD_RUN_INPUT.error(
            Text(
                "data for {port} are {dtype} {shape}, the input is {dtype_2} {dims}",
                port=port.name,
                dtype=array.dtype,
                shape=list(array.shape),
                dtype_2=port.dtype.value,
                dims=list(dims),
            ),
            help=Text("save the data in the dims and the element type of the input"),
        )
