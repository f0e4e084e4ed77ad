"""The index of the modules that hold an operator's rows, kernels and functions; `make docs` writes it."""

import json

from atc_py.check.predicate import PREDICATES
from atc_py.device.ort.body import EMULATIONS
from atc_py.device.sim.kernel import KERNELS
from atc_py.kernels.registry import FAMILIES
from atc_py.lowering.builder import LOWERINGS
from atc_py.onnx_graph.typing.type_rules import RULES
from atc_py.target.operator_table import ROWS

REGISTERS = (PREDICATES, KERNELS, FAMILIES, EMULATIONS, LOWERINGS, ROWS, RULES)


def module_index() -> str:
    """The text of the index."""
    packages = sorted((register.package, register.modules()) for register in REGISTERS)
    lines = (
        f"{json.dumps(package)}: {{\n"
        + ",\n".join(f"  {json.dumps(m)}: {json.dumps(names)}" for m, names in modules.items())
        + "\n}"
        for package, modules in packages
    )
    return "{" + ",\n".join(lines) + "}\n"
