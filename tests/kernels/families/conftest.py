"""Kernels of small graphs, built by the machine's compiler and compared with the simulator."""

import os
import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Protocol

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
from tests.made_once import alone
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


MOST_KEPT = 400
"""Programs that the folder of a checkout's tests keeps, the last ones used."""


@dataclass(frozen=True)
class Builds:
    """Builds kernels with the headers compiled, and no program twice on a machine.

    A program is known by all that it is made of: compiler, flags, buffers, sources and headers.

    Attributes:
        kept: the folder of programs that were built, by digest.
        headers: gives the compiled headers.
    """

    kept: Path
    headers: Callable[[], Path]

    def build(
        self,
        compiler: Compiler,
        folder: Path,
        kernels: Sequence[Mapping[str, Any]],
        sizes: Mapping[str, int],
        name: str,
    ) -> str | None:
        """Do as `Compiler.build` does."""
        known = self.kept / self._digest(compiler, folder, kernels, sizes)
        if known.exists():
            shutil.copy(known, folder / name)
            known.touch()
            return None
        command = (*compiler.command, "-include", str(self.headers()))
        said = BUILD(Compiler(command), folder, kernels, sizes, name)
        if said is None:
            own = known.with_name(f"{known.name}.{os.getpid()}")
            shutil.copy(folder / name, own)
            own.replace(known)
            self._forget()
        return said

    @property
    def method(self) -> Callable[..., str | None]:
        """`build` as a method of a compiler."""

        def build(compiler: Compiler, *parts: Any) -> str | None:
            return self.build(compiler, *parts)

        return build

    def _digest(self, compiler: Compiler, folder: Path, *context: object) -> str:
        digest = sha256(repr((_version(compiler.command), FLAGS, *context)).encode())
        digest.update((templates_dir() / "kernels" / "host_kernels.cpp.j2").read_bytes())
        for path in sorted(folder.glob("*/**/*")):
            if path.suffix in {".cpp", ".h", ""} and path.is_file():
                digest.update(f"{path.relative_to(folder)}\n".encode() + path.read_bytes())
        return digest.hexdigest()

    def _forget(self) -> None:
        used = sorted(self.kept.iterdir(), key=lambda path: path.stat().st_mtime)
        for path in used[:-MOST_KEPT]:
            path.unlink(missing_ok=True)


BUILD = Compiler.build


@cache
def _version(command: tuple[str, ...]) -> str:
    return subprocess.run(
        [*command, "-v", "-E", "-x", "c++", os.devnull], capture_output=True, text=True, check=True
    ).stderr


@cache
def compiled_headers(kept: Path) -> Path:
    """Compile the headers of kernels in a folder of that one, unless a process of tests did."""
    command = find_compiler().command
    digest = sha256(repr((_version(command), FLAGS, HEADERS)).encode())
    for path in sorted((templates_dir() / "host").rglob("*")):
        if path.is_file():
            digest.update(f"{path.relative_to(templates_dir())}\n".encode() + path.read_bytes())
    folder = kept / digest.hexdigest()
    path, made = folder / "all.h", folder / "all.h.gch"
    with alone(kept / "lock"):
        if not made.exists():
            for other in kept.iterdir():  # of other states of the headers
                if other.is_dir() and other != folder:
                    shutil.rmtree(other, ignore_errors=True)
            folder.mkdir(exist_ok=True)
            path.write_text("".join(f'#include "{name}"\n' for name in HEADERS))
            flags = [*FLAGS, "-I", str(templates_dir() / "host"), "-x", "c++-header"]
            own = folder / "own.gch"
            subprocess.run([*command, *flags, str(path), "-o", str(own)], check=True)
            own.replace(made)
    return path


@pytest.fixture(scope="session")
def builds(tmp_path_factory: pytest.TempPathFactory, pytestconfig: pytest.Config) -> Builds:
    store = getattr(pytestconfig, "cache", None)  # not there with -p no:cacheprovider
    make = tmp_path_factory.mktemp if store is None else store.mkdir
    return Builds(make("kernels"), partial(compiled_headers, make("kernel_headers")))


@pytest.fixture
def quick_builds(builds: Builds, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let `atc-py kernels --verify` build in half the time, unless sweeps are whole."""
    if WHOLE not in os.environ:
        monkeypatch.setattr(toolchain, "_FLAGS", FLAGS)
        monkeypatch.setattr(Compiler, "build", builds.method)


@pytest.fixture
def verified(tmp_path: Path, builds: Builds) -> Verified:
    """Return the outcome of each kernel on each set of shapes.

    Whole sweeps build as the command does, and so do the tests of `atc-py kernels --verify` and
    `test_every_kernel_compiles`; the others build in half the time.
    """
    return partial(_verified, tmp_path, None if WHOLE in os.environ else builds)


def _verified(
    folder: Path,
    builds: Builds | None,
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
        if builds is not None and not sanitize:
            patch.setattr(toolchain, "_FLAGS", FLAGS)
            patch.setattr(Compiler, "build", builds.method)
        return verify_kernels(model, compiler)


def wrong(checked: list[KernelVerdict]) -> list[str]:
    """Return kernels that are not complete, or not what the simulator has, in words."""
    return [
        f"{each.kernel['name']} {each.kernel['rows'][each.row]['shapes']}: "
        f"{each.verdict.value} {each.text}"
        for each in checked
        if each.verdict.value not in {"equal", "close"}
    ]
