"""A node that a rule writes."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from atc_py.onnx_graph.rewriting.graph_body import is_message


@dataclass(frozen=True, slots=True)
class NewNode:
    """A node to be written, of ONNX's own domain.

    Attributes:
        op_type: its operator.
        inputs: names by position; "" for one that is absent.
        outputs: names by position.
        attributes: by name.
    """

    op_type: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]

    @property
    def plain(self) -> dict[str, Any]:
        """The attributes; constants among them stay in the form of the node that is replaced."""
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in self.attributes.items()
            if isinstance(value, int | float | str | list | tuple) or is_message(value)
        }
