"""AIPP in a graph: inputs become pictures of bytes, which a node turns into what the network takes."""

from collections.abc import Collection
from pathlib import Path

import msgspec

from atc_py.diag import Diagnostic
from atc_py.ir import Graph, Node, TensorType, Value
from atc_py.options.aipp import (
    AippConfig,
    AippFile,
    AippSettings,
    NetworkInput,
    assigned_configs,
    checked,
    config_doubts,
    dims_gears_refusal,
    file_doubts,
    fp16_input_refusal,
    read_aipp_file,
    source_shape,
)
from atc_py.options.aipp.parameters import BATCH_BYTES, HEADER_BYTES
from atc_py.options.compile_options import CompileOptions
from atc_py.options.gears import GearKind
from atc_py.target import Soc
from atc_py.tensor.dtypes import DType, Format
from atc_py.text import Text

PARAMETERS = "ascend_dynamic_aipp_data"
"""Name of the input with the settings of a run; further ones have their node's name after it."""

_IMAGE_RANK = 4
_TO_NHWC = (0, 2, 3, 1)


class PictureConfigs(msgspec.Struct, frozen=True):
    """Configurations of inputs that take pictures, and what decides how they are read."""

    file: AippFile  # a configuration for some of the inputs
    layout: str = Format.NCHW.value  # the layout of inputs that are images, by name
    image_gears: bool = False  # whether the network has gears of image sizes


def read_preprocessing(path: Path, options: CompileOptions) -> PictureConfigs:
    kind = None if options.gears is None else options.gears.kind
    if kind is GearKind.DIMS:
        raise dims_gears_refusal(str(path))
    layout = options.input_format.value
    return PictureConfigs(read_aipp_file(path), layout, kind is GearKind.IMAGE)


def add_preprocessing(
    graph: Graph, pictures: PictureConfigs, soc: Soc, fp16_inputs: Collection[str] = ()
) -> tuple[Diagnostic, ...]:
    """Check configurations by the graph's inputs, insert their nodes, and return what is doubtful.

    Inputs keep their names, and hold pictures then. Those with the settings of a run come after all
    others.
    """
    names = [value.name for value in graph.inputs]
    found: dict[str, AippSettings] = {}
    doubts = file_doubts(pictures.file)
    for position, config in sorted(assigned_configs(pictures.file, names).items()):
        value = graph.inputs[position]
        if value.name in fp16_inputs:
            raise fp16_input_refusal(config, value.name)
        _check_type(config, value)
        as_bytes = value.type.dtype is DType.UINT8
        network = NetworkInput(
            name=value.name,
            shape=value.type.shape,
            layout=pictures.layout,
            family=soc.family.value,
            is_uint8=as_bytes,
            image_gears=pictures.image_gears,
        )
        found[value.name] = checked(config, network)
        doubts += config_doubts(config, is_uint8=as_bytes)
    nodes = [
        _insert(graph, value, found[value.name], pictures.layout)
        for value in graph.inputs
        if value.name in found
    ]
    dynamic = (node for node in nodes if node.attributes["aipp_mode"] == "dynamic")
    for number, node in enumerate(dynamic):
        name = f"{PARAMETERS}_{node.name}" if number else PARAMETERS
        size = HEADER_BYTES + BATCH_BYTES * node.output.type.shape[0]
        node.append_input(graph.add_input(name, TensorType(DType.UINT8, (size,))))
    graph.sort()
    return tuple(doubts)


def _check_type(config: AippConfig, value: Value) -> None:
    """Refuse an input whose dims are open, and one that holds neither floats nor bytes."""
    dtype = value.type.dtype
    if value.type.is_open:
        raise config.error(
            Text(
                "AIPP needs all dims of input {value}, found {type}",
                value=repr(value.name),
                type=value.type,
            ),
            "related_input_rank",
            Text("fix them with --input-shape, or give gears of batch or image sizes"),
        )
    if not (dtype.is_float or dtype is DType.UINT8):
        raise config.error(
            Text(
                "AIPP gives floats or uint8, but input {value} is {dtype}",
                value=repr(value.name),
                dtype=dtype.value,
            ),
            "related_input_rank",
        )


def _insert(graph: Graph, value: Value, settings: AippSettings, layout: str) -> Node:
    """The new node of one input, whose result goes where the input went."""
    network, uses = value.type, value.uses
    dims = network.shape
    if layout == Format.NHWC.value:
        dims = (dims[0], dims[3], dims[1], dims[2])
    as_bytes = network.dtype is DType.UINT8
    dtype = DType.UINT8 if as_bytes else DType.FLOAT16
    shape = source_shape(settings, dims[0])
    form = Format.NHWC if len(shape) == _IMAGE_RANK else Format.ND
    value.type = TensorType(DType.UINT8, shape, form)
    features = TensorType(dtype, dims, Format.NCHW)
    node = graph.add_node(
        "Aipp", [value], [(f"{value.name}.features", features)], settings.attributes()
    )
    node.name = graph.fresh_name(f"{value.name}_0_aipp")
    result = node.output
    if dtype is not network.dtype:
        kind = features.with_dtype(network.dtype)
        name = f"{value.name}.{network.dtype.value}"
        attributes = {"dst_type": network.dtype}
        result = graph.add_node("Cast", [result], [(name, kind)], attributes).output
    if layout == Format.NHWC.value:
        kind = TensorType(network.dtype, network.dims, network.format)
        name = f"{value.name}.nhwc"
        result = graph.add_node("TransposeD", [result], [(name, kind)], {"perm": _TO_NHWC}).output
    for user, position in uses:
        user.set_input(position, result)
    return node
