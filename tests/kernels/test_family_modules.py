"""Compilation imports the families and kernels of the operators that a model has, and no others."""

import subprocess
import sys

import pytest

from atc_py.device.sim import kernel
from atc_py.kernels import registry
from atc_py.kernels.registry import families_of

ASK = """\
import sys
from atc_py.{module} import {function}
assert {function}("Relu")
print(*(name.rpartition(".")[2] for name in sys.modules if name.startswith("atc_py.{package}.")))
"""


def imported(module: str, function: str, package: str) -> set[str]:
    """Return the modules of a package that are imported where it is asked for Relu."""
    code = ASK.format(module=module, function=function, package=package)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def test_one_operator_imports_its_own_family() -> None:
    found = imported("emit.registry", "families_of", "emit.families")
    assert found == {"elementwise", "skeleton"}


def test_one_operator_imports_its_own_kernel() -> None:
    found = imported("device.sim.kernel", "find_kernel", "device.sim.kernels")
    assert found == {"elementwise"}


def test_operator_that_no_table_lists_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    listed, found = families_of("Relu"), kernel.find_kernel("Relu")
    families_of.cache_clear()
    monkeypatch.setattr(registry, "MODULES", {})
    monkeypatch.setattr(kernel, "MODULES", {})
    assert families_of("Relu") == listed
    assert kernel.find_kernel("Relu") is found
    assert kernel.find_kernel("NoSuchOperator") is None
    families_of.cache_clear()
