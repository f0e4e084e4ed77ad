"""Small models as Huawei's atc would write them: a chain of ops with their constants packed."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from atc_py.tensor.dtypes import DType, Format
from atc_py.tensor.packing import pack
from atc_py.tensor.shapes import closed_shape
from atc_py.tensor.storage import Storage, stored_shape
from tests.package.ge.om_files import (
    Enumerated,
    constant,
    graph,
    kernel,
    kernel_task,
    message,
    model_def,
    om_file,
    op,
    tasks,
    tensor_desc,
)

IMAGES, FILTERS, MATRICES = "NC1HWC0", "FRACTAL_Z", "FRACTAL_NZ"
_WORDS = {"float16": "DT_FLOAT16", "float32": "DT_FLOAT", "int32": "DT_INT32", "uint8": "DT_UINT8"}
ABSENT = ""


@dataclass
class Tensor:
    """A tensor of the file: dims in the network, dtype, storage."""

    dims: tuple[int, ...]
    dtype: str = "float16"
    layout: str = "ND"
    origin: str = "NCHW"

    @property
    def stored(self) -> tuple[int, ...]:
        """The dims as stored."""
        if self.layout not in {IMAGES, FILTERS, MATRICES}:
            return self.dims
        origin = Format(self.origin) if len(self.dims) == 4 else Format.ND
        storage = Storage(Format(self.layout))
        return closed_shape(stored_shape(self.dims, origin, storage, DType(self.dtype)))

    def desc(self, names: Enumerated, **fields: Any) -> bytes:
        """Its descriptor."""
        origin = {"origin_shape": list(self.dims), "origin_format": self.origin}
        attributes = {**origin, **fields.pop("attributes", {})}
        return tensor_desc(
            _WORDS[self.dtype], self.stored, self.layout, attributes, names, **fields
        )


@dataclass
class SmallModel:
    """A model that is put together op by op."""

    soc: str = "Ascend310B4"
    name: str = "net_0"
    names: Enumerated = field(default_factory=lambda: Enumerated(on=True))
    ops: list[bytes] = field(default_factory=list)
    weights: bytes = b""
    kernels: bytes = b""
    tasks: list[bytes] = field(default_factory=list)
    tensors: dict[str, Tensor] = field(default_factory=dict)
    places: dict[str, int] = field(default_factory=dict)
    constants: set[str] = field(default_factory=set)
    outputs: list[str] = field(default_factory=list)
    arena: int = 0
    stored: dict[str, bytes] = field(default_factory=dict)
    graphs: dict[str, list[bytes]] = field(default_factory=dict)
    count: int = 0

    def input(self, name: str, tensor: Tensor, attributes: Mapping[str, Any] | None = None) -> str:
        """Add an input."""
        self._place(name, tensor)
        stated = {"index": len(self.ops), **(attributes or {})}
        self.ops.append(
            op(
                name, "Data", stated, self.names, id=self._next(),
                output_desc=tensor.desc(self.names), output_i=self.places[name],
            )
        )  # fmt: skip
        return name

    @contextmanager
    def inner(self, name: str) -> Iterator[None]:
        """Add what follows to a graph that an op runs; `results` ends it."""
        kept, self.ops = self.ops, []
        yield
        self.graphs[name], self.ops = self.ops, kept

    def parameter(self, name: str, tensor: Tensor, position: int) -> str:
        """Add an input of a graph that an op runs, the op's operand at `position`."""
        return self.input(name, tensor, {"_parent_node_index": position})

    def results(self, name: str, values: Sequence[str]) -> None:
        """Add the op that takes the results of a graph."""
        self.ops.append(self._net_output(name, values))

    def call(
        self,
        name: str,
        kind: str,
        inputs: Sequence[str],
        result: Tensor,
        graphs: Sequence[str],
        attributes: Mapping[str, Any] | None = None,
    ) -> str:
        """Add an op that runs graphs."""
        self._place(name, result)
        self.ops.append(
            op(
                name, kind, dict(attributes or {}), self.names, id=self._next(),
                input=[f"{each}:0" for each in inputs],
                input_desc=[self._desc(each) for each in inputs],
                input_i=[self.places[each] for each in inputs],
                is_input_const=[each in self.constants for each in inputs],
                output_desc=result.desc(self.names), output_i=self.places[name],
                subgraph_name=list(graphs),
            )
        )  # fmt: skip
        return name

    def constant(self, name: str, array: NDArray[Any], layout: str = "ND") -> str:
        """Add a constant, stored as `layout` says."""
        tensor = Tensor(array.shape, array.dtype.name, layout)
        data, dims = array, array.shape
        if layout == IMAGES and array.ndim == 1:
            data = array.reshape(1, -1, 1, 1)
        if layout != "ND":
            data = pack(data, Format.NCHW, Storage(Format(layout)))
            dims = data.shape
        desc: dict[str, Any] = {
            "dtype": _WORDS[array.dtype.name], "dims": dims, "layout": layout,
            "attributes": {"origin_shape": list(array.shape), "origin_format": "NCHW"},
        }  # fmt: skip
        body = data.tobytes()
        made = constant(name, len(self.weights), len(body), self.names, **desc)
        described = tensor_desc(names=self.names, **desc)
        self.ops.append(made + message("OpDef", output_desc=described))
        self.places[name] = len(self.weights)
        self.weights += body.ljust(-(-len(body) // 512) * 512, b"\0")
        self.tensors[name] = tensor
        self.constants.add(name)
        self.stored[name] = described
        return name

    def launch(  # noqa: PLR0913  (the fields of an op)
        self,
        name: str,
        kind: str,
        inputs: Sequence[str],
        result: Tensor,
        attributes: Mapping[str, Any] | None = None,
        nodes: Sequence[str] = (),
        *,
        types: Sequence[str] = (),
        operands: Sequence[str] = (),
        kernel_name: str = "",
        binary: bytes = b"\x7fELF" + bytes(60),
        last: str = "",
        cores: int = 1,
    ) -> str:
        """Add an op that the device launches; "" among inputs is an absent one."""
        absent = tensor_desc("DT_UNDEFINED", (), "FORMAT_RESERVED")
        words = operands or [f"__input{at}" for at in range(len(inputs))]
        order = sorted(words)
        stated = {
            "_datadump_original_op_names": list(nodes),
            "_datadump_original_op_types": list(types),
            "_kernelname": kernel_name,
            "tvm_blockdim": cores,
            **(attributes or {}),
            "_input_name_key": order,
            "_input_name_value": [list(words).index(word) for word in order],
        }
        self._place(name, result)
        number = self._next()
        extra = {"_datadump_origin_name": last} if last else {}
        self.ops.append(
            op(
                name, kind, stated, self.names, id=number,
                input=[f"{each}:0" if each else ABSENT for each in inputs],
                input_desc=[self._desc(each) if each else absent for each in inputs],
                input_i=[self.places[each] for each in inputs if each],
                is_input_const=[each in self.constants for each in inputs],
                output_desc=result.desc(self.names, attributes=extra), output_i=self.places[name],
            )
        )  # fmt: skip
        self.tasks.append(kernel_task(number, kernel_name, cores))
        if kernel_name:
            self.kernels += kernel(kernel_name, binary)
        return name

    def output(self, value: str, name: str) -> None:
        """Make a value an output of the network under a name."""
        self.outputs.append(f"{value}:0:{name}")

    def write(self, path: Path, *, wide: bool = True) -> Path:
        """Write the file."""
        path.write_bytes(om_file(self.partitions(), wide=wide))
        return path

    def partitions(self) -> list[tuple[int, bytes]]:
        """The partitions of the model."""
        values = [text.partition(":")[0] for text in self.outputs]
        self.ops.append(self._net_output("Node_Output", values))
        attributes = {
            "soc_version": self.soc,
            "opp_version": "7.6.0.1.220",
            "attr_model_out_nodes_name": self.outputs,
            "memory_size": 1 << 20,
        }
        inner = [graph(name, ops) for name, ops in self.graphs.items()]
        described = model_def([graph(self.name, self.ops), *inner], attributes, self.names)
        return [
            (0, described), (1, self.weights + bytes(512)), (3, self.kernels), (2, tasks(*self.tasks))
        ]  # fmt: skip

    def _next(self) -> int:
        self.count += 1
        return self.count - 1

    def _net_output(self, name: str, values: Sequence[str]) -> bytes:
        return op(
            name, "NetOutput", {}, self.names, id=self._next(),
            input=[f"{value}:0" for value in values],
            input_desc=[self._desc(value) for value in values],
            input_i=[self.places[value] for value in values],
        )  # fmt: skip

    def _desc(self, name: str) -> bytes:
        return self.stored.get(name) or self.tensors[name].desc(self.names)

    def _place(self, name: str, tensor: Tensor) -> None:
        self.tensors[name] = tensor
        size = int(np.prod(tensor.stored, dtype=np.int64)) * DType(tensor.dtype).itemsize
        self.places[name] = self.arena
        self.arena += -(-(size + 64) // 512) * 512


def halves(seed: int, *shape: int) -> NDArray[np.float16]:
    """Random float16 numbers."""
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float16)
