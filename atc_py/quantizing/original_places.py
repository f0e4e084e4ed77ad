"""Places in files for the time of a calibration, as places in the model that the user gave."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from atc_py.diag import AtcError, Diagnostic, Place
from atc_py.quantizing.layers.float_model import FloatModel


@contextmanager
def original_places(original: FloatModel, folder: Path) -> Iterator[None]:
    """Raise errors about files in `folder` as errors about the original."""
    try:
        yield
    except AtcError as error:
        raise AtcError(
            *(in_original(each, original, folder) for each in error.diagnostics)
        ) from error


def in_original(found: Diagnostic, original: FloatModel, folder: Path) -> Diagnostic:
    """A finding about a file in `folder` as one about the original."""
    place = found.place
    if place is None or place.file is None or Path(place.file).parent != folder:
        return found
    return replace(found, place=_original_place(place, original))


def _original_place(place: Place, original: FloatModel) -> Place:
    """The place of the node of that name; without a position where there is none."""
    named = (
        node
        for node in original.file.nodes
        if place.node_name and place.node_name in {node.name, *node.writes}
    )
    node = next(named, None)
    path = str(original.file.path)
    if node is None:
        return replace(place, file=path, node=None)
    return replace(place, file=path, node=node.index, node_name=node.name)
