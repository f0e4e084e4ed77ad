"""Emission: what kernels need is in the model, and a stub's page counts the nodes it does not name."""

from pathlib import Path
from typing import Any

import onnx
import pytest
from msgspec import structs
from onnx import TensorProto, helper

import atc_py
from atc_py.compare import compilation as compilation_module
from atc_py.compare.compilation import Compilation
from atc_py.compare.output_recording import StoredSamples
from atc_py.compare.trials import TrialTask, run_trial
from atc_py.kernels.kernels import emit_kernels
from atc_py.onnx_graph.reading.read import read_model
from atc_py.options.compile_options import CompileOptions, PrecisionOptions
from atc_py.package.archive import KERNELS
from atc_py.package.reader import open_model
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


def test_trials_are_what_convert_makes_without_kernels(tmp_path: Path) -> None:
    path = onnx_files.save(softmaxes(3), tmp_path)
    trials = compile_module.TrialCompiler(path, CompileOptions())
    kept = tmp_path / "kept.txt"
    for lines in ("n1\n", "n0\nn2\n", ""):
        kept.write_text(lines, encoding="utf-8")
        precision = PrecisionOptions(keep_dtype=kept)
        trials.write(tmp_path / "trial.om", CompileOptions(precision=precision))
        atc_py.convert(path, tmp_path / "m.om", keep_dtype=kept)
        with open_model(tmp_path / "trial.om") as trial, open_model(tmp_path / "m.om") as whole:
            assert not any(name.startswith(KERNELS) for name in trial.members)
            nodes = [structs.replace(each, kernel=None) for each in whole.description.nodes]
            assert trial.description.nodes == nodes
            assert trial.description.tensors == whole.description.tensors


def test_trials_of_one_search_read_their_model_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path, read = onnx_files.save(softmaxes(3), tmp_path), list[Path]()

    def counted(model: Path, *, lenient: bool = False) -> object:
        read.append(model)
        return read_model(model, lenient=lenient)

    for module in (compile_module, compilation_module):
        monkeypatch.setattr(module, "read_model", counted)
    compilation, samples = Compilation(path, CompileOptions()), StoredSamples((), ())
    for name in ("n0", "n1"):
        answer = run_trial(TrialTask(compilation, ((name,), ()), samples, "sim", 0.0))
        assert answer.model is not None
    assert read == [path]
