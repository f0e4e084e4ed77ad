"""Kernels of small graphs, built by the machine's compiler and compared with the simulator."""

import os
import subprocess
from functools import partial
from pathlib import Path
from typing import Protocol

import pytest

from atc_py.compare.kernels import toolchain
from atc_py.compare.kernels.toolchain import Compiler, find_compiler
from atc_py.compare.kernels.verify import KernelVerdict, verify_kernels
from atc_py.ir import Graph
from atc_py.kernels.kernels import emit_kernels
from atc_py.package.reader import open_model
from atc_py.package.schema import PackageContents
from atc_py.package.writer import write_model
from atc_py.system.cache_folders import templates_dir
from atc_py.target import find_soc
from tests.sampling import WHOLE


class Verified(Protocol):
    """Emits, builds, runs and compares the kernels of a graph."""

    def __call__(
        self,
        graph: Graph,
        soc: str = "sim",
        *,
        sanitize: bool = False,
        templates: Path | None = None,
    ) -> list[KernelVerdict]: ...


HEADERS = ("runner.h", "kernel_operator.h", "cpu_kernel.h", "cpu_kernel_utils.h", "Eigen/Core")
"""All headers of the host that kernels include."""


FLAGS = tuple("-Og" if flag == "-O1" else flag for flag in toolchain._FLAGS)
"""Those of the command, but that the compiler does not optimize for long."""


@pytest.fixture(scope="session")
def headers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the headers of the host, compiled once."""
    folder = tmp_path_factory.mktemp("headers")
    path = folder / "all.h"
    path.write_text("".join(f'#include "{name}"\n' for name in HEADERS))
    flags = [*FLAGS, "-I", str(templates_dir() / "host"), "-x", "c++-header"]
    command = [*find_compiler().command, *flags, str(path), "-o", f"{path}.gch"]
    subprocess.run(command, check=True)
    return path


@pytest.fixture
def verified(tmp_path: Path, headers: Path) -> Verified:
    """Return the outcome of each kernel on each set of shapes.

    Whole sweeps build as the command does, and so do the tests of `atc-py kernels --verify` and
    `test_every_kernel_compiles`; the others build in half the time.
    """
    return partial(_verified, tmp_path, None if WHOLE in os.environ else headers)


def _verified(
    folder: Path,
    headers: Path | None,
    graph: Graph,
    soc: str = "sim",
    *,
    sanitize: bool = False,
    templates: Path | None = None,
) -> list[KernelVerdict]:
    for node in graph.nodes:
        for value in node.outputs:
            if not value.is_used:
                graph.add_output(value)
    kernels = emit_kernels(graph, find_soc(soc), templates)
    contents = PackageContents("test", soc, kernels=kernels.files, kernel_of=kernels.kernel_of)
    path = folder / f"{graph.name}.om"
    write_model(graph, path, contents)
    compiler = find_compiler(sanitize=sanitize)
    with open_model(path) as model, pytest.MonkeyPatch.context() as patch:
        if headers is not None and not sanitize:
            patch.setattr(toolchain, "_FLAGS", FLAGS)
            compiler = Compiler((*compiler.command, "-include", str(headers)))
        return verify_kernels(model, compiler)


def wrong(checked: list[KernelVerdict]) -> list[str]:
    """Return kernels that are not complete, or not what the simulator has, in words."""
    return [
        f"{each.kernel['name']} {each.kernel['rows'][each.row]['shapes']}: "
        f"{each.verdict.value} {each.text}"
        for each in checked
        if each.verdict.value not in {"equal", "close"}
    ]
