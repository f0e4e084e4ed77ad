"""Inputs of an offline model that hold pictures: the settings of AIPP as its nodes have them."""

from dataclasses import fields
from math import prod
from typing import Any

from atc_py.diag import OM_CONTENT, Place
from atc_py.options.aipp import AippSettings, NetworkInput
from atc_py.package.schema import AIPP, OmModel, OmNode
from atc_py.system.structs import Result
from atc_py.tensor.dtypes import DType
from atc_py.text import Text


class PictureInput(Result, frozen=True):
    """An input that AIPP reads.

    Attributes:
        name: of the input.
        position: of the input among all.
        node: name of the Aipp node.
        settings: those that the node has.
        shape: of the input.
        format: of the input.
        features: dims of the node's result, as NCHW.
        dtype: of the node's result.
        parameters: the input with the settings of a run; None for static AIPP.
    """

    name: str
    position: int
    node: str
    settings: AippSettings
    shape: tuple[int, ...]
    format: str
    features: tuple[int, ...]
    dtype: DType
    parameters: str | None = None

    @property
    def nbytes(self) -> int:
        """Bytes of the input."""
        return prod(self.shape)

    @property
    def is_dynamic(self) -> bool:
        """True if settings come with the data of a run."""
        return self.settings.is_dynamic

    def network(self, soc_family: str) -> NetworkInput:
        """The network's input as settings of a run are checked by it."""
        return NetworkInput(
            name=self.name,
            shape=self.features,
            family=soc_family,
            is_uint8=self.dtype is DType.UINT8,
        )

    def as_json(self) -> dict[str, Any]:
        """Input, output and settings, by the names of the configuration file.

        Dynamic AIPP has no settings but the most bytes of its pictures.
        """
        settings = self.settings.attributes()
        if self.is_dynamic:
            settings = {name: settings[name] for name in ("aipp_mode", "max_src_image_size")}
        return {
            "input": self.name,
            "node": self.node,
            "parameters": self.parameters,
            "src_format": self.format,
            "src_dtype": DType.UINT8.value,
            "src_dims": list(self.shape),
            "src_bytes": self.nbytes,
            "out_format": "NCHW",
            "out_dtype": self.dtype.value,
            "out_dims": list(self.features),
            "settings": {
                name: list(value) if isinstance(value, tuple) else value
                for name, value in settings.items()
            },
        }


def picture_inputs(description: OmModel) -> tuple[PictureInput, ...]:
    """The inputs that Aipp nodes of a model read, in the order of inputs."""
    ports = {port.tensor: at for at, port in enumerate(description.inputs)}
    inputs = [
        _picture_input(description, node, ports)
        for node in description.nodes
        if node.op == AIPP and node.inputs and node.inputs[0] in ports
    ]
    return tuple(sorted(inputs, key=lambda picture: picture.position))


def _picture_input(description: OmModel, node: OmNode, ports: dict[int, int]) -> PictureInput:
    at = ports[node.inputs[0]]
    source, features = (description.tensors[tensor] for tensor in (node.inputs[0], node.outputs[0]))
    params = ports.get(node.inputs[1]) if len(node.inputs) > 1 else None
    return PictureInput(
        name=description.inputs[at].name,
        position=at,
        node=node.name,
        settings=_settings(node),
        shape=tuple(dim or 0 for dim in source.shape),
        format=source.format,
        features=tuple(dim or 0 for dim in features.shape),
        dtype=DType.parse(features.dtype),
        parameters=None if params is None else description.inputs[params].name,
    )


def _settings(node: OmNode) -> AippSettings:
    settings = AippSettings.from_attributes(node.attributes)
    for field in fields(settings):
        value, default = getattr(settings, field.name), field.default
        if not _is_like(value, default):
            text = Text("attribute {name} of {node} must be like {default}, found {value}")
            shown = {"node": repr(node.name), "default": repr(default), "value": repr(value)}
            raise OM_CONTENT.error(
                text.with_values(name=field.name, **shown),
                place=Place(node_name=node.name, op_type=node.op, field=field.name),
            )
    return settings


def _is_like(value: object, default: object) -> bool:
    """True if a value is of the type of another, and as long if that is a list."""
    if isinstance(default, tuple):
        kind = float if isinstance(default[0], float) else int
        return (
            isinstance(value, tuple)
            and len(value) == len(default)
            and all(_is_number(number, kind) for number in value)
        )
    if isinstance(default, float):
        return _is_number(value, float)
    return type(value) is type(default)


def _is_number(value: object, kind: type) -> bool:
    """True if a value is a number that `kind` holds; a whole one is a float, too."""
    return not isinstance(value, bool) and isinstance(value, (int, kind))
