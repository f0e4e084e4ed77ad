"""Samples that are pictures, with what AIPP makes of them."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.diag import BAD_OPTION, Place
from atc_py.options.aipp import NetworkInput
from atc_py.options.aipp.dynamic import read_picture_configs
from atc_py.options.aipp.geometry import picture_settings
from atc_py.options.aipp.picture_formula import exact_features
from atc_py.options.aipp.pictures import picture_input
from atc_py.pipeline.running.model import Port
from atc_py.pipeline.running.sample_files import batches, entries
from atc_py.target import find_soc
from atc_py.tensor.dtypes import DType
from atc_py.tensor.shapes import format_shape
from atc_py.text import Text

_IMAGE = 4


class PictureSamples:
    """Pictures in a folder, as many for a sample as the model's batch has.

    The features are those of AIPP's formula without rounding; the device rounds them to float16.
    """

    def __init__(
        self, folder: Path, config: Path, ports: Sequence[Port], *, resize: bool = False
    ) -> None:
        self._port, self._shape = _picture_port(ports)
        configs = read_picture_configs(config)
        if len(configs) != 1:
            raise BAD_OPTION.error(
                Text(
                    "{config} must have one configuration, it has {count}",
                    config=config,
                    count=len(configs),
                ),
                place=Place(str(config)),
                help=Text("write one `aipp_op` for the model's input"),
            )
        self._config, self._resize = configs[0], resize
        self._batches = batches(entries(folder), self._shape[0], folder)
        self.count = len(self._batches)

    def __iter__(self) -> Iterator[tuple[str, dict[str, NDArray[Any]]]]:
        for paths in self._batches:
            features = np.stack([self._features(path) for path in paths])
            yield str(paths[0]), {self._port.name: features.astype(self._port.dtype.numpy)}

    def _features(self, path: Path) -> NDArray[Any]:
        """[C, H, W]."""
        is_uint8 = self._port.dtype is DType.UINT8
        network = NetworkInput(
            name=self._port.name,
            shape=(1, *self._shape[1:]),
            family=find_soc("sim").family.value,
            is_uint8=is_uint8,
        )
        settings = picture_settings(self._config, network)
        data = picture_input(path, settings, resize=self._resize).reshape(-1)
        return exact_features(settings, data, as_bytes=is_uint8)


def _picture_port(ports: Sequence[Port]) -> tuple[Port, tuple[int, ...]]:
    """The input that takes pictures, and its shape; an open batch is 1."""
    if len(ports) != 1 or len(ports[0].shape) != _IMAGE:
        raise BAD_OPTION.error(
            Text(
                "--aipp is for models with one input of four axes, found {ports}",
                ports=", ".join(format_shape(port.shape) for port in ports),
            ),
            help=Text("save the samples as arrays of all inputs"),
        )
    dims = ports[0].shape
    shape = (1 if dims[0] is None else dims[0], *dims[1:])
    known = tuple(dim for dim in shape if dim is not None)
    if len(known) != _IMAGE:
        raise BAD_OPTION.error(
            Text(
                "pictures for {name} need its size, which is {shape}",
                name=repr(ports[0].name),
                shape=format_shape(dims),
            ),
            help=Text('give it with --input-shape "{name}:..."', name=ports[0].name),
        )
    return ports[0], known
