"""The content of a file of Huawei's atc, for `info`: what it says, in words of the field."""

import shlex
from collections import Counter
from collections.abc import Iterable
from math import prod

from atc_py.package.ge.interface import GeInterface, GePort
from atc_py.package.ge.launches import GeLaunch, model_launches
from atc_py.package.ge.messages import GeTensorDesc
from atc_py.package.ge.model import HuaweiFile, HuaweiModel
from atc_py.package.ge.om2 import Om2File
from atc_py.package.ge.pictures import data_inputs, model_pictures
from atc_py.package.ge.tasks import elf_flags
from atc_py.results.huawei_facts import (
    HuaweiFacts,
    HuaweiFusion,
    HuaweiLaunch,
    HuaweiModelFacts,
    HuaweiPart,
    HuaweiPictures,
    HuaweiPort,
    HuaweiTensor,
    LaunchCount,
)
from atc_py.tensor.dtypes import DType, UnknownDTypeError

_SOC_OPTION = "--soc_version"
_FAMILIES = {0: "Ascend310", 0x860000: "Ascend910", 0x950000: "Ascend310B"}
"""SoCs by the flags of their kernels' ELF headers."""

_SIZES = {
    "memory_size": "memory",
    "zero_copy_memory_size": "zero copy",
    "weight_size": "weights",
    "variable_size": "variables",
    "host_memory_size": "host",
    "p2p_memory_size": "peer to peer",
    "session_scope_memory_size": "session",
    "host_svm_size": "shared with the host",
}
_COUNTS = {
    "stream_num": "streams",
    "event_num": "events",
    "label_num": "labels",
    "notify_num": "notifies",
}


def huawei_facts(file: HuaweiFile, *, with_ops: bool = False) -> HuaweiFacts:
    """The content of an opened file.

    Raises:
        AtcError: BAD_HUAWEI_MODEL.
    """
    if file.om2 is not None:
        models = _om2_models(file.om2)
    else:
        models = tuple(_model_facts(model, with_ops=with_ops) for model in file.all_models())
    return HuaweiFacts(
        model=str(file.path),
        kind=file.kind,
        file_bytes=file.nbytes,
        container_version=0 if file.header is None else file.header.version,
        unknown_shapes=file.header is not None and file.header.has_unknown_shapes,
        models=models,
    )


def model_interface(model: HuaweiModel) -> GeInterface:
    """Inputs, outputs and gears: as a partition states them, or else as the graph has them."""
    if model.interface is not None:
        return model.interface
    outputs = [op for op in model.ops if op.type == "NetOutput"]
    names = model.attributes.texts("attr_model_out_nodes_name")
    descs = [desc for op in outputs for desc in op.inputs]
    return GeInterface(
        inputs=[_port(op.name, op.outputs[0]) for op in data_inputs(model) if op.outputs],
        outputs=[
            _port(names[at] if at < len(names) else f"output_{at}", desc)
            for at, desc in enumerate(descs)
        ],
    )


def network_output(name: str) -> str:
    """The name of the network's output in `op:index:name`; the whole where it has none."""
    parts = name.rsplit(":", 2)
    return parts[2] if len(parts) > 2 and parts[2] else name  # noqa: PLR2004  (op, index and name)


def soc_of(model: HuaweiModel) -> tuple[str, str]:
    """The SoC that a model is for, and what says it: attribute, command line, or kernels."""
    soc = model.attributes.text("soc_version")
    if soc:
        return soc, "attribute"
    soc = _option(model.attributes.text("atc_cmdline"), _SOC_OPTION)
    if soc:
        return soc, "command line"
    flags = {elf_flags(model.source, kernel) for kernel in model.kernels}
    family = _FAMILIES.get(flags.pop() or 0, "") if len(flags) == 1 else ""
    return (family, "kernels") if family else ("", "")


def _model_facts(model: HuaweiModel, *, with_ops: bool) -> HuaweiModelFacts:
    attributes = model.attributes
    interface = model_interface(model)
    launches = model_launches(model)
    soc, soc_source = soc_of(model)
    sizes = {name: attributes.number(key) for key, name in _SIZES.items()}
    workspaces = (sum(launch.op.workspace) for launch in launches)
    return HuaweiModelFacts(
        name=model.graphs[0].name if model.graphs else model.header.name,
        atc_version=attributes.text("atc_version"),
        opp_version=attributes.text("opp_version"),
        framework=attributes.text("framework_type"),
        soc=soc,
        soc_source=soc_source,
        command_line=attributes.text("atc_cmdline"),
        encrypted=model.header.is_encrypted,
        parts=tuple(HuaweiPart(part.name, part.span.size) for part in model.partitions),
        inputs=tuple(map(_port_facts, interface.inputs)),
        outputs=tuple(map(_port_facts, interface.outputs)),
        gears=model.gear_numbers(),
        aipp=tuple(
            HuaweiPictures(each.input, each.op, each.mode, each.settings)
            for each in model_pictures(model)
        ),
        graphs=len(model.graphs),
        constants=sum(op.type == "Const" for graph in model.run_graphs() for op in graph.ops),
        sizes={name: size for name, size in sizes.items() if size},
        workspace=max(workspaces, default=0),
        counts={name: attributes.number(key) for key, name in _COUNTS.items() if key in attributes},
        tasks=dict(Counter(task.kind for task in model.tasks)),
        launches=_launch_counts(launches),
        fusions=_fusions(launches),
        kernels=len(model.kernels),
        kernel_bytes=sum(kernel.span.size for kernel in model.kernels),
        ops=tuple(map(_launch_facts, launches)) if with_ops else None,
    )


def _om2_models(om2: Om2File) -> tuple[HuaweiModelFacts, ...]:
    folders = Counter[str]()
    for member in om2.members:
        folders[member.path.rpartition("/")[0] or member.path] += member.nbytes
    return tuple(
        HuaweiModelFacts(
            name=model.name,
            atc_version="",
            opp_version="",
            framework="",
            soc=_option(om2.command_line, _SOC_OPTION),
            soc_source="command line" if _option(om2.command_line, _SOC_OPTION) else "",
            command_line=om2.command_line,
            encrypted=False,
            parts=tuple(HuaweiPart(name, size) for name, size in folders.items()),
            inputs=tuple(map(_port_facts, model.interface.inputs)),
            outputs=tuple(map(_port_facts, model.interface.outputs)),
            gears=model.interface.gears,
            aipp=(),
            graphs=1,
            constants=0,
            sizes={"memory": model.workspace, "weights": om2.nbytes("data/constants/")},
            workspace=0,
            counts={},
            tasks={},
            launches=(),
            fusions=(),
            kernels=sum("/kernels_" in f"/{each.path}" for each in om2.members),
            kernel_bytes=om2.nbytes("data/kernels_"),
            ops=None,
        )
        for model in om2.models
    )


def _launch_counts(launches: Iterable[GeLaunch]) -> tuple[LaunchCount, ...]:
    """Launches by operator and core, the most frequent first."""
    counts = Counter((launch.op.type, launch.core) for launch in launches)
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return tuple(LaunchCount(operator, core, count) for (operator, core), count in ranked)


def _fusions(launches: Iterable[GeLaunch]) -> tuple[HuaweiFusion, ...]:
    """Launches of several nodes by operators and passes, the most frequent first."""
    counts = Counter(
        (launch.operators, len(launch.nodes), launch.passes)
        for launch in launches
        if launch.is_fused
    )
    ranked = sorted(counts.items(), key=lambda item: (-item[1], item[0]))
    return tuple(
        HuaweiFusion(operators, nodes, count, passes)
        for (operators, nodes, passes), count in ranked
    )


def _launch_facts(launch: GeLaunch) -> HuaweiLaunch:
    op = launch.op
    return HuaweiLaunch(
        name=op.name,
        operator=op.type,
        core=launch.core,
        cores=launch.cores,
        operators=launch.operators,
        nodes=launch.nodes,
        passes=launch.passes,
        inputs=tuple(_tensor(desc) for desc in op.inputs if not desc.is_absent),
        outputs=tuple(map(_tensor, op.outputs)),
        kernel=launch.kernel,
        workspace=sum(op.workspace),
    )


def _tensor(desc: GeTensorDesc) -> HuaweiTensor:
    return HuaweiTensor(desc.dtype, desc.dims, desc.layout)


def _port(name: str, desc: GeTensorDesc) -> GePort:
    dims = desc.dims
    nbytes = 0
    try:
        nbytes = prod(dims) * DType.parse(desc.dtype).itemsize
    except UnknownDTypeError:
        nbytes = 0  # of a type without elements of one size
    return GePort(name, desc.dtype, dims, desc.layout, max(nbytes, 0), dims)


def _port_facts(port: GePort) -> HuaweiPort:
    dims = port.picture_dims or port.dims
    return HuaweiPort(network_output(port.name), port.dtype, dims, port.format, port.nbytes)


def _option(command_line: str, name: str) -> str:
    """The value of an option in a command line; empty where it is not there."""
    try:
        words = shlex.split(command_line)
    except ValueError:
        words = command_line.split()
    for word, following in zip(words, [*words[1:], ""], strict=False):
        key, equals, value = word.partition("=")
        if key == name:
            return value if equals else following
    return ""
