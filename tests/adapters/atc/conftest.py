"""atc's command line in this process, in a folder with the models and files that lines name."""

import json
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

from atc_py.cli.main import main
from atc_py.package.reader import open_model
from atc_py.package.schema import OmModel

BASE = "--model=m.onnx --framework=5 --output=o --soc_version=Ascend310P3"
"""What stands before the arguments of most lines."""


@dataclass(frozen=True)
class Ran:
    """A run of atc: its exit status, streams and folder."""

    status: int
    out: str
    err: str
    folder: Path

    @property
    def lines(self) -> list[str]:
        """Lines of standard output."""
        return self.out.splitlines()

    @property
    def verdict(self) -> str:
        """The line that says how the run ended, or nothing."""
        return next((line for line in self.lines if line.startswith("ATC run")), "")

    @property
    def code(self) -> str:
        """Code of atc's block, or nothing."""
        after = self.lines[self.lines.index(self.verdict) + 1 :] if self.verdict else []
        found = next((line for line in after if line.startswith("E")), "")
        return found.partition(":")[0]

    def om(self, name: str) -> OmModel:
        """Return the description of an offline model of the folder."""
        with open_model(self.folder / name) as model:
            return model.description

    def shape(self, name: str, port: str) -> list[int | None]:
        """Return the shape of an input or output of an offline model."""
        description = self.om(name)
        ports = (*description.inputs, *description.outputs)
        found = next(each for each in ports if each.name == port)
        return description.tensors[found.tensor].shape


def network(shape: Sequence[int | str], name: str = "x") -> onnx.ModelProto:
    """Return `Conv_0` and `Relu_1` on an input of a shape, with the tensors `tensor1` and `y`."""
    weights = np.random.default_rng(0).standard_normal((2, 3, 3, 3)).astype(np.float32)
    graph = helper.make_graph(
        [
            helper.make_node("Conv", [name, "w"], ["tensor1"], name="Conv_0", strides=[8, 8]),
            helper.make_node("Relu", ["tensor1"], ["y"], name="Relu_1"),
        ],
        "network",
        [helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(weights, "w")],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 11)], ir_version=6)


def matrices() -> onnx.ModelProto:
    """Return the sum of an input `a`, N x 4, and a scalar `s`."""
    graph = helper.make_graph(
        [helper.make_node("Add", ["a", "s"], ["sum"], name="Add_0")],
        "matrices",
        [
            helper.make_tensor_value_info("a", TensorProto.FLOAT, ["n", 4]),
            helper.make_tensor_value_info("s", TensorProto.FLOAT, []),
        ],
        [helper.make_tensor_value_info("sum", TensorProto.FLOAT, None)],
    )
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 11)], ir_version=6)


def unlisted() -> onnx.ModelProto:
    """Return a network with an operator that no list has."""
    model = network([1, 3, 224, 224])
    model.graph.node[1].op_type = "NoSuchOperator"
    model.opset_import[0].version = 12
    return model


TEXTS = {
    "mixlist.json": '{"black-list": {"to-add": ["Relu"]}}',
    "keep.txt": "Conv_0\n",
    "custom.txt": "Relu_1::InputDtype:float16,OutputDtype:float16\n",
    "modes.ini": "Relu=high_performance\n",
    "fusion.cfg": "ConvBatchnormFusionPass:off\n",
    "weights.caffemodel": "x",
    "raw.json": '{"compile options": {"global": {}}}',
    "raw_some.json": '{"compile options": {"graph": {"ge.exec.x": "1"}}}',
    "raw_output.json": '{"compile options": {"session": {"output": "1"}}}',
    "raw_list.json": "[]",
    "raw_cut.json": "{",
    "ops.json": json.dumps(
        [
            {
                "op": "Add",
                "name": "add",
                "input_desc": [{"format": "ND", "shape": [3, 3], "type": "float16"}] * 2,
                "output_desc": [{"format": "ND", "shape": [3, 3], "type": "float16"}],
            }
        ]
    ),
    "aipp.cfg": "aipp_op { aipp_mode: static input_format: RGB888_U8 }\n",
    "aipp_crop.cfg": "aipp_op { aipp_mode: static input_format: RGB888_U8 crop: true "
    "src_image_size_w: 256 src_image_size_h: 256 }\n",
    "aipp_twice.cfg": "aipp_op { aipp_mode: static input_format: RGB888_U8 }\n" * 2,
    "aipp_no_mode.cfg": "aipp_op { input_format: RGB888_U8 }\n",
    "aipp_no_format.cfg": "aipp_op { aipp_mode: static }\n",
    "aipp_dynamic_0.cfg": "aipp_op { aipp_mode: dynamic max_src_image_size: 0 }\n",
    "aipp_dynamic.cfg": "aipp_op { aipp_mode: dynamic max_src_image_size: 200704 }\n",
    "aipp_unknown.cfg": "aipp_op { aipp_mode: static no_such_field: 1 }\n",
    "a.pbtxt": "x",
}
"""Files that lines name, besides models."""


@pytest.fixture(scope="session")
def files() -> dict[str, bytes]:
    """Return the models and other files that lines name."""
    models = {
        "m.onnx": network([1, 3, 224, 224]),
        "d.onnx": network(["n", 3, "h", "w"]),
        "tf.onnx": network([1, 3, 224, 224], "input:0"),
        "two.onnx": matrices(),
        "odd.onnx": unlisted(),
    }
    found = {name: model.SerializeToString() for name, model in models.items()}
    found["latin.json"] = '{"é": 1}'.encode("latin-1")
    return found | {name: text.encode() for name, text in TEXTS.items()}


@pytest.fixture
def atc(
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    files: dict[str, bytes],
) -> Callable[[str], Ran]:
    """Return runs atc with a line in a folder with the files."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ASCEND_WORK_PATH", raising=False)
    for name, data in files.items():
        (tmp_path / name).write_bytes(data)

    def run(line: str) -> Ran:
        with pytest.raises(SystemExit) as ended:
            main(["atc", *shlex.split(line.replace("{B}", BASE))])
        captured = capsys.readouterr()
        assert "Traceback (most recent call last):\n  File" not in captured.out + captured.err
        return Ran(int(ended.value.code or 0), captured.out, captured.err, tmp_path)

    return run
