"""Data on which a model and its fixed form run: bound values, the user's files, random data."""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.compare.proof import ModelFeeds
from atc_py.diag.codes import BAD_RUN_INPUT
from atc_py.options.fix_options import FixOptions
from atc_py.running.feeds import read_feeds
from atc_py.running.model import Port
from atc_py.source import SourceModel
from atc_py.system.path_facts import is_folder
from atc_py.text import Text

_FORMS = frozenset({".bin", ".npy", ".npz", ".pb"})


def model_feeds(source: SourceModel, options: FixOptions) -> ModelFeeds | None:
    """Return the data of the runs; None where dims of inputs are open.

    Args:
        source: the model, with the dims that the user gave.
        options: the number of runs, bound values, ranges, and files.

    Raises:
        AtcError: a file cannot be read, or does not fit its input.
    """
    typed = [each for each in source.inputs if not each.is_open and each.dtype is not None]
    if len(typed) < len(source.inputs):
        if options.data:
            names = ", ".join(each.name for each in source.inputs if each not in typed)
            raise BAD_RUN_INPUT.error(
                Text("data cannot be fed while dims of {names} are open", names=names),
                help="give the dims with --input-shape",
            )
        return None
    ports = [Port(each.name, each.required_dtype, each.required_dims) for each in typed]
    free = [each for each in ports if each.name not in options.rules.bind]
    read = read_feeds(_files(options.data, free), free)
    for port in free:
        if port.name in read:
            _refuse_misfit(port, read[port.name])
    bound: dict[str, NDArray[Any]] = {
        each.name: np.full(each.shape, options.rules.bind[each.name], each.required_dtype.numpy)
        for each in typed
        if each.name in options.rules.bind
    }
    # Where files have every input, a second run would be the first one again.
    runs = 1 if free and len(read) == len(free) else options.seeds
    return ModelFeeds(
        ports, range(min(runs, options.seeds)), {**read, **bound}, options.rules.ranges
    )


def _files(given: Iterable[str], ports: Iterable[Port]) -> Iterator[str]:
    """Yield `name=file` texts; a folder stands for its files, each called like an input.

    Raises:
        AtcError: BAD_RUN_INPUT for a folder without such a file.
    """
    names = [each.name for each in ports]
    for text in given:
        folder = Path(text)
        if not is_folder(folder):
            yield text
            continue
        found = [
            f"{name}={folder / f'{name}{form}'}"
            for name in names
            for form in sorted(_FORMS)
            if (folder / f"{name}{form}").is_file()
        ]
        if not found:
            raise BAD_RUN_INPUT.error(
                Text("{folder} has no file that is named after an input", folder=folder),
                help=Text("name files {names}", names=", ".join(f"{name}.npy" for name in names)),
            )
        yield from found


def _refuse_misfit(port: Port, array: NDArray[Any]) -> None:
    """Refuse data of other dims or of another element type than an input's."""
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
            help="save the data in the dims and the element type of the input",
        )
