"""AIPP in real models: the attributes of its op, and the features that it gives [inferred].

No real file with AIPP was at hand: names of attributes are those of a dump of GE.
"""

from collections.abc import Mapping

from atc_py.diag import AtcError
from atc_py.ir import AttrValue, TensorType, Value
from atc_py.options.aipp.fields import AIPP_FIELDS, BIASES, MATRIX, channel_fields
from atc_py.options.aipp.image_formats import ImageFormat, image_format
from atc_py.package.ge.pictures import AippValue
from atc_py.pipeline.huawei.building import LaunchBuilder
from atc_py.pipeline.huawei.tensors import NotModeledError
from atc_py.target import find_operator
from atc_py.tensor.dtypes import DType, Format
from atc_py.text import Text

_LISTS = {
    "matrix": MATRIX,
    "input_bias": BIASES[:3],
    "output_bias": BIASES[3:],
    **{name: channel_fields(name) for name in ("mean_chn", "min_chn", "var_reci_chn")},
}
_GRAY = frozenset({"YUV400_U8"})
_IMAGE_RANK = 4
_DEFAULTS = {row.name: row.default for row in AIPP_FIELDS}


def add_aipp(
    builder: LaunchBuilder,
    images: Value,
    parameters: Value | None,
    settings: Mapping[str, AippValue],
    result: TensorType | None,
) -> Value:
    """Add what turns pictures into features.

    `parameters` are the settings of a run, of dynamic AIPP; `settings` leave out defaults; `result`
    is the type of the features, where the launch gives it.
    """
    attributes = _attributes(settings)
    if parameters is None:
        _format_of(attributes)
    if not attributes["src_image_size_h"] and len(images.type.dims) == _IMAGE_RANK:
        height, width = _size(images.type, _format_of(attributes))
        attributes |= {"src_image_size_h": height, "src_image_size_w": width}
    if parameters is not None:
        if result is None:
            raise NotModeledError(Text("dynamic AIPP inside of a launch has no dims of its own"))
        attributes = {"aipp_mode": "dynamic"}
    kind = _features(images, attributes) if result is None else result.with_storage(None)
    inputs = [images] if parameters is None else [images, parameters]
    features = builder.add("Aipp", inputs, attributes, [kind])
    return features if result is None else builder.stored(features, result)


def picture_type(settings: Mapping[str, AippValue], kind: TensorType) -> TensorType:
    """The type of pictures as programs pass them: as many bytes as they have.

    The file may have three channels for YUV420SP, which has one and a half bytes a pixel.

    `kind` is the type that the file states, channels last.
    """
    attributes = _attributes(settings)
    if len(kind.dims) != _IMAGE_RANK or "max_src_image_size" in settings:
        return kind
    batch, height, width, _ = kind.shape
    rows = int(str(attributes["src_image_size_h"])) or height
    columns = int(str(attributes["src_image_size_w"])) or width
    dims = _format_of(attributes).input_shape(rows, columns)
    return TensorType(kind.dtype, (batch, *dims), kind.format)


def _attributes(settings: Mapping[str, AippValue]) -> dict[str, AttrValue]:
    """The attributes of the target's operator, of all fields."""
    row = find_operator("Aipp")
    found: dict[str, AttrValue] = {}
    for declared in row.attributes if row is not None else ():
        names = _LISTS.get(declared.name)
        if names is None:
            value = settings.get(declared.name, _DEFAULTS.get(declared.name, declared.default))
            found[declared.name] = value if value is not None else 0
            continue
        numbers = [settings.get(name, _DEFAULTS.get(name, 0)) for name in names]
        plain = [number for number in numbers if isinstance(number, int | float)]
        kind = int if declared.type == "ints" else float
        found[declared.name] = tuple(map(kind, plain))
    found["aipp_mode"] = "static"
    return found


def _format_of(attributes: Mapping[str, AttrValue]) -> ImageFormat:
    try:
        return image_format(str(attributes["input_format"]))
    except AtcError as error:
        raise NotModeledError(error.diagnostics[0].message) from error


def _size(kind: TensorType, stated: ImageFormat) -> tuple[int, int]:
    """Height and width of pictures that an input of that type holds."""
    rows, width = kind.shape[1:3]
    return 2 * rows // stated.half_rows, width


def _features(images: Value, attributes: Mapping[str, AttrValue]) -> TensorType:
    """The type of features: a crop of the picture, and padding around it."""
    sizes = {name: value for name, value in attributes.items() if isinstance(value, int)}
    cropped = bool(attributes["crop"])
    height = sizes["crop_size_h"] if cropped else sizes["src_image_size_h"]
    width = sizes["crop_size_w"] if cropped else sizes["src_image_size_w"]
    if attributes["padding"]:
        height += sizes["top_padding_size"] + sizes["bottom_padding_size"]
        width += sizes["left_padding_size"] + sizes["right_padding_size"]
    channels = 1 if attributes["input_format"] in _GRAY else 3
    dims = (images.type.shape[0], channels, height, width)
    return TensorType(DType.FLOAT16, dims, Format.NCHW)
