"""Content of a file of Huawei's atc as data: what `info` shows of one."""

from collections.abc import Mapping

from atc_py.package.ge.pictures import AippValue
from atc_py.system.structs import Result


class HuaweiTensor(Result, frozen=True):
    """A tensor: its dtype, its dims as stored, its format."""

    dtype: str
    dims: tuple[int, ...]
    format: str


class HuaweiPort(Result, frozen=True):
    """Input or output of a model.

    Attributes:
        name: of an output that of the network's output, where the file says it.
        dtype: float32, ...
        dims: what a program passes, -1 for a dim that a run decides.
        format: NCHW, ND, ...
        bytes: size of the data.
    """

    name: str
    dtype: str
    dims: tuple[int, ...]
    format: str
    bytes: int


class HuaweiPictures(Result, frozen=True):
    """AIPP of an input.

    Attributes:
        input: its name; empty where the file does not say.
        op: the op that has the settings.
        mode: static_aipp or dynamic_aipp.
        settings: fields of the configuration that are not their defaults.
    """

    input: str
    op: str
    mode: str
    settings: Mapping[str, AippValue]


class HuaweiPart(Result, frozen=True):
    """A partition of a model, or a folder of an om2 archive, with its bytes."""

    name: str
    bytes: int


class HuaweiLaunch(Result, frozen=True):
    """A launch.

    Attributes:
        name: of the op.
        operator: CANN's.
        core: AIC, AIV, or empty where the file does not say.
        cores: that it runs on.
        operators: that it consists of, as far as the file says.
        nodes: of the network that it computes.
        passes: that made it.
        inputs: tensors that it reads, absent ones left out.
        outputs: tensors that it writes.
        kernel: the binary that it runs.
        workspace: bytes that it needs beside them.
    """

    name: str
    operator: str
    core: str
    cores: int
    operators: tuple[str, ...]
    nodes: tuple[str, ...]
    passes: tuple[str, ...]
    inputs: tuple[HuaweiTensor, ...]
    outputs: tuple[HuaweiTensor, ...]
    kernel: str
    workspace: int


class HuaweiFusion(Result, frozen=True):
    """Launches that compute several nodes of the network alike.

    Attributes:
        operators: that they consist of, as far as the file says.
        nodes: of the network in each.
        launches: how many there are.
        passes: that made them.
    """

    operators: tuple[str, ...]
    nodes: int
    launches: int
    passes: tuple[str, ...]


class LaunchCount(Result, frozen=True):
    """Launches of one operator on one core.

    Attributes:
        operator: CANN's.
        core: AIC, AIV, or empty where the file does not say.
        launches: how many there are.
    """

    operator: str
    core: str
    launches: int


class HuaweiModelFacts(Result, frozen=True):
    """A model of the file.

    Attributes:
        name: of its graph.
        atc_version: of the atc that wrote it; empty where it does not say.
        opp_version: of the operators.
        framework: that the network came from, Onnx for instance.
        soc: that it is for; empty where nothing in the file says it.
        soc_source: attribute, command line, or kernels.
        command_line: of atc, as recorded.
        encrypted: whether the partitions are, so that nothing more is known.
        parts: the partitions in order.
        inputs: in order.
        outputs: in order.
        gears: numbers of each gear, by what they choose.
        aipp: of the inputs.
        graphs: graphs, those that ops run included.
        constants: how many there are.
        sizes: bytes of memory by what they are for.
        workspace: most bytes that a launch needs beside its operands.
        counts: streams, events and so on.
        tasks: by kind.
        launches: by operator and core.
        fusions: launches that compute several nodes of the network.
        kernels: binaries in the file.
        kernel_bytes: of them.
        ops: the launches in order; null unless asked for.
    """

    name: str
    atc_version: str
    opp_version: str
    framework: str
    soc: str
    soc_source: str
    command_line: str
    encrypted: bool
    parts: tuple[HuaweiPart, ...]
    inputs: tuple[HuaweiPort, ...]
    outputs: tuple[HuaweiPort, ...]
    gears: Mapping[str, tuple[tuple[int, ...], ...]]
    aipp: tuple[HuaweiPictures, ...]
    graphs: int
    constants: int
    sizes: Mapping[str, int]
    workspace: int
    counts: Mapping[str, int]
    tasks: Mapping[str, int]
    launches: tuple[LaunchCount, ...]
    fusions: tuple[HuaweiFusion, ...]
    kernels: int
    kernel_bytes: int
    ops: tuple[HuaweiLaunch, ...] | None


class HuaweiFacts(Result, frozen=True):
    """Content of a file of Huawei's atc.

    Attributes:
        model: path of the file.
        kind: model, flow model, bundle, om2 archive, ...
        file_bytes: size of the file.
        container_version: of the container; 0 of an om2 archive.
        unknown_shapes: whether runs decide shapes.
        models: of the file, those of files inside of it included.
    """

    model: str
    kind: str
    file_bytes: int
    container_version: int
    unknown_shapes: bool
    models: tuple[HuaweiModelFacts, ...]

    @property
    def launch_count(self) -> int:
        """The launches of all models."""
        return sum(row.launches for model in self.models for row in model.launches)
