"""The layers of the package: a module imports from its own package and from lower levels only."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
MODULES = sorted((ROOT / "atc_py").rglob("*.py"))

LEVELS = {
    part: level
    for level, parts in enumerate(
        (
            "aipp diag tensor system options jobs text",
            "spec ir target source calibration",
            "frontend check passes package",
            "cost",
            "export",
            "lowering emit device results fix",
            "pipeline running",
            "compare kernels session",
            "quantizing",
            "planning",
            "api report exec",
            "atc ais_bench sweep",
            "__init__ backend cli",
            "__main__",
        )
    )
    for part in parts.split()
}
"""Level of each top-level package and module; those of one level are strangers, except at the bottom."""

OWNERS = {
    "onnx": {
        "frontend",
        "compare",
        "backend",
        "export",
    },  # compare runs the original, backend subclasses
    "onnxruntime": {"compare", "device", "quantizing"},
    "distributed": {"jobs"},
    "pyarrow": {"report"},
    "click": {"cli"},
    "rich": {"cli"},
}
"""Libraries that few packages alone import."""

STRANGERS = {"lowering": {"frontend"}}
"""Lower parts that a part does not import: lowering knows the source model, not its reader."""

SIM = {
    "diag",
    "text",
    "tensor",
    "system.memory_limit",
    "system.structs",
    "system.one_thread",
    "target",
    "package",
    "device",
}
"""Packages and modules the simulator imports: it is the oracle, shared code would share bugs."""


def imported_names(text: str) -> Iterator[str]:
    """Yield dotted names of all imports, also those inside functions and for type checking."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            start = "." * node.level + (node.module or "")
            yield from (f"{start}.{alias.name}" for alias in node.names)


def layer_violations(module: str, text: str) -> list[str]:
    """Return the imports of a module, relative to `atc_py`, that break a rule of the layers.

    A package's `__main__` is a program, and above the command line as the one of all is.
    """
    own = "__main__" if module.endswith(".__main__") else module.partition(".")[0]
    broken = [f"{own} has no level"] if own not in LEVELS else []
    for name in imported_names(text):
        top, _, rest = name.partition(".")
        part = rest.split(".")[0]
        if top != "atc_py":
            allowed = top != "" and own in OWNERS.get(top, {own})
        elif part == own or part in {"", "__version__"}:
            allowed = True
        elif module.startswith("device.sim"):
            allowed = part in SIM or ".".join(rest.split(".")[:2]) in SIM
        else:
            level, limit = LEVELS.get(part), LEVELS.get(own, 0)
            allowed = level is not None and (level < limit or level == limit == 0)
            allowed = allowed and part not in STRANGERS.get(own, set())
        broken += [] if allowed else [name]
    return broken


def module_name(path: Path) -> str:
    """Return `ir.graph` for `atc_py/ir/graph.py`."""
    return ".".join(path.relative_to(ROOT / "atc_py").with_suffix("").parts)


def test_modules_keep_the_layers() -> None:
    texts = {module_name(path): path.read_text(encoding="utf-8") for path in MODULES}
    found = {name: layer_violations(name, text) for name, text in texts.items()}
    assert {name: imports for name, imports in found.items() if imports} == {}


@pytest.mark.parametrize(
    ("module", "text"),
    [
        ("ir.graph", "from atc_py.onnx_graph.source.model import SourceModel"),
        ("ir.graph", "import atc_py.target"),
        ("ir.graph", "from atc_py import target"),
        ("ir.graph", "if TYPE_CHECKING:\n    from atc_py.target import Soc"),
        ("ir.graph", "def f():\n    from atc_py.passes import manager"),
        ("tensor.dtypes", "from atc_py.ir import Graph"),
        ("passes.fusion.fuse_relu", "from atc_py.package.writer import write_model"),
        ("check.predicates", "import onnx"),
        ("lowering.ops.nn", "import onnx.helper"),
        ("lowering.ops.nn", "from atc_py.onnx_graph.folding.fold import fold_graph"),
        ("passes.base", "from onnx import helper"),
        ("report.text", "from rich.table import Table"),
        ("pipeline.compile", "import click"),
        ("pipeline.compile", "from atc_py.api import Model"),
        ("api", "from atc_py.cli.console import show"),
        ("device.sim.node", "from atc_py.ir import Graph"),
        ("device.sim.backend", "from atc_py.lowering.lower import lower_model"),
        ("device.sim.backend", "import atc_py.spec"),
        ("device.registry", "from atc_py.kernels import kernels"),
        ("__init__", "from atc_py.cli.main import main"),
        ("ais_bench.command", "from atc_py.cli.main import main"),
        ("ir.graph", "from . import types"),
        ("ir.graph", "from ..diag import Code"),
        ("ir.graph", "import atc_py.novelty"),
        ("novelty", "import json"),
    ],
)
def test_import_across_the_layers_is_caught(module: str, text: str) -> None:
    assert len(layer_violations(module, text)) == 1


@pytest.mark.parametrize(
    ("module", "text"),
    [
        ("ir.graph", "import json\nfrom atc_py.ir.types import T\nfrom atc_py.diag import Code"),
        ("diag.codes", "from atc_py.tensor.dtypes import DType"),
        ("frontend.read", "import onnx\nfrom atc_py.ir import ConstData"),
        ("cli.main", "import click\nimport rich.table\nfrom atc_py import __version__, pipeline"),
        ("device.sim.backend", "from atc_py.package.reader import open_model\nimport numpy"),
        ("device.registry", "from atc_py.ir import Graph"),
        ("__main__", "from atc_py.cli.main import main"),
        ("ais_bench.__main__", "from atc_py.cli.main import main"),
    ],
)
def test_import_within_the_layers_is_allowed(module: str, text: str) -> None:
    assert layer_violations(module, text) == []
