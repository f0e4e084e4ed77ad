"""Passes are tested on the text form of the target IR."""

from typing import Protocol

import pytest

from atc_py.diag import Sink
from atc_py.ir import Graph
from atc_py.ir.parser import parse_graph
from atc_py.ir.verifier import verify_graph
from atc_py.options.compile_options import PrecisionMode
from atc_py.passes.base import Pass, PassContext
from atc_py.passes.manager import verifier_rules
from atc_py.target import find_soc


class RunPass(Protocol):
    """Parses a graph, runs one pass on it and verifies the result; findings go to `sink`."""

    def __call__(
        self,
        step: type[Pass],
        text: str,
        *,
        mode: str = "force_fp16",
        soc: str = "sim",
        sink: Sink | None = None,
    ) -> tuple[Graph, int]: ...


@pytest.fixture
def run_pass() -> RunPass:
    """Return the graph after one pass, and how many changes the pass reported."""

    def run(
        step: type[Pass],
        text: str,
        *,
        mode: str = "force_fp16",
        soc: str = "sim",
        sink: Sink | None = None,
    ) -> tuple[Graph, int]:
        graph = parse_graph(text)
        row = find_soc(soc)
        rules = verifier_rules(row)
        verify_graph(graph, rules)
        context = PassContext(row, PrecisionMode(mode), "model.onnx", sink or Sink())
        changes = step().run(graph, context)
        graph.sort()
        if step.row.ensures is not None:
            graph.phase = step.row.ensures
        verify_graph(graph, rules)
        return graph, changes

    return run
