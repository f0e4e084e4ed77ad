"""An assignment of dtypes to nodes, and the option files that ask for it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from atc_py.compare.candidates import TYPE_LINE, line_of
from atc_py.package.schema import OmModel, OmNode
from atc_py.tensor.dtypes import DType

NARROW, BROAD, BRAIN = DType.FLOAT16.value, DType.FLOAT32.value, DType.BFLOAT16.value
"""The dtypes that a node may compute in."""

PORTS = ""
"""Stands among lines for the inputs and outputs of the model, which are in float32."""

_FLOATS = frozenset({NARROW, BROAD, BRAIN})


class Assignment(msgspec.Struct, frozen=True):
    """The lines that are not in float16."""

    broad: frozenset[str] = frozenset()  # lines in float32
    brain: frozenset[str] = frozenset()  # lines in bfloat16
    int8: frozenset[str] = frozenset()  # layers on int8

    @property
    def dtypes(self) -> dict[str, str]:
        """The dtype of each line that is not in float16, in order of names."""
        result = dict.fromkeys(self.broad, BROAD) | dict.fromkeys(self.brain, BRAIN)
        return dict(sorted(result.items()))

    def dtype(self, line: str) -> str:
        if line in self.broad or line == PORTS:
            return BROAD
        return BRAIN if line in self.brain else NARROW

    def with_dtype(self, lines: Iterable[str], dtype: str) -> Assignment:
        moved = frozenset(lines)
        return Assignment(
            self.broad | moved if dtype == BROAD else self.broad - moved,
            self.brain | moved if dtype == BRAIN else self.brain - moved,
            self.int8,
        )


ALL_NARROW = Assignment()


def custom_lines(model: OmModel, brain: Iterable[str]) -> dict[str, str]:
    """Lines of a --customize-dtypes file that put nodes of `model` into bfloat16.

    A line that stands for an operator, or for nodes with different operands, has none.
    """
    wanted = frozenset(brain)
    results: dict[str, set[str]] = {}
    for node in model.nodes:
        line = line_of(node)
        if line is not None and line in wanted and not line.startswith(TYPE_LINE):
            results.setdefault(line, set()).add(_dtypes(model, node))
    return {line: f"{line}::{texts.pop()}" for line, texts in results.items() if len(texts) == 1}


def _dtypes(model: OmModel, node: OmNode) -> str:
    sides: Mapping[str, list[str]] = {
        "InputDtype": [model.tensors[at].dtype for at in node.inputs if at >= 0],
        "OutputDtype": [model.tensors[at].dtype for at in node.outputs],
    }
    return ",".join(
        f"{name}:{','.join(BRAIN if dtype in _FLOATS else dtype for dtype in dtypes)}"
        for name, dtypes in sides.items()
        if dtypes
    )
