"""Content of an ONNX file as data: what `info` shows of one."""

from collections.abc import Mapping

from atc_py.system.structs import Result


class OnnxPort(Result, frozen=True):
    """Input or output of the graph.

    Attributes:
        name: its name.
        dtype: `float32`; the kind for what is not a tensor, such as `sequence`; empty where the
            file states none.
        shape: dims, an open one as its name, which may be empty; null where the rank is open.
    """

    name: str
    dtype: str
    shape: tuple[int | str, ...] | None


class OnnxOperator(Result, frozen=True):
    """Operator of the graph and its subgraphs.

    Attributes:
        op: its name.
        domain: its domain; empty for ONNX's own.
        nodes: how many there are.
    """

    op: str
    domain: str
    nodes: int


class ExternalFile(Result, frozen=True):
    """File beside the model that holds weights.

    Attributes:
        file: its path, relative to the model's folder.
        tensors: how many of the model's tensors it holds.
        bytes: its size.
    """

    file: str
    tensors: int
    bytes: int


class OnnxFacts(Result, frozen=True):
    """Content of an ONNX file.

    Attributes:
        model: path of the file.
        name: the graph's name.
        producer: the tool that wrote it, with its version; may be empty.
        ir_version: version of the file format.
        opsets: imported version of each domain; "" is ONNX's own.
        inputs: what is fed; initializers are not among them.
        outputs: what is returned.
        operators: with their nodes, the most frequent first; bodies of functions are counted where
            they are called.
        parameters: elements of all initializers.
        weight_bytes: bytes of all initializers and of the tensors of Constant nodes.
        file_bytes: size of the file.
        external_data: files beside it, by name.
    """

    model: str
    name: str
    producer: str
    ir_version: int
    opsets: Mapping[str, int]
    inputs: tuple[OnnxPort, ...]
    outputs: tuple[OnnxPort, ...]
    operators: tuple[OnnxOperator, ...]
    parameters: int
    weight_bytes: int
    file_bytes: int
    external_data: tuple[ExternalFile, ...]
