"""Emission: what kernels need is in the model, and a stub's page counts the nodes it does not name."""

from pathlib import Path
from typing import Any

import onnx
import pytest
from onnx import TensorProto, helper

import atc_py
from atc_py.kernels.kernels import emit_kernels
from atc_py.pipeline import compile as compile_module
from atc_py.system.structs import replace
from tests.onnx_graph import onnx_files


def softmaxes(count: int) -> onnx.ModelProto:
    """Return equal nodes one after another that share a kernel and no launch."""
    nodes = [
        helper.make_node("Softmax", [f"x{at}" if at else "x"], [f"x{at + 1}"], f"n{at}", axis=-1)
        for at in range(count)
    ]
    return onnx_files.model(nodes, {"x": (TensorProto.FLOAT, [2, 8])}, [f"x{count}"], {}, {"": 13})


def test_workspace_of_the_kernels_is_in_the_memory_plan(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original: Any = emit_kernels

    def hungry(*arguments: Any) -> object:
        return replace(original(*arguments), workspace=4096)

    monkeypatch.setattr(compile_module, "emit_kernels", hungry)
    path = onnx_files.save(softmaxes(1), tmp_path)
    atc_py.convert(path, tmp_path / "m.om")
    with atc_py.load(tmp_path / "m.om") as model:
        memory = model.description.memory
        assert memory is not None
        assert memory.workspace == 4096


@pytest.mark.parametrize(("count", "line"), [(20, ""), (25, "* and 5 more\n")])
def test_page_of_a_kernel_counts_the_nodes_it_does_not_name(
    tmp_path: Path, count: int, line: str
) -> None:
    path = onnx_files.save(softmaxes(count), tmp_path)
    atc_py.convert(path, tmp_path / "m.om", kernels=tmp_path / "kernels")
    (page,) = (tmp_path / "kernels").glob("softmax*/README.md")
    text = page.read_text(encoding="utf-8").split("\n## Nodes\n")[1].split("\n## ")[0]
    assert text.count("\n* ") == 20 + bool(line)
    assert line in text
