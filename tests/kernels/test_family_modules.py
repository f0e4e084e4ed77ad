"""Compilation imports the families and kernels of the operators that a model has, and no others."""

import subprocess
import sys

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
    found = imported("kernels.registry", "families_of", "kernels.families")
    assert found == {"elementwise"}


def test_one_operator_imports_its_own_kernel() -> None:
    found = imported("device.sim.kernel", "find_kernel", "device.sim.kernels")
    assert found == {"elementwise"}


def test_operator_that_no_index_lists_is_found() -> None:
    code = (
        "from atc_py.system import register\n"
        "register._index = dict\n"
        "from atc_py.device.sim.kernel import find_kernel\n"
        "from atc_py.kernels.registry import families_of\n"
        "from atc_py.lowering.builder import lowering_versions\n"
        "from atc_py.target import find_operator\n"
        "assert find_kernel('Relu') and find_kernel('NoSuchOperator') is None\n"
        "assert len(families_of('Relu')) == 2 and find_operator('Relu')\n"
        "assert lowering_versions('Einsum')\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
