"""A board without processes: results of the simulator as a device would dump and time them."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from atc_py.adapters.atc.modes.own_om import om_to_json
from atc_py.api import convert
from atc_py.device.sim.execution.session import SimModel
from atc_py.ir import launch_positions
from atc_py.package.reader import open_model
from atc_py.package.stored_types import stored_dims
from atc_py.tensor.dtypes import DType
from tests.board.standin.dump_file import DumpedTensor, device_layout, dump_bytes, statistics_text

Array = NDArray[Any]
SOC = "Ascend310P3"
MODE = {"precision_mode": "force_fp16", "semantics": "cann"}
NO_OPS = {"Data", "Const", "NetOutput"}


def small_network(path: Path) -> Array:
    """Write convolutions, a residual sum, a product and a softmax; return an input."""
    draw = np.random.default_rng(0)

    def weights(name: str, *shape: int) -> onnx.TensorProto:
        return numpy_helper.from_array((draw.standard_normal(shape) * 0.1).astype(np.float32), name)

    nodes = [
        helper.make_node("Conv", ["x", "w1"], ["c1"], name="/conv1", pads=[1] * 4),
        helper.make_node("Relu", ["c1"], ["r1"], name="/relu1"),
        helper.make_node("Conv", ["r1", "w2"], ["c2"], name="/conv2", pads=[1] * 4),
        helper.make_node("Add", ["c2", "r1"], ["a1"], name="/add"),
        helper.make_node("Relu", ["a1"], ["r2"], name="/relu2"),
        helper.make_node("GlobalAveragePool", ["r2"], ["g"], name="/gap"),
        helper.make_node("Flatten", ["g"], ["f"], name="/flat"),
        helper.make_node("MatMul", ["f", "w3"], ["l"], name="/fc"),
        helper.make_node("Softmax", ["l"], ["y"], name="/soft", axis=-1),
    ]
    graph = helper.make_graph(
        nodes,
        "small",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, 8, 8])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [1, 10])],
        [weights("w1", 16, 3, 3, 3), weights("w2", 16, 16, 3, 3), weights("w3", 16, 10)],
    )
    opsets = [helper.make_opsetid("", 13)]
    onnx.save(helper.make_model(graph, opset_imports=opsets, ir_version=8), path)
    return draw.standard_normal((1, 3, 8, 8)).astype(np.float32)


class SmallBoard:
    """A compiled model with the results of one run.

    Attributes:
        json: the JSON of mode 1.
        ops: its ops that have tasks, in order.
        outputs: of the run.
    """

    def __init__(
        self, model: Path, folder: Path, feeds: Mapping[str, Array], **compiling: Any
    ) -> None:
        om = folder / "board.om"
        convert(model, om, soc=SOC, **{**MODE, **compiling})
        self.json = folder / "om.json"
        self.json.write_text(om_to_json(om))
        graph = json.loads(self.json.read_text())["graph"][0]
        ops = [op for op in graph["op"] if op["type"] not in NO_OPS]
        self._seen: dict[int, Array] = {}
        with open_model(om) as package:
            description = self._description = package.description
            sim = SimModel(package, merged=False)
            self.outputs = sim.run(feeds, lambda at, found: self._seen.update({at: found.copy()}))
            sim.close()
        groups = [
            [description.nodes[at] for at in members]
            for members in launch_positions(description.nodes).values()
        ]
        pairs = zip(ops, groups, strict=True)
        self._made = {
            op["name"]: [out for node in nodes for out in node.outputs][-len(op["output_desc"]) :]
            for op, nodes in pairs
        }
        keys = {op["name"]: {row["key"] for row in op.get("attr", [])} for op in ops}
        self.ops = [op for op in ops if "_no_task" not in keys[op["name"]]]

    def dump(
        self,
        folder: Path,
        spoiled: Mapping[str, Callable[[Array], Array]] | None = None,
        execution: int = 0,
        *,
        statistics: bool = False,
    ) -> Path:
        """Write a dump of one execution, or statistics; `spoiled` changes results by the op's name."""
        place = folder / "20260101000000" / "0" / "board" / "1" / str(execution)
        place.mkdir(parents=True)
        for number, op in enumerate(self.ops):
            change = (spoiled or {}).get(op["name"], lambda array: array)
            rows = [
                self._row(tensor, desc, change)
                for tensor, desc in zip(self._made[op["name"]], op["output_desc"], strict=True)
            ]
            escaped = op["name"].replace("/", "_").replace(".", "_")
            file = f"{op['type']}.{escaped}.{number}.1.{1700000000000000 + number}"
            if statistics:
                (place / f"{file}.csv").write_text(statistics_text(rows))
            else:
                (place / file).write_bytes(dump_bytes(op["name"], number, rows))
        return folder

    def _row(
        self, tensor: int, desc: Mapping[str, Any], change: Callable[[Array], Array]
    ) -> DumpedTensor:
        row = self._description.tensors[tensor]
        dtype = DType(row.dtype).numpy
        array = change(self._seen[tensor].astype(dtype)).astype(dtype)
        stored = [int(dim) for dim in desc["shape"]["dim"]]
        assert list(stored_dims(row)) == stored
        laid = device_layout(array, desc["layout"], stored)
        said = {each["key"]: each.get("value", {}) for each in desc["attr"]}
        data = np.ascontiguousarray(laid).tobytes()
        return DumpedTensor(
            data + bytes(-len(data) % 32), row.dtype, desc["layout"], stored, array.shape,
            said.get("_datadump_origin_name", {}).get("s", ""),
            said.get("_datadump_origin_output_index", {}).get("i", 0),
        )  # fmt: skip

    def table(self, path: Path, microseconds: float, executions: int = 3) -> Path:
        """Write an op_summary in which each kernel takes so long."""
        rows = [
            (
                "Device_id,Model ID,Task ID,Stream ID,Op Name,OP Type,OP State,Task Type,"
                "Task Start Time(us),Task Duration(us),Task Wait Time(us),Block Dim"
            )
        ]
        for _ in range(executions):
            rows += [
                f"0,1,{at},1,{op['name']},{op['type']},static,AI_CORE,1.5\t,{microseconds},0.5,8"
                for at, op in enumerate(self.ops)
            ]
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(rows) + "\n")
        return path
