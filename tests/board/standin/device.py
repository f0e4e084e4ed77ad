"""The simulated device as a process: loads an .om, answers lines of JSON, writes dumps and a log of launches.

STANDIN_FAULT names what goes wrong, apart by commas: `layer:TEXT` (operators with TEXT in their name compute
otherwise), `second` (a dump of two executions), `slow` (times doubled).
"""

import json
import os
import sys
import time
from collections.abc import Iterator, Mapping
from math import prod
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.adapters.atc.modes import om_graph
from atc_py.device.sim.execution.session import SimModel
from atc_py.diag import AtcError
from atc_py.ir import launch_positions
from atc_py.options.gears import SHAPE_DATA, GearKind
from atc_py.package.ge.interface import FORMAT_NUMBERS
from atc_py.package.ge.protobuf_classes import model_class
from atc_py.package.ge.schema import DATA_TYPES
from atc_py.package.reader import OfflineModel, open_model
from atc_py.package.schema import OmModel
from atc_py.package.stored_types import stored_dims
from atc_py.tensor.dtypes import DType
from tests.board.standin.dump_file import DumpedTensor, device_layout, dump_bytes, statistics_text

FAULTS = [fault for fault in os.environ.get("STANDIN_FAULT", "").split(",") if fault]
GENERATION = os.environ.get("STANDIN_CANN", "2024")
PLAIN = {"float32": "<f4", "float16": "<f2"}
LONGEST = 255


class DeviceOps:
    """The operators of the device: as mode 1 of atc shows them."""

    def __init__(self, description: OmModel) -> None:
        writer = om_graph._Writer(model_class()().graph.add(name="ops"), description)
        writer.write()
        self.description = description
        self.ops = {op.name: op for op in writer.graph.op}
        self.outputs: dict[str, dict[int, int]] = {}
        for tensor, (name, index) in writer.source.items():
            if self.ops[name].type not in {"Data", "Const"}:
                self.outputs.setdefault(name, {})[index] = tensor
        self.maker = {tensor: node for node in description.nodes for tensor in node.outputs}

    def origin(self, tensor: int) -> tuple[str, int]:
        """The ONNX node and its output that a tensor is; empty for a step on the way."""
        node = self.maker[tensor]
        if not self.description.tensors[tensor].stands_for or not node.origins:
            return "", 0
        return node.origins[-1].name, node.outputs.index(tensor)


class Device:
    """A loaded model."""

    def __init__(self, path: Path, model_id: int, dump: Mapping[str, Any] | None) -> None:
        self.path, self.model_id, self.dump = path, model_id, dump
        self.package = open_model(path)
        self.gears = self.package.gears
        self.loaded: dict[int | None, tuple[OfflineModel, SimModel, DeviceOps]] = {}
        self.executions = 0
        self.stamp = time.strftime("%Y%m%d%H%M%S")
        self.estimates: dict[int, float] = {}

    def at(self, gear: int | None) -> tuple[OfflineModel, SimModel, DeviceOps]:
        if gear not in self.loaded:
            package = self.package if gear is None else self.package.at_gear(gear)
            sim = SimModel(package, merged=False)
            self.loaded[gear] = package, sim, DeviceOps(package.description)
        return self.loaded[gear]

    def facts(self) -> dict[str, Any]:
        """Ports, and shapes in each gear."""
        largest = None if self.gears is None else self.gears.largest
        description = self.at(largest)[0].description
        facts: dict[str, Any] = {"gears": [], "gear_dims": []}
        for side, ports in (("inputs", description.inputs), ("outputs", description.outputs)):
            facts[side] = [
                {
                    "name": port.name,
                    "dtype": DType(row.dtype).ge,
                    "format": FORMAT_NUMBERS.get(row.format, 2),
                    "size": prod(dim or 0 for dim in row.shape) * DType(row.dtype).itemsize,
                    "dims": list(row.shape),
                }
                for port in ports
                for row in [description.tensors[port.tensor]]
            ]
        if self.gears is not None:
            self._add_gears(facts)
        return facts

    def _add_gears(self, facts: dict[str, Any]) -> None:
        assert self.gears is not None
        facts["gears"] = [list(gear) for gear in self.gears.gears]
        every = [self.at(gear)[0].description for gear in range(len(self.gears.gears))]
        for at, port in enumerate(facts["outputs"]):
            port["gears"] = [list(each.tensors[each.outputs[at].tensor].shape) for each in every]
        for each in every:
            dims = [each.tensors[port.tensor].shape for port in each.inputs]
            facts["gear_dims"].append([dim for shape in dims for dim in shape])
        count = (
            len(self.gears.gears[0])
            if self.gears.kind is not GearKind.DIMS
            else len(facts["gear_dims"][0])
        )
        facts["inputs"].append(
            {"name": SHAPE_DATA, "dtype": 3, "format": 2, "size": 4 * count, "dims": [count]}
        )

    def answered(self, request: Mapping[str, Any]) -> dict[str, Any]:
        try:
            return self.execute(request)
        except AtcError as error:
            return {"error": f"EZ9999: {error}"}

    def execute(self, request: Mapping[str, Any]) -> dict[str, Any]:
        package, sim, ops = self.at(request["gear"])
        description = package.description
        feeds = {}
        for port, path in zip(description.inputs, request["inputs"], strict=False):
            row = description.tensors[port.tensor]
            data = Path(path).read_bytes()
            count = prod(dim or 0 for dim in row.shape)
            feeds[port.name] = np.frombuffer(data, DType(row.dtype).numpy, count).reshape(row.shape)
        seen: dict[int, NDArray[Any]] = {}
        outputs = sim.run(feeds, lambda tensor, found: self._seen(ops, seen, tensor, found))
        self._write(ops, seen)
        if self.dump is not None and "second" in FAULTS:
            other = {name: np.roll(array, 1) for name, array in feeds.items()}
            sim.run(other, lambda tensor, found: self._seen(ops, seen, tensor, found))
            self._write(ops, seen)
        files = []
        for at, port in enumerate(description.outputs):
            files.append(f"{request['folder']}/o{at}")
            Path(files[-1]).write_bytes(np.ascontiguousarray(outputs[port.name]).tobytes())
        return {"outputs": files}

    def _seen(
        self, ops: DeviceOps, seen: dict[int, NDArray[Any]], tensor: int, found: NDArray[Any]
    ) -> None:
        """Spoil the result in place where a fault asks for that, and keep a copy for the dump."""
        name = next((n for n, own in ops.outputs.items() if tensor in own.values()), "")
        texts = [fault.partition(":")[2] for fault in FAULTS if fault.startswith("layer:")]
        if name and any(text in name for text in texts) and found.dtype.kind == "f":
            found *= 0.5
            found += 0.25
        if self.dump is not None:
            seen[tensor] = found.copy()

    def _write(self, ops: DeviceOps, seen: Mapping[int, NDArray[Any]]) -> None:
        if os.environ.get("STANDIN_PROFILE"):
            self._log(ops)
        if self.dump is not None:
            self._dump(ops, seen)
        self.executions += 1

    def _dump(self, ops: DeviceOps, seen: Mapping[int, NDArray[Any]]) -> None:
        assert self.dump is not None
        name = self.path.stem
        if all(each.get("model_name") != name for each in self.dump["dump_list"]):
            return
        folder = Path(
            self.dump["dump_path"], self.stamp, "0", name, str(self.model_id), str(self.executions)
        )
        folder.mkdir(parents=True)
        rows = []
        for task, (op_name, own) in enumerate(ops.outputs.items()):
            now = int(time.time() * 1_000_000)
            outputs = [self._dumped(ops, own[index], seen[own[index]]) for index in sorted(own)]
            stream = "" if GENERATION == "2022" else ".0"
            file = f"{_escaped(ops.ops[op_name].type)}.{_escaped(op_name)}.{task}{stream}.{now}"
            if len(file) > LONGEST:
                rows.append(f"{hash(file) % 10**18},{file}\n")
                file = rows[-1].partition(",")[0]
            if self.dump.get("dump_data") == "stats":
                (folder / f"{file}.csv").write_text(statistics_text(outputs))
            else:
                (folder / file).write_bytes(dump_bytes(op_name, now, outputs))
        if rows:
            (folder / "mapping.csv").write_text("".join(rows))

    def _dumped(self, ops: DeviceOps, tensor: int, found: NDArray[Any]) -> DumpedTensor:
        row = ops.description.tensors[tensor]
        dtype, stored = DType(row.dtype), [dim or 0 for dim in stored_dims(row)]
        form = row.format if row.storage is None else row.storage.format
        array = device_layout(found.astype(dtype.numpy), form, stored)
        data = np.ascontiguousarray(array).tobytes()
        data += bytes(-len(data) % 32)
        origin, index = ops.origin(tensor)
        shape = [dim or 0 for dim in row.shape]
        return DumpedTensor(data, dtype.value, form, stored, shape, origin, index)

    def _log(self, ops: DeviceOps) -> None:
        """Append the launches of one execution to the log of the profiler."""
        factor = 2.0 if "slow" in FAULTS else 1.0
        with Path(os.environ["STANDIN_PROFILE"]).open("a", encoding="utf-8") as file:
            for task, row in enumerate(self._timed(ops)):
                row |= {"task": task, "model_id": self.model_id, "model": self.path.stem}
                row["us"] = row["us"] * factor * (1.5 if self.executions == 0 else 1.0)
                file.write(json.dumps(row) + "\n")

    def times(self, ops: DeviceOps) -> dict[int, float]:
        """Estimated microseconds of the launches, by each tensor that they make."""
        if not self.estimates:
            from atc_py.pipeline.profile import profile_model

            cost = profile_model(self.path).costs[0]
            known = {kernel.name: kernel.cost.expected * 1e6 for kernel in cost.kernels}
            nodes = ops.description.nodes
            for members in launch_positions(nodes).values():
                spent = [known[nodes[at].name] for at in members if nodes[at].name in known]
                for at in members:
                    self.estimates |= dict.fromkeys(nodes[at].outputs, spent[0] if spent else 1.0)
        return self.estimates

    def _timed(self, ops: DeviceOps) -> Iterator[dict[str, Any]]:
        """Yield the launches with their estimated times in microseconds."""
        for name, own in ops.outputs.items():
            op = ops.ops[name]
            described = (op.input_desc, op.output_desc)
            yield {
                "name": name,
                "type": op.type,
                "us": self.times(ops).get(next(iter(own.values())), 1.0),
                "dims": [[list(each.shape.dim) for each in side] for side in described],
                "dtypes": [[DATA_TYPES[each.dtype] for each in side] for side in described],
                "formats": [[each.layout for each in side] for side in described],
            }


def _escaped(name: str) -> str:
    for character in " ./\\":
        name = name.replace(character, "_")
    return name


def answer(document: Mapping[str, Any]) -> None:
    sys.stdout.write(json.dumps(document) + "\n")
    sys.stdout.flush()


def main() -> None:
    path, model_id, dump = Path(sys.argv[1]), int(sys.argv[2]), json.loads(sys.argv[3])
    try:
        device = Device(path, model_id, dump)
        answer(device.facts())
    except AtcError as error:
        answer({"error": f"EE4001: {error}"})
        return
    for line in sys.stdin:
        answer(device.answered(json.loads(line)))


if __name__ == "__main__":
    main()
