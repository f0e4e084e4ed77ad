"""Kernels of small graphs, built by the machine's compiler and held against the simulator."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Protocol

import pytest

from atc_py.emit.kernels import emit_kernels
from atc_py.kernels.toolchain import find_compiler
from atc_py.kernels.verify import verify_kernels
from atc_py.package.contents import PackageContents
from atc_py.package.reader import open_model
from atc_py.package.writer import write_model
from atc_py.target import find_soc

if TYPE_CHECKING:
    from pathlib import Path

    from atc_py.ir import Graph
    from atc_py.kernels.verify import Checked


class Verified(Protocol):
    """Emits, builds, runs and compares the kernels of a graph."""

    def __call__(
        self,
        graph: Graph,
        soc: str = "sim",
        *,
        sanitize: bool = False,
        templates: Path | None = None,
    ) -> list[Checked]: ...


@pytest.fixture
def verified(tmp_path: Path) -> Verified:
    """What becomes of each kernel on each set of shapes."""
    return partial(_verified, tmp_path)


def _verified(
    folder: Path,
    graph: Graph,
    soc: str = "sim",
    *,
    sanitize: bool = False,
    templates: Path | None = None,
) -> list[Checked]:
    for node in graph.nodes:
        for value in node.outputs:
            graph.add_output(value)
    kernels = emit_kernels(graph, find_soc(soc), templates)
    contents = PackageContents("test", soc, kernels=kernels.files, kernel_of=kernels.kernel_of)
    path = folder / f"{graph.name}.om"
    write_model(graph, path, contents)
    with open_model(path) as model:
        return verify_kernels(model, find_compiler(sanitize=sanitize))


def wrong(checked: list[Checked]) -> list[str]:
    """Kernels that are not complete, or not what the simulator has, in words."""
    return [
        f"{each.kernel['name']} {each.kernel['rows'][each.row]['shapes']}: "
        f"{each.verdict.value} {each.text}"
        for each in checked
        if each.verdict.value not in {"equal", "close"}
    ]
