"""Files for inputs that AIPP reads: pictures, their bytes, and the settings of dynamic AIPP."""

from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from atc_py.diag import BAD_RUN_INPUT, MISSING_RUN_INPUT, Place, Sink
from atc_py.options.aipp import settings_of_bytes
from atc_py.options.aipp.pictures import joined_pictures, picture_input
from atc_py.package.schema import OmModel
from atc_py.pipeline.running.feeds import read_feeds
from atc_py.pipeline.running.model import Port
from atc_py.pipeline.running.pictures import SETTINGS_HELP, filled, settings_feeds
from atc_py.results.picture_inputs import PictureInput, picture_inputs
from atc_py.text import Text

Array = npt.NDArray[np.generic]


_PICTURES = frozenset({".bmp", ".gif", ".jpeg", ".jpg", ".png", ".ppm", ".tif", ".tiff", ".webp"})
"""Suffixes of picture files."""


def picture_feeds(
    description: OmModel,
    texts: Sequence[str],
    ports: Sequence[Port],
    settings: Path | None,
    sink: Sink,
) -> dict[str, Array]:
    """Arrays from `name=file` texts, of which some are pictures, and from a file of settings.

    Raises:
        AtcError: as `read_feeds`, `settings_feeds` and `read_pictures` do; BAD_RUN_INPUT for data
            that are given twice.
    """
    found = {} if settings is None else settings_feeds(description, settings)
    rest = [text for text in texts if not _is_picture(description, text)]
    given = read_feeds(rest, ports, sink)
    for name in found.keys() & given.keys():
        raise BAD_RUN_INPUT.error(
            Text("settings for {name} are given twice, by --aipp-settings and as data", name=name),
            place=Place(field=Text("input {at}", at=name)),
            help=Text("give them once"),
        )
    given |= found
    pictures = read_pictures(description, [each for each in texts if each not in rest], given)
    for name in pictures.keys() & given.keys():
        raise BAD_RUN_INPUT.error(
            Text("data for {name} are given twice, as pictures and as bytes", name=name),
            help=Text("give them once"),
        )
    return filled(description, {**given, **pictures})


def read_pictures(
    description: OmModel, texts: Sequence[str], settings: Mapping[str, Array]
) -> dict[str, Array]:
    """Arrays by input that `name=picture` texts feed, of a lone input without the name.

    Several pictures are separated by `,`.
    """
    inputs = {each.name: each for each in picture_inputs(description)}
    feeds: dict[str, Array] = {}
    for text in texts:
        name, paths = _split(text, inputs)
        if name in feeds:
            raise BAD_RUN_INPUT.error(
                Text(
                    "pictures for {name} are given twice, the second time in {text}",
                    name=name,
                    text=text,
                ),
                help=Text("join the files with `,`"),
            )
        files = [Path(path) for path in paths]
        feeds[name or ""] = joined_input(inputs[name or ""], files, settings)
    return feeds


def is_picture_file(path: Path) -> bool:
    return path.suffix.lower() in _PICTURES


def _is_picture(description: OmModel, text: str) -> bool:
    name, paths = _split(text, {each.name: each for each in picture_inputs(description)})
    return name is not None and is_picture_file(Path(paths[0]))


def _split(text: str, inputs: Mapping[str, PictureInput]) -> tuple[str | None, list[str]]:
    """The input and the files of a text; None where it is not certain."""
    for name in inputs:
        if text.startswith(f"{name}="):
            return name, text[len(name) + 1 :].split(",")
    only = next(iter(inputs)) if len(inputs) == 1 and "=" not in text else None
    return only, text.split(",")


def joined_input(
    found: PictureInput, paths: Sequence[Path], settings: Mapping[str, Array]
) -> Array:
    count = found.features[0]
    if len(paths) != count:
        raise BAD_RUN_INPUT.error(
            Text(
                "input {name} takes {count} pictures, found {count_2}",
                name=repr(found.name),
                count=count,
                count_2=len(paths),
            ),
            place=Place(field=Text("input {at}", at=found.name)),
            help=Text(
                "join {count} files with `,`, or feed the bytes of all pictures as one file",
                count=count,
            ),
        )
    each = [found.settings] * count
    if found.parameters is not None:
        if found.parameters not in settings:
            raise MISSING_RUN_INPUT.error(
                Text(
                    "the pictures of {name} need the settings of dynamic AIPP",
                    name=repr(found.name),
                ),
                place=Place(field=Text("input {at}", at=found.parameters)),
                help=SETTINGS_HELP,
            )
        each = list(settings_of_bytes(settings[found.parameters].tobytes()))
    pictures = [picture_input(path, own) for path, own in zip(paths, each, strict=True)]
    try:
        return joined_pictures(pictures, found.settings)
    except ValueError as error:
        place = Place(field=Text("input {at}", at=found.name))
        raise BAD_RUN_INPUT.error(
            Text("input {at}: {reason}", at=repr(found.name), reason=error), place=place
        ) from None
