"""Names that controls of precision may use, and what is said of one that does not exist."""

from __future__ import annotations

import difflib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from atc_py.diag import Place
from atc_py.diag.codes import NO_BFLOAT16, NOT_IN_MODEL
from atc_py.target import operators, socs

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from atc_py.config import PrecisionMode
    from atc_py.diag import Diagnostic
    from atc_py.ir import Graph
    from atc_py.target import Soc

__all__ = ["ModelNames", "check_soc", "unknown_name"]

_NEAREST = 3


@dataclass(frozen=True, slots=True)
class ModelNames:
    """What a model's parts are called.

    Attributes:
        nodes: outputs by node, as in the ONNX file.
        types: operators of the model, and all that the target has.
        inputs: of the graph.
        outputs: of the graph.
    """

    nodes: Mapping[str, Sequence[str]]
    types: frozenset[str]
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]

    @classmethod
    def of(cls, graph: Graph, nodes: Iterable[tuple[str, Sequence[str]]]) -> ModelNames:
        """The names in a lowered `graph`; `nodes` are the file's, those in branches left out."""
        origins = [origin for node in graph.nodes for origin in node.origins]
        found: dict[str, Sequence[str]] = {each.name: () for each in origins if each.name}
        found |= {name: outputs for name, outputs in nodes if name}
        types = {origin.op_type for origin in origins} | {row.name for row in operators()}
        inputs = tuple(value.name for value in graph.inputs)
        return cls(found, frozenset(types), inputs, tuple(graph.output_names))


def unknown_name(kind: str, name: str, known: Iterable[str], place: Place) -> Diagnostic:
    """That no `kind` is called `name`, with the nearest names that there are."""
    names = list(known)
    near = difflib.get_close_matches(name, names, _NEAREST, 0.0) or names[:_NEAREST]
    offered = ", ".join(map(repr, near))
    return NOT_IN_MODEL.diagnostic(
        f"no {kind} is called {name!r}",
        place=place,
        help=f"the nearest names are {offered}" if near else f"the model names no {kind}",
    )


def check_soc(mode: PrecisionMode, soc: Soc) -> None:
    """Hold a mode that makes floats bfloat16 to a SoC that has it.

    Raises:
        AtcError: NO_BFLOAT16.
    """
    if mode.is_bfloat16 and not soc.bfloat16:
        known = ", ".join(each.name for each in socs() if each.bfloat16)
        raise NO_BFLOAT16.error(
            f"{mode.value} needs bfloat16, which {soc.name} does not have",
            place=Place(field="--precision-mode"),
            help=f"SoCs with bfloat16 are {known}",
        )
