"""A compiled model as reports show it: its graph, its record, and the sources of its kernels."""

from collections.abc import Mapping
from typing import Any

from atc_py.package.reader import OfflineModel
from atc_py.package.schema import OmModel
from atc_py.system.structs import Result


class CompiledModel(Result, frozen=True):
    """An offline model without its weights.

    Attributes:
        description: the graph.
        report: the record of its compilation.
        sources: the sources of its kernels, by the kernel's name.
        file_bytes: size of the file.
    """

    description: OmModel
    report: Mapping[str, Any]
    sources: Mapping[str, str]
    file_bytes: int


def compiled_model(model: OfflineModel) -> CompiledModel:
    """The parts of an offline model that reports show; it may be closed then."""
    names = dict.fromkeys(node.kernel for node in model.description.nodes if node.kernel)
    members = {name: f"kernels/{name}/{name}.cpp" for name in names}
    return CompiledModel(
        description=model.description,
        report=model.report,
        sources={name: model.text(at) for name, at in members.items() if at in model.members},
        file_bytes=model.path.stat().st_size,
    )
