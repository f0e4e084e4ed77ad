"""Lowering imports the functions of the operators that a model has, and no others."""

import subprocess
import sys

import pytest

from atc_py.lowering import registry

ASK = """\
import sys
from atc_py.lowering.registry import lowering_versions
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


def test_functions_of_a_module_that_no_table_lists_are_found(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    registry._versions.cache_clear()
    monkeypatch.setattr(registry, "OPERATORS", {})
    assert registry.lowering_versions("Einsum")
    registry._versions.cache_clear()
