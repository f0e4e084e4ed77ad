"""Checks of one-node models, in which nothing is folded away."""

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from unittest.mock import patch

import onnx

from atc_py.check.bound_node import Conditions
from atc_py.check.evaluate import check_view
from atc_py.check.findings import Finding, ModelCheck
from atc_py.onnx_graph.folding import fold
from atc_py.onnx_graph.reading.history import history
from atc_py.onnx_graph.reading.onnx_file import surveyed
from atc_py.onnx_graph.reading.read import read_model
from atc_py.onnx_graph.source import SourceModel, SourceNode, SourceTensor
from atc_py.options.compile_options import PrecisionMode
from atc_py.spec import Library, library
from atc_py.system.structs import replace
from atc_py.target import find_soc

_OPSET_CODES = frozenset({"ATC3002", "ATC3007"})


def check_node(  # noqa: PLR0913  (what a check depends on)
    model: onnx.ModelProto,
    folder: Path,
    *,
    mode: PrecisionMode = PrecisionMode.FORCE_FP16,
    soc: str = "sim",
    seen: Mapping[str, SourceTensor] | None = None,
    specs: Library | None = None,
    strict: bool = False,
) -> ModelCheck:
    """Return the check of a model of one node.

    A node that folds away is never compared with its rules; here every node stays, so that the
    rules of operators like Constant and Shape can be asked as well.

    Args:
        model: the model.
        folder: where it is written to.
        mode: the precision mode.
        soc: name of the SoC.
        seen: values that are taken for other ones than the front end finds, by name.
        specs: the specifications to judge by; the default list's if there are none.
        strict: hold contradicted rules to the letter.
    """
    view = _unfolded(model.SerializeToString(), folder)
    view = replace(view, nodes=tuple(_as_seen(node, seen or {}) for node in view.nodes))
    conditions = Conditions(mode, find_soc(soc), strict=strict)
    check = check_view(view, conditions, specs or library(), history()).check
    assert check.nodes
    return check


@lru_cache(maxsize=2)
def _unfolded(data: bytes, folder: Path) -> SourceModel:
    """A model as the front end reads it; that of several checks in a row is read once."""
    path = folder / "one_node.onnx"
    path.unlink(missing_ok=True)
    path.write_bytes(data)
    with patch.object(fold._Folder, "_try", lambda _self, _node: None):
        return surveyed(read_model(path, lenient=True), {}).source


def opset_codes(check: ModelCheck) -> list[Finding]:
    """Return the findings about the operator's version."""
    return [each for each in check.findings if each.code.id in _OPSET_CODES]


def _as_seen(node: SourceNode, seen: Mapping[str, SourceTensor]) -> SourceNode:
    """Return the node with other outputs."""
    outputs = (each and seen.get(each.name, each) for each in node.outputs)
    return replace(node, outputs=tuple(outputs))
