"""Lowering imports the functions of the operators that a model has, and no others."""

import subprocess
import sys

ASK = """\
import sys
from atc_py.lowering.builder import lowering_versions
print(*lowering_versions({op!r}))
print(*(name.rpartition(".")[2] for name in sys.modules if name.startswith("atc_py.lowering.ops.")))
"""


def asked(op: str) -> tuple[str, set[str]]:
    """Return the versions of an operator's functions, and the modules imported to know them."""
    command = [sys.executable, "-c", ASK.format(op=op)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    versions, modules = done.stdout.splitlines()
    return versions, set(modules.split())


def test_one_operator_imports_its_own_functions() -> None:
    versions, modules = asked("Einsum")
    assert versions
    assert modules == {"einsum"}


def test_operator_without_functions_imports_none() -> None:
    assert asked("Relu") == ("", set())
