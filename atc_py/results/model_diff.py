"""Differences of two offline models as data: what `diff` shows."""

from collections.abc import Mapping

from atc_py.system.structs import Count, Result, Share


class DiffTensor(Result, frozen=True):
    """A tensor of a launch: its dtype, and the format in which it is stored."""

    dtype: str
    format: str


class DiffLaunch(Result, frozen=True):
    """A launch of one of the models.

    Attributes:
        name: of the launch.
        nodes: of the network that it computes.
        operators: that it consists of.
        inputs: tensors that it reads, constants left out.
        outputs: tensors that it writes.
    """

    name: str
    nodes: tuple[str, ...]
    operators: tuple[str, ...]
    inputs: tuple[DiffTensor, ...]
    outputs: tuple[DiffTensor, ...]


class LaunchDifference(Result, frozen=True):
    """Launches of both models that compute the same nodes of the network.

    Attributes:
        differs: in what: fusion, operators, dtype, format, or "only in one"; empty where in nothing.
        first: launches of the first model.
        second: launches of the second model.
    """

    differs: tuple[str, ...]
    first: tuple[DiffLaunch, ...]
    second: tuple[DiffLaunch, ...]


class ConversionDifference(Result, frozen=True):
    """A conversion that was inserted: a Cast or a TransData, and how often each model has it.

    Attributes:
        operator: Cast or TransData.
        change: dtypes or formats, as `float32 > float16`.
        node: of the network that makes the tensor; the model's input, or empty where neither is
            known.
        first: conversions of the first model.
        second: conversions of the second model.
    """

    operator: str
    change: str
    node: str
    first: Count
    second: Count


class ConstantDifference(Result, frozen=True):
    """Constants that are read for the same nodes of the network.

    Attributes:
        relation: bytes (equal as stored), value (equal in value), rounded (equal where rounded to
            the narrower dtype), different, first, or second (only in that model).
        nodes: of the network that read them.
        first: dtype, format and name in the first model; empty for none.
        second: in the second model.
        error: the largest difference of two elements, where they can be compared.
    """

    relation: str
    nodes: tuple[str, ...]
    first: tuple[str, ...]
    second: tuple[str, ...]
    error: float | None = None


class DiffSide(Result, frozen=True):
    """One of the models.

    Attributes:
        model: path of the file.
        producer: what wrote it.
        soc: that it is for; empty where the file does not say.
        launches: how many there are.
        conversions: how many of them were inserted to convert dtypes and formats.
        fused: how many compute several nodes.
        memory: bytes by what they are for.
    """

    model: str
    producer: str
    soc: str
    launches: Count
    conversions: Count
    fused: Count
    memory: Mapping[str, int]


class ModelDiff(Result, frozen=True):
    """Differences of two offline models.

    Attributes:
        first: the first model.
        second: the second model.
        score: share of the launches of both that have an equal one in the other: of the same nodes,
            in operators, dtypes and formats; 1 where both have none.
        equal: such launches of each model.
        launches: every group of launches that compute the same nodes.
        conversions: every conversion.
        constants: every pair of constants, and those without a counterpart.
    """

    first: DiffSide
    second: DiffSide
    score: Share
    equal: Count
    launches: tuple[LaunchDifference, ...]
    conversions: tuple[ConversionDifference, ...]
    constants: tuple[ConstantDifference, ...]

    @property
    def is_equal(self) -> bool:
        """True where nothing differs but memory."""
        launches = any(group.differs for group in self.launches)
        conversions = any(row.first != row.second for row in self.conversions)
        constants = any(row.relation != "bytes" for row in self.constants)
        return not (launches or conversions or constants)
