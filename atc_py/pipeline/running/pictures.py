"""Pictures for dynamic AIPP: bytes that do not fill their input, and settings of a run."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from atc_py.diag import BAD_AIPP, BAD_RUN_INPUT, MISSING_RUN_INPUT, AtcError, Place
from atc_py.options.aipp import (
    AippSettings,
    checked_pictures,
    parameter_bytes,
    read_run_settings,
    settings_of_bytes,
    source_bytes,
)
from atc_py.options.aipp.parameters import BATCH_BYTES, COUNT_AT, HEADER_BYTES
from atc_py.options.aipp.rules import rules_of
from atc_py.package.schema import OmModel
from atc_py.results.picture_inputs import PictureInput, picture_inputs
from atc_py.target import find_soc
from atc_py.text import Text

Array = npt.NDArray[np.generic]


SETTINGS_HELP = Text(
    "give a file of settings with --aipp-settings, or feed the bytes of a parameter buffer"
)


def filled(description: OmModel, feeds: Mapping[str, Array]) -> dict[str, Array]:
    """Feeds in which pictures for dynamic AIPP fill their inputs, with zeros after them.

    Raises:
        AtcError: BAD_RUN_INPUT for fewer bytes than the pictures of the run's settings have, and
            for settings that the kernel of the SoC takes otherwise.
    """
    found = {**feeds}
    rules = rules_of(find_soc(description.soc).family.value)
    for each in _dynamic_inputs(description):
        if rules.biases_alone:
            _check_biases(each, feeds)
        array = feeds.get(each.name)
        if not isinstance(array, np.ndarray) or array.dtype != np.uint8:
            continue
        if array.size > each.nbytes or array.shape == each.shape:
            continue
        _check_size(each, array, feeds)
        padded = np.zeros(each.shape, np.uint8)
        padded.reshape(-1)[: array.size] = array.reshape(-1)
        found[each.name] = padded
    return found


def settings_of_gear(description: OmModel, feeds: Mapping[str, Array]) -> dict[str, Array]:
    """Feeds in which parameter buffers are for the pictures of a gear.

    ATC's guide has programs set them for the largest batch; those of the first pictures count.
    """
    found = {**feeds}
    for each in _dynamic_inputs(description):
        array, name = feeds.get(each.parameters or ""), each.parameters or ""
        count, wanted = each.features[0], HEADER_BYTES + BATCH_BYTES * each.features[0]
        if isinstance(array, np.ndarray) and array.dtype == np.uint8 and array.size > wanted:
            found[name] = array.reshape(-1)[:wanted].copy()
            found[name][COUNT_AT] = count
    return found


def _check_biases(found: PictureInput, feeds: Mapping[str, Array]) -> None:
    """Refuse biases beside colors that are not converted, for a kernel that adds them all the same."""
    first = _fed_settings(found, feeds)[:1]
    if not first or first[0].csc_switch:
        return
    name = "input_bias" if first[0].input_format == "YUV420SP_U8" else "output_bias"
    biases = getattr(first[0], name)
    if any(biases):
        raise BAD_RUN_INPUT.error(
            Text(
                "the settings have {name} {biases} without csc_switch, which this SoC adds anyway",
                name=name,
                biases=list(biases),
            ),
            place=Place(field=Text("input {at}", at=found.parameters)),
            help=Text("set {name} to 0, as AscendCL leaves it", name=name),
        )


def _fed_settings(found: PictureInput, feeds: Mapping[str, Array]) -> tuple[AippSettings, ...]:
    """The settings of a run's pictures; none where none are fed, or the device refuses them."""
    params = feeds.get(found.parameters or "")
    if not isinstance(params, np.ndarray) or params.dtype != np.uint8:
        return ()
    try:
        return settings_of_bytes(params.tobytes())
    except AtcError:
        return ()


def _check_size(found: PictureInput, array: Array, feeds: Mapping[str, Array]) -> None:
    """Refuse fewer bytes than the pictures have, where the settings of the run are fed."""
    pictures = _fed_settings(found, feeds)
    if pictures and array.size < (wanted := source_bytes(pictures[0], len(pictures))):
        first = pictures[0]
        raise BAD_RUN_INPUT.error(
            Text(
                "input {name} needs {wanted} bytes, {count} x {input_format} of "
                "{src_image_size_w} x {src_image_size_h}, found {size}",
                name=repr(found.name),
                wanted=wanted,
                count=len(pictures),
                input_format=first.input_format,
                src_image_size_w=first.src_image_size_w,
                src_image_size_h=first.src_image_size_h,
                size=array.size,
            ),
            place=Place(field=Text("input {at}", at=found.name)),
        )


def settings_feeds(description: OmModel, path: Path) -> dict[str, Array]:
    """The parameter buffers that a file of settings gives, by the input that takes them.

    Raises:
        AtcError: BAD_AIPP where the file or its settings are wrong, or the model has no dynamic
            AIPP; FILE_NOT_FOUND and its like.
    """
    dynamic = _dynamic_inputs(description)
    if not dynamic:
        raise BAD_AIPP.error(
            Text("{path} has settings for dynamic AIPP, which the model does not have", path=path),
            place=Place(str(path)),
            help=Text("static AIPP has its settings in the model; leave out --aipp-settings"),
        )
    family = find_soc(description.soc).family.value
    networks = {each.position: each.network(family) for each in dynamic}
    names = [port.name for port in description.inputs]
    feeds: dict[str, Array] = {}
    for each in dynamic:
        network, most = networks[each.position], each.settings.max_src_image_size
        found = read_run_settings(path, networks, names, network.shape[0])
        pictures = checked_pictures(found[each.position], network, most, str(path))
        feeds[each.parameters or ""] = _buffer(pictures)
    return feeds


def whole_picture_settings(description: OmModel) -> dict[str, Array]:
    """Parameter buffers for RGB or gray pictures of the network's size, as they are.

    Raises:
        AtcError: BAD_AIPP where such pictures have more bytes than the input.
    """
    feeds: dict[str, Array] = {}
    for each in _dynamic_inputs(description):
        count, channels, height, width = each.features
        name = "YUV400_U8" if channels == 1 else "RGB888_U8"
        one = AippSettings(
            aipp_mode="dynamic",
            input_format=name,
            src_image_size_w=width,
            src_image_size_h=height,
        )
        if source_bytes(one, count) > each.nbytes:
            raise BAD_AIPP.error(
                Text(
                    "{count} x {name} of {width} x {height} have more bytes than input "
                    "{name_2}, which has {nbytes}",
                    count=count,
                    name=name,
                    width=width,
                    height=height,
                    name_2=repr(each.name),
                    nbytes=each.nbytes,
                ),
                place=Place(field=Text("input {at}", at=each.parameters)),
                help=SETTINGS_HELP,
            )
        feeds[each.parameters or ""] = _buffer([one] * count)
    return feeds


def require_settings(description: OmModel, feeds: Mapping[str, Array]) -> None:
    for each in _dynamic_inputs(description):
        if each.parameters not in feeds:
            raise MISSING_RUN_INPUT.error(
                Text(
                    "no data was given for input {parameters}: the settings of dynamic AIPP "
                    "for the pictures of {name}",
                    parameters=repr(each.parameters),
                    name=repr(each.name),
                ),
                place=Place(field=Text("input {at}", at=each.parameters)),
                help=SETTINGS_HELP,
            )


def _dynamic_inputs(description: OmModel) -> list[PictureInput]:
    return [each for each in picture_inputs(description) if each.parameters is not None]


def _buffer(pictures: Sequence[AippSettings]) -> Array:
    return np.frombuffer(parameter_bytes(pictures), np.uint8)
