"""AIPP in files of Huawei's atc: the settings of each input, in the words of the configuration."""

from collections.abc import Iterator

import msgspec

from atc_py.package.ge.graph import GeOp
from atc_py.package.ge.messages import GeAttributes, GeFunction
from atc_py.package.ge.model import CONSTANT_OPS, INPUT_OPS, HuaweiModel

AippValue = bool | int | float | str | tuple[int | float, ...]

_MODE = "_data_related_aipp_mode"


class GePictures(msgspec.Struct, frozen=True):
    """AIPP of an input."""

    input: str  # name of the input; empty where the op that has the settings reads no input itself
    op: str  # the op that has the settings: `Aipp`, or the launch that took it in
    mode: str  # static_aipp, dynamic_aipp, or as the file says
    settings: dict[str, AippValue]  # fields of the configuration that are not their defaults


def model_pictures(model: HuaweiModel) -> Iterator[GePictures]:
    """AIPP of the inputs of a model.

    Raises:
        AtcError: BAD_HUAWEI_MODEL.
    """
    for graph in model.run_graphs():
        modes = {op.name: op.attributes.text(_MODE) for op in graph.ops if op.type in INPUT_OPS}
        for op in graph.ops:
            settings = None if op.type in CONSTANT_OPS else op.attributes.get("aipp")
            if isinstance(settings, GeFunction):
                name = next((edge.producer for edge in op.edges if edge is not None), "")
                name = name if name in modes else ""
                mode = modes.get(name) or str(_value("aipp_mode", settings.attributes) or "")
                yield GePictures(name, op.name, mode, _settings(settings.attributes))


def data_inputs(model: HuaweiModel) -> list[GeOp]:
    """The ops of the model's inputs, by their `index`."""
    ops = [op for op in model.ops if op.type in INPUT_OPS]
    return sorted(ops, key=lambda op: op.attributes.number("index"))


def _settings(attributes: GeAttributes) -> dict[str, AippValue]:
    """The fields that a configuration has, without those that are their defaults."""
    from atc_py.options.aipp.fields import AIPP_FIELDS  # the package of AIPP loads numpy

    found = {}
    for row in AIPP_FIELDS:
        value = _value(row.name, attributes)
        if value is not None and value not in (row.default, (), (row.default,)):
            found[row.name] = value
    return found


def _value(name: str, attributes: GeAttributes) -> AippValue | None:
    from atc_py.options.aipp.fields import AIPP_MODES
    from atc_py.options.aipp.image_formats import IMAGE_FORMATS

    words = {
        "aipp_mode": {number: word for word, number in AIPP_MODES.items()},
        "input_format": {row.number: row.name for row in IMAGE_FORMATS},
    }
    value = attributes.get(name)
    if isinstance(value, tuple):
        numbers = tuple(item for item in value if isinstance(item, int | float))
        return numbers[0] if len(numbers) == 1 else numbers
    if isinstance(value, int) and name in words:
        return words[name].get(value, value)
    return value if isinstance(value, bool | int | float | str) else None
