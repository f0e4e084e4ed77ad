"""Which input of a model each configuration of a file is for."""

from collections.abc import Sequence

from atc_py.aipp.config import AippConfig
from atc_py.aipp.file import AippFile
from atc_py.diag import AtcError, AtcFault
from atc_py.diag.codes import BAD_OPTION
from atc_py.text import Text, plural

_NAME, _RANK, _EDGE = "related_input_name", "related_input_rank", "input_edge_idx"


def assigned_configs(file: AippFile, inputs: Sequence[str]) -> dict[int, AippConfig]:
    """The configurations of a file by the position of their input.

    Args:
        file: with any number of configurations.
        inputs: names of the model's inputs, in order.

    Raises:
        AtcError: BAD_AIPP (E10052) for an input that the model does not have, for names, which
            ATC takes for Caffe models alone, and for two configurations for one input.
    """
    found: dict[int, AippConfig] = {}
    for config in file.configs:
        at = _position(config, inputs)
        if at in found:
            place = found[at].place
            raise config.error(
                Text(
                    "input {at} ({inputs}) has a second configuration, after that of line {line}",
                    at=at,
                    inputs=repr(inputs[at]),
                    line=place.line if place else 0,
                ),
                _RANK,
                Text("give each input one `aipp_op`, with its own `related_input_rank`"),
            )
        found[at] = config
    return found


def _position(config: AippConfig, inputs: Sequence[str]) -> int:
    name, at = str(config[_NAME]), config.integer(_RANK)
    if name:
        known = f"`related_input_rank: {inputs.index(name)}`" if name in inputs else f"`{_RANK}`"
        message = Text(
            "'{name}' names inputs of Caffe models alone, found {name_2}",
            name=_NAME,
            name_2=repr(name),
        )
        raise config.error(message, _NAME, Text("write {known} for an ONNX model", known=known))
    if at >= len(inputs):
        names = ", ".join(map(repr, inputs))
        raise config.error(
            plural(
                len(inputs),
                "'{rank}' is {at}, but the model has {n} input: {names}",
                "'{rank}' is {at}, but the model has {n} inputs: {names}",
                rank=_RANK,
                at=at,
                names=names,
            ),
            _RANK,
            Text("positions start at 0"),
        )
    if config.integer(_EDGE):
        raise config.error(
            Text(
                "'{edge}' is {config}, but an input has one edge, 0",
                edge=_EDGE,
                config=config[_EDGE],
            ),
            _EDGE,
            Text("delete the field"),
        )
    return at


def dims_gears_refusal(path: str) -> AtcError:
    """Build the error for AIPP beside gears of dims, which ATC refuses as E10001."""
    reason = "AIPP is not possible with --dynamic_dims"
    return BAD_OPTION.error(
        Text("AIPP cannot be combined with gears of dims"),
        help=Text("use gears of image sizes, or prepare the pictures outside the model"),
        atc=AtcFault("E10001", (path, "--insert_op_conf", reason)),
    )


def fp16_input_refusal(config: AippConfig, name: str) -> AtcError:
    """Build the error for AIPP on an input that is fed as float16, which ATC refuses as E10034."""
    return config.error(
        Text(
            "input {name} is fed as float16, but AIPP makes it a picture of bytes", name=repr(name)
        ),
        _RANK,
        Text("leave the input out of --input-fp16-nodes"),
        AtcFault("E10034", (name,)),
    )
