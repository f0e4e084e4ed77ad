"""The cost of a whole model: its kernels one after another, and memory over time."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from atc_py.cost.estimate import Estimate, Fit, estimate, range_of, times_of
from atc_py.cost.factors import PIPES, evidence_of, expected_case
from atc_py.cost.reading import PlacedLaunch, launches_of, roots_of
from atc_py.ir import size_in_arena
from atc_py.package.describe import weights_nbytes
from atc_py.package.schema import OmModel, OmNode
from atc_py.package.stored_types import storage_of, stored_dims
from atc_py.system.structs import Result, replace
from atc_py.target import Soc, find_soc
from atc_py.tensor.dtypes import DType, Format
from atc_py.tensor.shapes import element_count
from atc_py.text import Text


class TimeRange(Result, frozen=True):
    """A range of time in seconds."""

    low: float
    expected: float
    high: float


class KernelCost(Result, frozen=True):
    """A kernel of a model.

    Attributes:
        name: of its first node.
        op: target operators, joined by `+`.
        engine: aicore or aicpu.
        dtype: of its first result.
        shapes: of what it reads and of what it writes, as text.
        formats: how each of them is stored, in the same order; ND for row by row.
        origins: names of the source nodes that it computes.
        positions: their positions in the file's graph.
        start: expected seconds from the start of the run.
        cost: the estimate.
        after: positions of the kernels whose results it reads.
        has_open: whether a dim is known to the run alone.
    """

    name: str
    op: str
    engine: str
    dtype: str
    shapes: str
    formats: str
    origins: tuple[str, ...]
    positions: tuple[int, ...]
    start: float
    cost: Estimate
    after: tuple[int, ...]
    has_open: bool

    @property
    def has_blocks(self) -> bool:
        """True if something that it reads or writes is not stored row by row."""
        return any(
            word not in {Format.ND.value, "->"} for word in self.formats.replace(";", " ").split()
        )


class Footprint(Result, frozen=True):
    """Bytes of device memory.

    Attributes:
        weights: of the constants.
        ports: of the buffers of inputs and outputs.
        results: by kernel, of the results that are needed while it runs.
        arena: of the plan for results, or where there is none the most of `results`.
        workspace: of the hungriest kernel.
        planned: whether there is a plan.
    """

    weights: int
    ports: int
    results: tuple[int, ...]
    arena: int
    workspace: int
    planned: bool

    @property
    def total(self) -> int:
        """All that must be there at once."""
        return self.weights + self.ports + self.arena + self.workspace


class NetworkCost(Result, frozen=True):
    """Cost of a model on the SoC that it was compiled for.

    Attributes:
        model: its name.
        soc: the row of the SoC.
        kernels: in the order of execution.
        footprint: device memory.
        fit: refitted factors, or None where the built-in ones were taken.
        nodes: of the graph before nodes were launched together, views left out.
    """

    model: str
    soc: Soc
    kernels: tuple[KernelCost, ...]
    footprint: Footprint
    fit: Fit | None
    nodes: int

    @property
    def time(self) -> TimeRange:
        """Time of a run: the sums of the kernels' ends, and what a run takes beside them."""
        costs = [kernel.cost for kernel in self.kernels]
        return _time(((c.low, c.expected, c.high) for c in costs), self.soc, self.fit)

    @property
    def run(self) -> float:
        """Seconds that a run is expected to take beside its kernels."""
        fitted = None if self.fit is None else self.fit.factors
        return expected_case(self.soc, fitted).factors.run

    @property
    def in_kernels(self) -> float:
        """Seconds that the kernels are expected to take, one after another."""
        return sum(kernel.cost.expected for kernel in self.kernels)

    @property
    def bound(self) -> float:
        """Seconds that no run can be quicker than: the kernels at the peak rates of the SoC."""
        return sum(kernel.cost.limit for kernel in self.kernels)

    @property
    def evidence(self) -> Text:
        """The evidence of its times, in words."""
        return evidence_text(self.soc, self.fit)

    @property
    def busy(self) -> dict[str, float]:
        """By pipe, the share of the expected time in which it works on the busiest core."""
        whole = self.in_kernels
        sums = {
            name: sum(getattr(kernel.cost.pipes, name) for kernel in self.kernels) for name in PIPES
        }
        return {name: seconds / whole if whole else 0.0 for name, seconds in sums.items()}

    @property
    def fits(self) -> bool | None:
        """True if device memory holds it; None where its size is not published."""
        size = self.soc.memory
        return None if size is None else self.footprint.total <= size

    @property
    def has_open(self) -> bool:
        """True if dims are unknown, so that the true time is longer."""
        return any(kernel.has_open for kernel in self.kernels)

    def by_operator(self) -> dict[str, list[KernelCost]]:
        """Kernels by their operators, those that take longest together first."""
        found: dict[str, list[KernelCost]] = defaultdict(list)
        for kernel in self.kernels:
            found[kernel.op].append(kernel)

        def seconds(op: str) -> tuple[float, str]:
            return -sum(kernel.cost.expected for kernel in found[op]), op

        return {op: found[op] for op in sorted(found, key=seconds)}

    def assumptions(self) -> list[str]:
        """The assumptions of the estimate, in sentences."""
        lines = [
            (
                "kernels run one after another; the ends of ranges are added as if all errors had "
                "the same sign"
            ),
            Text("time: {evidence}", evidence=self.evidence),
            Text(
                "no run can be faster than {bound}: peak rates of the SoC, with data in L2 "
                "where they fit",
                bound=f"{self.bound * 1e6:,.2f} µs",
            ),
        ]
        if self.soc.assumed_rate:
            lines.append(
                Text(
                    "the rate of device memory, {rate} GB/s, is an assumption: it is not published",
                    rate=f"{self.soc.memory_rate / 1e9:.1f}",
                )
            )
        if self.has_open:
            lines.append("dims that are known only at run time count as 1: the true time is longer")
        if any(kernel.engine == "aicpu" for kernel in self.kernels):
            lines.append("rates of the AI CPU are not published; they are guesses")
        return lines


def network_cost(
    model: OmModel, fit: Fit | None = None, cores: Mapping[str, int] | None = None
) -> NetworkCost:
    """Estimate every kernel of a model for its own SoC, perhaps with refitted factors.

    `cores` are those that launches run on at most, by the name of a node, where that is known.
    """
    soc = find_soc(model.soc)
    placed = launches_of(model)
    makers = {tensor: at for at, launch in enumerate(placed) for tensor in launch.writes}
    kernels, start = [], 0.0
    for launch, cost in zip(placed, _on_cores(model, placed, fit, cores or {}), strict=True):
        kernels.append(_kernel(model, launch, cost, start, makers))
        start += cost.expected
    count = sum(len(launch.launch.operations) for launch in placed)
    return NetworkCost(model.name, soc, tuple(kernels), _footprint(model, placed), fit, count)


def evidence_text(soc: Soc, fit: Fit | None = None) -> Text:
    """Evidence of times on a SoC, in words: figures of boards, or the user's own measurements."""
    if fit is not None:
        return Text(
            "factors refitted to measurements; the range is their error, {error} (root mean "
            "square), twice to either side",
            error=f"{fit.spread:.0%}",
        )
    found = evidence_of(soc)
    if not found.soc:
        return Text("nothing was measured on a SoC of this family: the range is a guess")
    if found.kernels:
        text = Text("{count} kernels measured on {soc}: 9 of 10 within {near}x")
    else:
        text = Text("{count} networks measured on {soc}: 9 of 10 within {near}x")
    return text.with_values(count=found.networks, soc=found.soc, near=f"{found.near:g}")


def network_time(model: OmModel) -> TimeRange:
    """Estimate the time of a run on the model's own SoC, and nothing else of it."""
    soc, placed = find_soc(model.soc), launches_of(model)
    known = {id(launch.launch): launch.launch for launch in placed}
    times = {key: times_of(launch, soc) for key, launch in known.items()}
    return _time((times[id(launch.launch)] for launch in placed), soc, None)


def _on_cores(
    model: OmModel, placed: Sequence[PlacedLaunch], fit: Fit | None, cores: Mapping[str, int]
) -> list[Estimate]:
    """The estimate of each launch, on as many cores as are known."""
    soc = find_soc(model.soc)
    estimates = _estimates(placed, soc, fit)
    for at, launch in enumerate(placed):
        names = (model.nodes[position].name for position in launch.nodes)
        count = next((cores[name] for name in names if name in cores), 0)
        if 0 < count < max(soc.aicores, soc.vector_cores):
            fewer = replace(
                soc, aicores=min(count, soc.aicores), vector_cores=min(count, soc.vector_cores)
            )
            estimates[at] = estimate(launch.launch, fewer, fit)
    return estimates


def _estimates(placed: Sequence[PlacedLaunch], soc: Soc, fit: Fit | None) -> list[Estimate]:
    """The estimate of each launch; what equal launches do is one object."""
    known = {id(launch.launch): launch.launch for launch in placed}
    costs = {key: estimate(launch, soc, fit) for key, launch in known.items()}
    return [costs[id(launch.launch)] for launch in placed]


def _time(times: Iterable[tuple[float, float, float]], soc: Soc, fit: Fit | None) -> TimeRange:
    """The sums of times, low, expected and high, and what a run takes beside them."""
    run = expected_case(soc, None if fit is None else fit.factors).factors.run
    low, high = range_of(soc, fit)
    sums = [sum(side) for side in zip(*times, strict=True)] or [0.0] * 3
    return TimeRange(sums[0] + run * low, sums[1] + run, sums[2] + run * high)


def _kernel(
    model: OmModel, placed: PlacedLaunch, cost: Estimate, start: float, makers: dict[int, int]
) -> KernelCost:
    nodes = [model.nodes[position] for position in placed.nodes]
    head, last = placed.launch.operations[0], placed.launch.operations[-1]
    names = [operation.row.name for operation in placed.launch.operations]
    shapes = [tensor.shape for tensor in head.inputs if tensor is not None]
    into = ";".join(",".join(map(str, shape)) for shape in shapes)
    out = ";".join(",".join(map(str, tensor.shape)) for tensor in last.outputs)
    after = dict.fromkeys(makers[tensor] for tensor in placed.reads if tensor in makers)
    return KernelCost(
        name=nodes[0].name,
        op="+".join(names),
        engine=placed.launch.engine.value,
        dtype=last.outputs[0].dtype.value if last.outputs else "",
        shapes=f"{into} -> {out}",
        formats=_formats(model, nodes[0], nodes[-1]),
        origins=tuple(dict.fromkeys(origin.name for node in nodes for origin in node.origins)),
        positions=tuple(dict.fromkeys(origin.index for node in nodes for origin in node.origins)),
        start=start,
        cost=cost,
        after=tuple(after),
        has_open=placed.has_open,
    )


def _formats(model: OmModel, head: OmNode, last: OmNode) -> str:
    """The storage of the head's inputs and the last node's outputs."""
    sides = (head.inputs, last.outputs)
    texts = (
        ";".join(
            str(storage_of(model.tensors[position]) or Format.ND.value)
            for position in side
            if position >= 0
        )
        for side in sides
    )
    return " -> ".join(texts)


def _nbytes(model: OmModel, tensor: int) -> int:
    """Bytes of a tensor in memory; what has open dims counts nothing."""
    found = model.tensors[tensor]
    bits = element_count(dim or 0 for dim in stored_dims(found)) * DType(found.dtype).bits
    return -(-bits // 8)


def _footprint(model: OmModel, placed: Sequence[PlacedLaunch]) -> Footprint:
    """Memory from the plan where there is one, else from live ranges."""
    plan = model.memory
    ports = sum(_nbytes(model, port.tensor) for port in (*model.inputs, *model.outputs))
    results = _live_bytes(model, placed)
    return Footprint(
        weights=weights_nbytes(model),
        ports=ports,
        results=tuple(results),
        arena=max(results, default=0) if plan is None else plan.arena,
        workspace=0 if plan is None else plan.workspace,
        planned=plan is not None,
    )


def _live_bytes(model: OmModel, placed: Sequence[PlacedLaunch]) -> list[int]:
    """For each launch the bytes of results in the arena that are needed while it runs.

    A result that was written over an operand takes that one's place.
    """
    roots = roots_of(model)
    outputs = {roots[port.tensor] for port in model.outputs}
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for at, launch in enumerate(placed):
        for tensor in launch.writes:
            first[tensor] = last[tensor] = at
        for tensor in launch.reads:
            last[tensor] = at
    begin, end = defaultdict(list), defaultdict(list)
    for tensor in first.keys() - outputs:
        begin[first[tensor]].append(tensor)
        end[last[tensor]].append(tensor)
    return _swept(model, len(placed), begin, end)


def _swept(
    model: OmModel, count: int, begin: dict[int, list[int]], end: dict[int, list[int]]
) -> list[int]:
    """Bytes that are taken at each launch: a place in the arena counts once."""
    places = None if model.memory is None else model.memory.places
    plan = model.memory
    unit, padding = (1, 0) if plan is None else (plan.alignment, plan.padding)
    holders: dict[int | str, list[int]] = defaultdict(list)
    found, total = [], 0
    for at in range(count):
        for opening in (True, False):
            for tensor in (begin if opening else end).get(at, ()):
                place = Text("tensor {tensor}", tensor=tensor) if places is None else places[tensor]
                if places is not None and isinstance(place, str):
                    continue
                held = holders[place]
                before = max(held, default=0)
                nbytes = size_in_arena(_nbytes(model, tensor), unit, padding)
                (held.append if opening else held.remove)(nbytes)
                total += max(held, default=0) - before
            if opening:
                found.append(total)
    return found
