"""The layers of the package: a module imports from its own package and from lower levels only."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.failures import in_one_item
from tests.test_style import outline

ROOT = Path(__file__).resolve().parents[1]
MODULES = sorted((ROOT / "atc_py").rglob("*.py"))

LEVELS = {
    part: level
    for level, parts in enumerate(
        (
            "diag options spec system target tensor text",
            "ir",
            "kernels onnx_graph package",
            "check cost passes",
            "device fix lowering results",
            "pipeline",
            "compare",
            "quantizing report",
            "api adapters",
            "cli backend __init__",
            "__main__ ais_bench",
        )
    )
    for part in parts.split()
}
"""Level of each top-level package and module; those of one level are strangers, except at the bottom."""

OWNERS = {
    "onnx": {"onnx_graph", "compare", "quantizing.layers", "device.ort", "backend"},
    "onnxruntime": {"device", "onnx_graph.running", "quantizing"},
    "distributed": {"system.jobs"},
    "pyarrow": {"report"},
    "click": {"cli"},
    "rich": {"cli"},
}
"""Libraries that few packages alone import."""

STRANGERS = {
    "check": {"onnx_graph"},
    "passes": {"onnx_graph", "package"},
    "lowering": {"onnx_graph", "package"},
    "device": {"kernels"},
    "device.ort": {"device.sim"},
    "device.sim": {"device.ort"},
}
"""Lower parts that a part does not import: lowering knows the source model, not its reader, and the two
devices share formulas of one element alone."""

KNOWN_TO_ALL = "onnx_graph.source"
"""The source model, which check and lowering read, is no stranger to what is above it."""

SIM = {
    "diag",
    "text",
    "tensor",
    "system.memory_limit",
    "system.structs",
    "system.process",
    "system.register",
    "target",
    "package",
    "device",
}
"""Packages and modules the simulator imports: it is the oracle, shared code would share bugs."""


MOST_PACKAGES, MOST_LEVELS = 24, 10
"""A newcomer keeps no more in mind; what would be a package more is a folder of one that is there."""

FACES = {
    "diag": set(),
    "ir": set(),
    "text": {"language", "packed"},  # functions have their names
}
"""Packages that others enter through their faces alone, with the modules that may be named beside them.

The others load their modules as they are needed: a face that imports all would load them with any.
"""


def entered_beside_faces(module: str, text: str) -> list[str]:
    """Modules of packages with faces that another package imports from."""
    own = module.partition(".")[0]
    modules = (n.module or "" for n in outline(text).imports if isinstance(n, ast.ImportFrom))
    beside = []
    for name in modules:
        top, _, rest = name.partition(".")
        package, _, inner = rest.partition(".")
        known = FACES.get(package) if top == "atc_py" and package != own else None
        if inner and known is not None and inner not in known:
            beside.append(name)
    return beside


def test_packages_are_entered_through_their_faces() -> None:
    texts = {module_name(path): path.read_text(encoding="utf-8") for path in MODULES}
    beside = {name: entered_beside_faces(name, text) for name, text in texts.items()}
    assert {name: modules for name, modules in beside.items() if modules} == {}


def test_import_beside_a_face_is_caught() -> None:
    text = "from atc_py.ir.graph import Graph\nfrom atc_py.ir import Node"
    assert entered_beside_faces("passes.base", text) == ["atc_py.ir.graph"]
    assert entered_beside_faces("ir.verifier", text) == []


def imported_names(text: str) -> Iterator[str]:
    """Yield dotted names of all imports, also those inside functions and for type checking."""
    for node in outline(text).imports:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        else:
            start = "." * node.level + (node.module or "")
            yield from (f"{start}.{alias.name}" for alias in node.names)


def layer_violations(module: str, text: str) -> list[str]:
    """Imports of a module, relative to `atc_py`, that break a rule of the layers.

    A package's `__main__` is a program, and above the command line as the one of all is.
    """
    own = "__main__" if module.endswith(".__main__") else module.partition(".")[0]
    broken = [f"{own} has no level"] if own not in LEVELS else []
    names = imported_names(text)
    return broken + [name for name in names if not _is_allowed(module, own, name)]


def _is_allowed(module: str, own: str, name: str) -> bool:
    top, _, rest = name.partition(".")
    part = rest.split(".")[0]
    if top != "atc_py":
        return top != "" and any(_within(module, owner) for owner in OWNERS.get(top, {own}))
    if part in {"", "__version__"}:
        return True
    strangers = {s for known in STRANGERS if _within(module, known) for s in STRANGERS[known]}
    if any(_within(rest, stranger) for stranger in strangers) and not _within(rest, KNOWN_TO_ALL):
        return False
    if _within(module, "device.sim"):
        return any(_within(rest, known) for known in SIM)
    level, limit = LEVELS.get(part), LEVELS.get(own, 0)
    return part == own or (level is not None and (level < limit or level == limit == 0))


def _within(module: str, part: str) -> bool:
    return module == part or module.startswith(f"{part}.")


def module_name(path: Path) -> str:
    """Return `ir.graph` for `atc_py/ir/graph.py`."""
    return ".".join(path.relative_to(ROOT / "atc_py").with_suffix("").parts)


def test_packages_and_their_levels_are_few() -> None:
    packages = {path.parent.name for path in (ROOT / "atc_py").glob("*/__init__.py")}
    assert len(packages) <= MOST_PACKAGES, f"{len(packages)} packages: {sorted(packages)}"
    assert len({LEVELS[package] for package in packages}) <= MOST_LEVELS


def test_modules_keep_the_layers() -> None:
    texts = {module_name(path): path.read_text(encoding="utf-8") for path in MODULES}
    found = {name: layer_violations(name, text) for name, text in texts.items()}
    assert {name: imports for name, imports in found.items() if imports} == {}


@in_one_item(
    ("module", "text"),
    [
        ("ir.graph", "from atc_py.onnx_graph.source.model import SourceModel"),
        ("target.row", "import atc_py.ir"),
        ("target.row", "from atc_py import ir"),
        ("target.row", "if TYPE_CHECKING:\n    from atc_py.ir import Node"),
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
        ("device.ort.model", "from atc_py.device.sim.node import NodeFacts"),
        ("device.sim.node", "from atc_py.device.ort.model import emulate"),
        ("device.sim.node", "import onnx"),
        ("compare.model", "from atc_py.adapters.session import session"),
        ("__init__", "from atc_py.cli.main import main"),
        ("adapters.ais_bench.command", "from atc_py.cli.main import main"),
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
        ("onnx_graph.read", "import onnx\nfrom atc_py.ir import ConstData"),
        ("cli.main", "import click\nimport rich.table\nfrom atc_py import __version__, pipeline"),
        ("device.sim.backend", "from atc_py.package.reader import open_model\nimport numpy"),
        ("device.registry", "from atc_py.ir import Graph"),
        ("__main__", "from atc_py.cli.main import main"),
        ("adapters.ais_bench.infer.__main__", "from atc_py.cli.main import main"),
    ],
)
def test_import_within_the_layers_is_allowed(module: str, text: str) -> None:
    assert layer_violations(module, text) == []
