"""The machine's C++ compiler: found, and run to build kernels for the host."""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from atc_py.diag import NO_COMPILER
from atc_py.kernels.templating import render
from atc_py.system.cache_folders import templates_dir
from atc_py.text import Text

_NAMES = ("g++", "clang++", "c++")
_FLAGS = ("-std=c++17", "-O1", "-Wall", "-Wextra", "-Werror", "-ffp-contract=off")
_SANITIZE = ("-g", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")
_SECONDS = 300


@dataclass(frozen=True, slots=True)
class Compiler:
    """A C++ compiler."""

    command: tuple[str, ...]
    # whether programs stop at undefined behavior and at accesses past memory
    sanitize: bool = False

    def build(
        self,
        folder: Path,
        kernels: Sequence[Mapping[str, Any]],
        sizes: Mapping[str, int],
        name: str,
    ) -> str | None:
        """Build a program `folder/name` that runs `kernels`, in one translation unit.

        `folder` holds the kernels and `host/`; `sizes` are bytes of a core's buffers.

        Returns:
            The compiler's message if it fails, None if the program was built.
        """
        source = folder / f"{name}.cpp"
        on_core = [each for each in kernels if each["engine"] == "aicore"]
        context = {"kernels": on_core, "buffers": sizes, "included": kernels}
        own = (templates_dir() / "kernels",)
        source.write_text(render(own, "host_kernels.cpp.j2", context), encoding="utf-8")
        flags = [*_FLAGS, *(_SANITIZE if self.sanitize else ())]
        where = ["-I", str(folder / "host"), "-I", str(folder)]
        command = [*self.command, *flags, *where, str(source), "-o", str(folder / name)]
        try:
            done = subprocess.run(  # noqa: S603  (a compiler that the user's machine has)
                command, capture_output=True, text=True, timeout=_SECONDS, check=False,
                env={**os.environ, "LC_ALL": "C"},
            )  # fmt: skip
        except subprocess.TimeoutExpired:
            return Text("the compiler took more than {seconds} s", seconds=_SECONDS)
        return None if done.returncode == 0 else _first_error(done.stderr)


def _first_error(text: str) -> str:
    """The compiler's first line that names an error, without the folder of the build."""
    lines = [line for line in text.splitlines() if "error" in line] or text.splitlines() or ["?"]
    return lines[0].strip()


def find_compiler(*, sanitize: bool = False) -> Compiler:
    """The compiler that CXX names, or the first of g++, clang++ and c++.

    Raises:
        AtcError: NO_COMPILER.
    """
    given = os.environ.get("CXX", "").split()
    if given:
        if shutil.which(given[0]) is None:
            raise NO_COMPILER.error(
                Text(
                    "the environment variable CXX names {given}, which does not exist",
                    given=repr(given[0]),
                ),
                help=Text("name a C++ compiler that is installed, or unset CXX"),
            )
        return Compiler(tuple(given), sanitize)
    for name in _NAMES:
        path = shutil.which(name)
        if path is not None:
            return Compiler((path,), sanitize)
    raise NO_COMPILER.error(
        Text("no C++ compiler was found; looked for {names}", names=", ".join(_NAMES)),
        help=Text("install one of them, or name one in the environment variable CXX"),
    )
