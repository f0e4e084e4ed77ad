"""Kernels of every operator, complete or not, compile on the host with all warnings as errors."""

import json
from pathlib import Path

import pytest

from atc_py.compare.kernels.toolchain import find_compiler
from atc_py.ir import Engine, Graph, Phase
from atc_py.kernels.kernels import INDEX, emit_kernels, write_kernels
from atc_py.target import find_soc, operators
from tests.kernels.conftest import AddNode

AICORE = [row.name for row in operators() if row.launches_kernel and row.columns]
AICPU = [row.name for row in operators() if row.launches_kernel and row.aicpu]
PARTS = 8


@pytest.mark.parametrize(
    "part", [0, *(pytest.param(at, marks=pytest.mark.sweep) for at in range(1, PARTS))]
)
@pytest.mark.parametrize(
    ("engine", "ops"), [(Engine.AICORE, AICORE), (Engine.AICPU, AICPU)], ids=["aicore", "aicpu"]
)
def test_kernels_of_every_operator_compile(
    add_node: AddNode, tmp_path: Path, engine: Engine, ops: list[str], part: int
) -> None:
    graph = Graph("every", Phase.TYPED)
    for op in ops[part::PARTS]:
        add_node(graph, op, engine=engine)
    kernels = emit_kernels(graph, find_soc("sim"))
    write_kernels(kernels.files, tmp_path)
    listed = json.loads(kernels.files[INDEX])
    assert len(listed["kernels"]) == len(ops[part::PARTS])
    said = find_compiler().build(tmp_path, listed["kernels"], listed["buffers"], "every")
    assert said is None
