"""One kernel for each distinct kernel of a graph: source, tiling table, description, page."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from atc_py.diag import BAD_TEMPLATE, Place
from atc_py.ir import Engine, Graph, Node
from atc_py.kernels.collect import Collected, collect
from atc_py.kernels.cpp import attribute_constant
from atc_py.kernels.describe import describe
from atc_py.kernels.family import Family, KernelFacts, Launch, Plan
from atc_py.kernels.links import Link
from atc_py.kernels.ports import KernelPort
from atc_py.kernels.registry import family_of
from atc_py.kernels.table import KernelTable, Shapes, served, table_of
from atc_py.kernels.templating import SUFFIX, render
from atc_py.system.atomic_files import atomic_write, make_folder
from atc_py.system.cache_folders import is_folder, templates_dir
from atc_py.system.json_text import format_json
from atc_py.target import Soc
from atc_py.text import Text

INDEX = "kernels.json"
"""The list of kernels: their facts, their nodes, their tilings."""

LEFT = "// to write:"
"""Marks the parts of a kernel that its author must still write."""


class KernelSet(msgspec.Struct, frozen=True):
    """The kernels of a graph."""

    # text by member path: `<kernel>/<kernel>.cpp`, `<kernel>/<kernel>_tiling.h`,
    # `<kernel>/<kernel>.json` and `<kernel>/README.md`; `kernels.json`, `CMakeLists.txt` and
    # `host_kernels.cpp`, which build them on the host. Empty where there is no kernel
    files: Mapping[str, str]
    # name of the kernel that a node launches, by node name; nodes that launch none are not in it
    kernel_of: Mapping[str, str]
    workspace: int = 0  # bytes of device memory that the hungriest kernel needs beside its operands


class SourceMemo:
    """Texts of kernels that do not depend on shapes, for several graphs on one SoC.

    It is for atc-py's own templates; those of a user may look at the table of tilings.
    """

    def __init__(self) -> None:
        self._known: dict[Hashable, str] = {}

    def text(self, key: Hashable, make: Callable[[], str]) -> str:
        if key not in self._known:
            self._known[key] = make()
        return self._known[key]


def emit_kernels(
    graph: Graph, soc: Soc, templates: Path | None = None, memo: SourceMemo | None = None
) -> KernelSet:
    """Kernels for the nodes of `graph`, which must have their engines, on `soc`.

    Args:
        graph: in phase typed or later.
        soc: what the tiling is computed for.
        templates: folder of kernel templates that replace or extend atc-py's own.
        memo: texts of other graphs for the same SoC, and of later ones.

    Raises:
        AtcError: BAD_TEMPLATE; BROKEN_INVARIANT where a node has no engine or no operator row.
    """
    folders = _folders(templates)
    kernels = collect(graph, soc)
    files: dict[str, str] = {}
    listed = []
    workspace = 0
    for kernel in kernels:
        written = _Written.of(kernel, soc)
        workspace = max([workspace, *(plan.workspace for plan in written.plans.values())])
        texts = _texts(written, soc, folders, None if templates else memo)
        files.update(texts)
        listed.append(_entry(written, texts[f"{kernel.name}/{kernel.name}.cpp"]))
    if kernels:
        files.update(_project(listed, soc, folders))
    kernel_of = {node.name: kernel.name for kernel in kernels for node in kernel.nodes}
    return KernelSet(files, kernel_of, workspace)


def _folders(templates: Path | None) -> tuple[Path, ...]:
    own = templates_dir() / "kernels"
    if templates is None:
        return (own,)
    if not is_folder(templates):
        raise BAD_TEMPLATE.error(
            Text("there is no folder of templates {templates}", templates=repr(str(templates))),
            place=Place(file=str(templates)),
            help=Text("give the folder that holds <template>.cpp.j2 files"),
        )
    return (templates, own)


class _Written(msgspec.Struct, frozen=True):
    """A kernel with its family, its sets of shapes, and a plan for each of them."""

    kernel: Collected
    family: Family
    groups: dict[Shapes, list[tuple[Node, ...]]]
    plans: dict[Shapes, Plan]

    @classmethod
    def of(cls, kernel: Collected, soc: Soc) -> _Written:
        family = family_of(kernel.facts)
        groups = served(kernel.facts, kernel.launches)
        plans = {
            shapes: family.plan(Launch(kernel.facts, nodes[0], soc, tuple(nodes[1:])))
            for shapes, (nodes, *_) in groups.items()
        }
        return cls(kernel, family, groups, plans)

    @property
    def facts(self) -> KernelFacts:
        return self.kernel.facts

    @property
    def table(self) -> KernelTable:
        names = [port.name for port in (*self.facts.operands, *self.facts.outputs)]
        return table_of(self.groups, self.plans, names)


def _texts(
    written: _Written, soc: Soc, folders: tuple[Path, ...], memo: SourceMemo | None
) -> dict[str, str]:
    name = written.kernel.name
    context = _context(written, soc)
    stem = f"{name}/{name}"
    template = f"{written.family.template}.cpp{SUFFIX}"
    if memo is None:
        source = render(folders, template, context)
    else:
        # Without the table, so that a template which looks at it fails rather than being kept.
        fixed = {key: value for key, value in context.items() if key != "table"}
        source = memo.text(
            (name, written.facts.key.text()), lambda: render(folders, template, fixed)
        )
    left = [line.strip() for line in source.splitlines() if LEFT in line]
    nodes = [node.name for node in written.kernel.nodes]
    page = {**context, "left": left, "nodes": nodes, "family": written.family.name}
    return {
        f"{stem}.cpp": source,
        f"{stem}_tiling.h": render(folders, f"tiling.h{SUFFIX}", context),
        f"{stem}.json": describe(written.facts, in_blocks=written.family.in_blocks),
        f"{name}/README.md": render(folders, f"readme.md{SUFFIX}", page),
    }


def _context(written: _Written, soc: Soc) -> dict[str, Any]:
    facts, key, row = written.facts, written.facts.key, written.facts.row
    dtypes = [port.dtype for port in (*facts.inputs, *facts.outputs)]
    return {
        "kernel": written.kernel.name,
        "op": key.op,
        "title": "+".join(key.ops),
        "soc": soc.name,
        "summary": row.summary,
        "formula": row.formula.splitlines() or [row.summary],
        "inputs": list(facts.operands),
        "outputs": list(facts.outputs),
        "constants": [
            attribute_constant(name, value)
            for name, value in key.attributes
            if row.attribute(name) is not None
        ]
        + [
            attribute_constant(f"then{link.number}_{name}", value)
            for link in facts.links
            for name, value in link.key.attributes
        ],
        "links": facts.links,
        "itemsize": dtypes[0].itemsize,
        "accumulator": "float" if dtypes[0].is_float else "int32_t",
        "split_cores": soc.vector_cores > soc.aicores,
        "table": written.table,
        "addresses": written.family.addresses(facts),
        "own": written.family.context(facts),
    }


def _entry(written: _Written, source: str) -> dict[str, Any]:
    facts = written.facts
    complete = LEFT not in source
    family = written.family
    return {
        "name": written.kernel.name,
        "op": "+".join(facts.key.ops),
        "engine": facts.key.engine.value,
        "family": written.family.name,
        "complete": complete,
        "numbers": _numbers(family, facts) if complete else None,
        "links": [_link_entry(link) for link in facts.links],
        "addresses": family.addresses(facts),
        "lines": source.count("\n"),
        "inputs": [{**_port_entry(each), "position": each.position} for each in facts.operands],
        "outputs": [_port_entry(each) for each in facts.outputs],
        "rows": [
            {
                "shapes": [list(shape) for shape in shapes],
                "nodes": [node.name for launch in launches for node in launch],
                **written.plans[shapes].as_json(),
            }
            for shapes, launches in written.groups.items()
        ],
    }


def _port_entry(port: KernelPort) -> dict[str, Any]:
    storage, entry = port.storage, None
    if storage is not None:  # C0 is listed where it is not that of the dtype
        own = {"c0": storage.c0} if storage.c0 else {}
        entry = {"format": storage.format.value, "groups": storage.groups, **own}
    return {
        "name": port.name,
        "dtype": port.dtype.value,
        "format": port.format,
        "storage": entry,
    }


def _numbers(family: Family, facts: KernelFacts) -> str:
    if family.exact(facts):
        return "exact"
    return "sums" if family.sums(facts) else "close"


def _link_entry(link: Link) -> dict[str, Any]:
    """A link in the list of kernels; `reads` has null where it reads the result so far."""
    numbers = "exact" if link.exact else "sums" if link.function.cancels else "close"
    return {
        "op": link.op,
        "numbers": numbers,
        "reads": [None if each is None else each.name for each in link.operands],
    }


def _project(listed: list[dict[str, Any]], soc: Soc, folders: tuple[Path, ...]) -> dict[str, str]:
    sizes = {
        "ub": soc.ub_kib, "l1": soc.l1_kib, "l0a": soc.l0a_kib, "l0b": soc.l0a_kib,
        "l0c": soc.l0c_kib,
    }  # fmt: skip
    index = {
        "soc": soc.name,
        "buffers": {name: 1024 * kib for name, kib in sizes.items()},
        "kernels": listed,
    }
    context = {"soc": soc.name, "kernels": listed, "buffers": index["buffers"]}
    on_core = [each for each in listed if each["engine"] == Engine.AICORE.value]
    return {
        INDEX: format_json(index, indent=1),
        "CMakeLists.txt": render(folders, f"CMakeLists.txt{SUFFIX}", context),
        "host_kernels.cpp": render(
            folders, f"host_kernels.cpp{SUFFIX}", {**context, "kernels": on_core}
        ),
    }


def host_headers() -> dict[str, str]:
    """Text of every host header by its path below the folder of kernels: `host/...`."""
    folder = templates_dir() / "host"
    return {
        f"host/{path.relative_to(folder).as_posix()}": path.read_text(encoding="utf-8")
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def write_kernels(files: Mapping[str, str], folder: Path) -> None:
    """Write kernels and host headers below `folder`, each file whole or not at all.

    Files of the same paths are replaced; nothing else in `folder` is touched. Without kernels
    there are no headers.

    Args:
        files: text by member path.
        folder: made where it is not there.

    Raises:
        AtcError: CANNOT_WRITE.
    """
    for member, text in {**files, **(host_headers() if files else {})}.items():
        path = folder / member
        make_folder(path.parent)
        with atomic_write(path, durable=False) as file:
            file.write(text.encode())
