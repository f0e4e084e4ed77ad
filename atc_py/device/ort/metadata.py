"""Metadata of exported models and nodes: facts of the compiled graph that ONNX has no field for.

Keys begin with `ascend.`; values are plain text. Times are the cost model's estimates.
"""

from collections.abc import Iterable, Iterator

from onnx import NodeProto

from atc_py.cost.network import KernelCost, NetworkCost, network_cost
from atc_py.device.ort.functions import DOMAIN
from atc_py.device.ort.model import Emulated
from atc_py.package.schema import OmModel, OmNode, OmTensor
from atc_py.tensor.dtypes import Format
from atc_py.tensor.shapes import format_shape


def model_metadata(model: OmModel, cost: NetworkCost) -> dict[str, str]:
    """The metadata of the model: the program that compiled it, SoC, options, estimated time."""
    found = {
        "producer": model.producer,
        "soc": model.soc,
        **dict(sorted(model.options.items())),
        "estimated_us": _microseconds(cost.time.expected),
    }
    return {f"{DOMAIN}.{key}": value for key, value in found.items()}


def annotate(emulated: Emulated, model: OmModel) -> dict[str, str]:
    """Give each node that makes the results of a target node the facts of that node.

    Returns:
        The metadata of the model.
    """
    cost = network_cost(model)
    kernels = {kernel.name: kernel for kernel in cost.kernels}
    heads = _heads(model)
    for node in _all_nodes(emulated.nodes):
        made = next(
            (emulated.makers[each] for each in node.output if each in emulated.makers), None
        )
        if made is None:
            continue
        head = heads[made.name]
        kernel = kernels.get(head)
        for key, value in _facts(model, made, head, kernel):
            node.metadata_props.add(key=f"{DOMAIN}.{key}", value=value)
    return model_metadata(model, cost)


def _heads(model: OmModel) -> dict[str, str]:
    """For each node the first one of its launch; nodes of one scope are one launch."""
    first: dict[int, str] = {}
    return {
        node.name: first.setdefault(node.scope, node.name) if node.scope else node.name
        for node in model.nodes
    }


def _facts(
    model: OmModel, node: OmNode, head: str, kernel: KernelCost | None
) -> Iterator[tuple[str, str]]:
    """Yield the facts of a node; the first one of a launch has the launch's time."""
    yield "op", node.op
    yield "engine", node.engine
    yield "inputs", _types(model, node.inputs)
    yield "outputs", _types(model, node.outputs)
    if node.origins:
        yield (
            "origins",
            ", ".join(
                f"{origin.name} ({origin.op_type})" if origin.name else origin.op_type
                for origin in node.origins
            ),
        )
    if node.kernel is not None:
        yield "kernel", node.kernel
    yield "launch", head
    if kernel is not None and head == node.name:
        yield "launch_op", kernel.op
        yield "estimated_us", _microseconds(kernel.cost.expected)


def _types(model: OmModel, tensors: Iterable[int]) -> str:
    """Dtypes, dims and storage of tensors, `-` for an absent one."""
    return ", ".join("-" if at < 0 else _type(model.tensors[at]) for at in tensors)


def _type(tensor: OmTensor) -> str:
    """A type as `float16 1x64x56x56 NC1HWC0`."""
    storage = tensor.storage.format if tensor.storage is not None else tensor.format
    words = [tensor.dtype, format_shape(tensor.shape)]
    return " ".join(words if storage == Format.ND.value else [*words, storage])


def _microseconds(seconds: float) -> str:
    return f"{seconds * 1e6:.3f}"


def _all_nodes(nodes: Iterable[NodeProto]) -> Iterator[NodeProto]:
    for node in nodes:
        yield node
        for attribute in node.attribute:
            if attribute.HasField("g"):
                yield from _all_nodes(attribute.g.node)
