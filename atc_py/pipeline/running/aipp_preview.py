"""AIPP on one picture, without a network: the device's kernel on a model of one node.

The values after a step are those of the kernel with later steps switched off, so that no
arithmetic is written twice.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.device.registry import find_backend
from atc_py.diag import BAD_OPTION, Place
from atc_py.options.aipp import AippConfig, AippSettings, NetworkInput, config_doubts
from atc_py.options.aipp.dynamic import read_picture_configs
from atc_py.options.aipp.geometry import picture_settings
from atc_py.options.aipp.pictures import encoded_picture, fitted, read_picture
from atc_py.options.aipp.settings import completed_colors
from atc_py.package.read_ahead import write_npy
from atc_py.package.schema import FORMAT, FORMAT_VERSION, OmModel, OmNode, OmPort, OmTensor
from atc_py.results.aipp_preview import AippPreview, AippStep, ChannelRange
from atc_py.system.atomic_files import atomic_write
from atc_py.target import find_soc
from atc_py.text import Text

_NO_BORDERS: dict[str, Any] = {
    "padding": False,
    "left_padding_size": 0,
    "right_padding_size": 0,
    "top_padding_size": 0,
    "bottom_padding_size": 0,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class PreviewOptions:
    """The user's options."""

    # height and width of the network; None for those that the configuration makes
    size: tuple[int, int] | None = None
    # `related_input_rank` of the configuration; None where there is only one
    input: int | None = None
    soc: str = "sim"  # name of the SoC, whose rules hold
    resize: bool = False  # True to resize a picture of another size
    swapped: bool = False  # True if R and B, or U and V, are stored in the other order
    as_bytes: bool = False  # True if the network takes uint8
    output: Path | None = None  # file for the tensor, or None


def preview(config_file: Path, picture_file: Path, options: PreviewOptions) -> AippPreview:
    """Preview of a picture after AIPP.

    Raises:
        AtcError: BAD_AIPP, BAD_PICTURE, or faults of files.
    """
    config = _chosen(config_file, options.input)
    rgb = read_picture(picture_file)
    network = _network(config, options, (rgb.shape[0], rgb.shape[1]))
    settings = picture_settings(config, network)
    size = settings.src_image_size_h, settings.src_image_size_w
    rgb = fitted(rgb, size, picture_file, resize=options.resize)
    data = encoded_picture(rgb, settings, swapped=options.swapped)[np.newaxis]
    steps = [_step("picture, RGB", rgb.transpose(2, 0, 1))]
    for name, each, as_bytes in _stages(settings, as_bytes=options.as_bytes):
        tensor = on_device(each, data, as_bytes=as_bytes)
        steps.append(_step(name, tensor[0]))
    if options.output is not None:
        with atomic_write(options.output, durable=False) as file:
            write_npy(file, tensor)
    doubts = config_doubts(config, is_uint8=options.as_bytes)
    return AippPreview(
        config_file, picture_file, settings, tuple(steps), tensor, options.output, tuple(doubts)
    )


def _chosen(path: Path, rank: int | None) -> AippConfig:
    """The configuration of a file that is meant: the only one, or that of an input."""
    configs = read_picture_configs(path)
    found = [each for each in configs if rank in {None, each.integer("related_input_rank")}]
    if len(found) == 1:
        return found[0]
    ranks = ", ".join(str(each["related_input_rank"]) for each in configs)
    known = (
        Text("it has some for the inputs {ranks}", ranks=ranks) if configs else Text("it has none")
    )
    wanted = "" if rank is None else Text(" for input {rank}", rank=rank)
    raise BAD_OPTION.error(
        Text(
            "{path} must have one configuration{wanted}: {known}",
            path=path,
            wanted=wanted,
            known=known,
        ),
        place=Place(str(path)),
        help=Text("choose one with --input") if configs else Text("write an `aipp_op { ... }`"),
    )


def _network(config: AippConfig, options: PreviewOptions, picture: tuple[int, int]) -> NetworkInput:
    size = options.size or tuple(
        _side(config, side, own) for side, own in zip("hw", picture, strict=True)
    )
    plain = AippSettings(input_format=str(config["input_format"]))
    channels = completed_colors(config, plain).channels
    return NetworkInput(
        name="input",
        shape=(1, channels, *size),
        family=find_soc(options.soc).family.value,
        is_uint8=options.as_bytes,
    )


def _side(config: AippConfig, side: str, picture: int) -> int:
    """Height, "h", or width, "w", of what a configuration makes of a picture."""
    found = config.integer(f"src_image_size_{side}") or picture
    if config.switch("crop"):
        found = config.integer(f"crop_size_{side}") or found
    if config.switch("padding"):
        borders = ("top", "bottom") if side == "h" else ("left", "right")
        found += sum(config.integer(f"{border}_padding_size") for border in borders)
    return found


def _stages(settings: AippSettings, *, as_bytes: bool) -> Iterator[tuple[str, AippSettings, bool]]:
    """Yield each step that is switched on: its name, settings up to it, whether it gives bytes."""
    bare = replace(settings, **_NO_BORDERS)
    read = "picture, as read"
    if settings.crop:
        read += ", cropped"
    if settings.rbuv_swap_switch:
        read += ", swapped"
    yield read, replace(bare, csc_switch=False), True
    if settings.csc_switch:
        yield "colors converted", bare, True
    if not as_bytes:
        yield "normalized", bare, False
    if settings.padding:
        yield "borders added", settings, as_bytes


def on_device(settings: AippSettings, data: NDArray[np.uint8], *, as_bytes: bool) -> NDArray[Any]:
    """A picture after AIPP on the simulated device: [1, C, H, W]."""
    device = find_backend("sim")
    device.open()
    try:
        handle = device.load(_OneNode(settings, data.shape, as_bytes=as_bytes))
        return device.run(handle, {"images": data})["features"]
    finally:
        device.close()


class _OneNode:
    """An offline model in memory: pictures, an `Aipp` node and its features."""

    def __init__(self, settings: AippSettings, shape: tuple[int, ...], *, as_bytes: bool) -> None:
        dtype = "uint8" if as_bytes else "float16"
        attributes = {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in settings.attributes().items()
        }
        node = OmNode("Aipp", "aipp", "aicore", [0], [1], attributes, None, [])
        tensors = [
            OmTensor("images", "uint8", list(shape), "NHWC"),
            OmTensor(
                "features", dtype, [shape[0], settings.channels, *settings.output_size], "NCHW"
            ),
        ]
        ports = [OmPort("images", 0)], [OmPort("features", 1)]
        self.description = OmModel(
            FORMAT, FORMAT_VERSION, "atc-py", "aipp", "sim", {}, *ports, tensors, [node], {}
        )

    def array(self, member: str) -> NDArray[Any]:
        """Refuse: the model has no constants."""
        raise KeyError(member)


def _step(name: str, tensor: NDArray[Any]) -> AippStep:
    channels = tuple(
        ChannelRange(
            float(channel.min()), float(channel.max()), float(channel.mean(dtype=np.float64))
        )
        for channel in tensor
    )
    return AippStep(name, tensor.dtype.name, tensor.shape, channels)
