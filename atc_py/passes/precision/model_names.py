"""Names that controls of precision may use, and the diagnostic for one that does not exist."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import msgspec

from atc_py.diag import NO_BFLOAT16, NOT_IN_MODEL, Diagnostic, Place, nearest_of_many
from atc_py.onnx_graph.source import SourceModel
from atc_py.options.compile_options import PrecisionMode
from atc_py.target import Soc, socs
from atc_py.text import Text

_NEAREST = 3


class ModelNames(msgspec.Struct, frozen=True):
    """The names of a model's parts.

    Attributes:
        nodes: outputs by node, as in the ONNX file.
        types: operators of the model; those of the target may be named as well.
        inputs: of the graph.
        outputs: of the graph.
    """

    nodes: Mapping[str, Sequence[str]]
    types: frozenset[str]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    @classmethod
    def of(
        cls,
        view: SourceModel,
        file_nodes: Iterable[tuple[str, Sequence[str]]],
        outputs: Iterable[str],
    ) -> ModelNames:
        """The names of a model.

        Args:
            view: what folding leaves of it.
            file_nodes: names of the file's nodes, folded ones as well, with their outputs.
            outputs: names of the model's outputs.
        """
        found: dict[str, Sequence[str]] = {node.name: () for node in view.all_nodes if node.name}
        found |= {name: results for name, results in file_nodes if name}
        own = {each for node in view.all_nodes for each in (node.op_type, node.replaces) if each}
        inputs = tuple(each.name for each in view.inputs)
        return cls(found, frozenset(own), inputs, tuple(outputs))


def unknown_name(kind: str, name: str, known: Iterable[str], place: Place) -> Diagnostic:
    near = nearest_of_many(name, known, _NEAREST)
    offered = ", ".join(map(repr, near))
    return NOT_IN_MODEL.diagnostic(
        Text("no {kind} is called {name}", kind=kind, name=repr(name)),
        place=place,
        help=Text("the nearest names are {near}", near=offered)
        if near
        else Text("the model names no {kind}", kind=kind),
    )


def check_soc(mode: PrecisionMode, soc: Soc) -> None:
    """Refuse a mode that makes floats bfloat16 on a SoC that does not have it.

    Raises:
        AtcError: NO_BFLOAT16.
    """
    if mode.is_bfloat16 and not soc.bfloat16:
        known = ", ".join(each.name for each in socs() if each.bfloat16)
        raise NO_BFLOAT16.error(
            Text("{mode} needs bfloat16, which {soc} does not have", mode=mode.value, soc=soc.name),
            place=Place(field="--precision-mode"),
            help=Text("SoCs with bfloat16 are {known}", known=known),
        )
