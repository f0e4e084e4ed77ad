"""The proof that a memory plan is sound; it shares no code with the planner.

It derives the lifetimes of tensors on its own: it sweeps over the launches in order,
keeps the tensors that are alive sorted by address, and holds each new one against its neighbors.
"""

import heapq
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterator, Sequence
from math import prod

import msgspec

from atc_py.ir.memory_plan import Home, Moment, PlacedNode, Placement, Proof, Spot
from atc_py.text import Text


def prove(placement: Placement) -> Proof:
    """Check a placement against the rules; it is sound if the proof has no faults.

    A tensor is where its source says; a view has the offset of its source, and what is joined in
    place the parts one after another; what is in the arena
    is aligned and inside; no two tensors that are alive at once overlap, but for the operand of an
    in-place node that is not needed afterwards; arena and bound equal the derived ones.
    """
    unit = placement.alignment
    if unit < 1 or unit & (unit - 1):
        text = Text("the alignment must be a power of two, found {n}", n=unit)
        return Proof(((None, text),), Moment(0, -1, ()), {})
    if placement.padding < 0:
        text = Text("the padding must be at least 0, found {n}", n=placement.padding)
        return Proof(((None, text),), Moment(0, -1, ()), {})
    sweep = _Sweep(placement)
    widest = sweep.widest()
    faults = (*sweep.misplaced(), *sweep.overlaps(), *sweep.missized(widest))
    return Proof(faults, widest, sweep.nbytes())


class _Life(msgspec.Struct):
    """A tensor with all its views: its offset, and the first and the last moment it is needed."""

    tensor: int
    spot: Spot
    nbytes: int
    first: int
    last: int
    # number of the launch in which all its makers and readers are; 0 if they share none, None
    # before there is one
    scope: int | None = None
    is_output: bool = False

    @property
    def start(self) -> int:
        return self.spot if isinstance(self.spot, int) else 0

    @property
    def end(self) -> int:
        return self.start + self.nbytes

    def meet(self, scope: int) -> None:
        """Count in a maker or a reader."""
        if self.scope != scope:
            self.scope = scope if self.scope is None else 0


class _Sweep:
    """Lives of tensors, and the sweep over those in the arena."""

    def __init__(self, placement: Placement) -> None:
        self._placement = placement
        self._root = list(range(len(placement.tensors)))
        self._parts = _parts(placement)
        self._wholes = {whole for whole, _ in self._parts.values()}
        self._shift = [0] * len(placement.tensors)
        self._launches: dict[int, list[PlacedNode]] = defaultdict(list)
        self._lives: dict[int, _Life] = {}
        self._early: list[tuple[int | None, Text]] = []
        self._heirs: dict[int, frozenset[int]] = {}
        self._readers: dict[int, list[tuple[PlacedNode, dict[int, list[int]]]]] = {}
        for position, tensor in enumerate(placement.tensors):
            if tensor.source is not None:
                self._begin_life(position, 0)
        for node, moment in zip(placement.nodes, _moments(placement.nodes), strict=True):
            self._launches[moment].append(node)
            self._visit(node, moment)
        self._arena = sorted(
            (
                life
                for position, life in self._lives.items()
                if isinstance(life.spot, int) and placement.tensors[position].source is None
            ),
            key=lambda life: (life.first, life.tensor),
        )
        self._in_arena = {life.tensor for life in self._arena}

    def _begin_life(self, position: int, moment: int) -> None:
        tensor, unit = self._placement.tensors[position], self._placement.alignment
        nbytes = prod(dim or 0 for dim in tensor.dims) * tensor.itemsize
        padding = self._placement.padding
        if padding:
            nbytes = (-(-nbytes // padding) + 1) * padding
        life = _Life(position, tensor.spot, -(-nbytes // unit) * unit, moment, moment)
        life.is_output = tensor.is_output
        self._lives[position] = life

    def _visit(self, node: PlacedNode, moment: int) -> None:
        for position in node.reads:
            life = self._lives[self._root[position]]
            life.last = max(life.last, moment)
            life.meet(node.scope)
            if moment < life.first:
                name = self._placement.tensors[position].name
                text = Text("{node} reads %{v} before it is computed", node=node.name, v=name)
                self._early.append((position, text))
        for position in node.writes:
            if node.is_view and node.reads:
                root = self._root[position] = self._root[node.reads[0]]
                if root != position:
                    self._shift[position] = self._shift[node.reads[0]]
                self._lives[root].is_output |= self._placement.tensors[position].is_output
            else:
                whole, self._shift[position] = self._parts.get(position, (position, 0))
                if whole not in self._lives:
                    self._begin_life(whole, moment)
                self._root[position] = whole
                self._lives[whole].meet(node.scope)

    def misplaced(self) -> Iterator[tuple[int | None, Text]]:
        yield from self._early
        for position, tensor in enumerate(self._placement.tensors):
            root = self._root[position]
            life = self._lives[root]
            wanted = life.spot + self._shift[position] if isinstance(life.spot, int) else life.spot
            if root != position and tensor.spot != wanted:
                shown = self._placement.tensors[root].name
                text = Text("%{v} shows %{shown}, which is {at}; found it {spot}")
                places = {"at": _spot_text(wanted), "spot": _spot_text(tensor.spot)}
                yield position, text.with_values(v=tensor.name, shown=shown, **places)
            elif root == position and not self._may_lie(life):
                home = self._home(life)
                unit = self._placement.alignment
                in_arena = Text("in the arena at a multiple of {n}", n=unit)
                places = {"at": in_arena if home is None else _spot_text(home)}
                text = Text("%{v} must be {at}, found it {spot}")
                places["spot"] = _spot_text(tensor.spot)
                yield position, text.with_values(v=tensor.name, **places)

    def _home(self, life: _Life) -> Home | None:
        """The required home of a tensor; None for the arena."""
        tensor = self._placement.tensors[life.tensor]
        if tensor.source is not None:
            return tensor.source
        if None in tensor.dims:
            return Home.RUN
        return Home.OUTPUT if life.is_output else None

    def _may_lie(self, life: _Life) -> bool:
        """True if a tensor has its required home and, in the arena, a valid offset."""
        home = self._home(life)
        if home is not None:
            return life.spot is home
        if isinstance(life.spot, int):
            return life.spot >= 0 and life.spot % self._placement.alignment == 0
        return life.spot is Home.CHIP and bool(life.scope)

    def overlaps(self) -> Iterator[tuple[int | None, Text]]:
        """Yield tensors that are alive at once and share bytes."""
        active: list[tuple[int, int]] = []  # (offset, tensor) of live tensors, by address
        deaths: list[tuple[int, int]] = []
        for life in self._arena:
            while deaths and deaths[0][0] < life.first:
                _drop(active, self._lives[heapq.heappop(deaths)[1]])
            if not life.nbytes:
                continue
            at = bisect_left(active, (life.end, -1))
            while at and self._lives[active[at - 1][1]].end > life.start:
                at -= 1
                other = self._lives[active.pop(at)[1]]
                if other.spot != life.spot or not self._may_reuse(other, life):
                    yield life.tensor, self._clash(other, life)
            active.insert(at, (life.start, life.tensor))
            heapq.heappush(deaths, (life.last, life.tensor))

    def _clash(self, other: _Life, life: _Life) -> Text:
        first, second = (self._placement.tensors[each.tensor].name for each in (other, life))
        node = self._placement.nodes[life.first].name
        text = Text("%{v} at {at} overlaps %{other} at {its}, which is still needed at {node}")
        at, its = (f"[{each.start}, {each.end})" for each in (life, other))
        return text.with_values(v=second, at=at, other=first, its=its, node=node)

    def _may_reuse(self, old: _Life, new: _Life) -> bool:
        """True if the launch making `new` may write it over `old`, its last read."""
        if not old.first < old.last == new.first or old.nbytes != new.nbytes:
            return False
        if not self._wholes.isdisjoint({old.tensor, new.tensor}):
            return False
        return new.tensor in self._heirs_of(old)

    def _heirs_of(self, old: _Life) -> frozenset[int]:
        """`_written_over` from a cache."""
        if old.tensor not in self._heirs:
            self._heirs[old.tensor] = self._written_over(old)
        return self._heirs[old.tensor]

    def _written_over(self, old: _Life) -> frozenset[int]:
        """The results that the last launch reading `old` may write over it."""
        follows = {old.tensor}
        for node, reads in self._reading(old.last):
            touched = [tensor for root in follows & reads.keys() for tensor in reads[root]]
            if not touched:
                continue
            if not node.in_place or len(node.writes) != 1:
                return frozenset()
            if any(not self._is_stored_alike(tensor, node.writes[0]) for tensor in touched):
                return frozenset()
            follows.add(node.writes[0])
        return frozenset(follows)

    def _reading(self, moment: int) -> list[tuple[PlacedNode, dict[int, list[int]]]]:
        if moment not in self._readers:
            found: list[tuple[PlacedNode, dict[int, list[int]]]] = []
            for node in self._launches[moment]:
                reads: dict[int, list[int]] = defaultdict(list)
                for tensor in () if node.is_view else node.reads:
                    reads[self._root[tensor]].append(tensor)
                found.append((node, dict(reads)))
            self._readers[moment] = found
        return self._readers[moment]

    def _is_stored_alike(self, first: int, second: int) -> bool:
        one, other = self._placement.tensors[first], self._placement.tensors[second]
        facts = ((each.dims, each.storage, each.itemsize) for each in (one, other))
        return len(set(facts)) == 1

    def missized(self, widest: Moment) -> Iterator[tuple[int | None, Text]]:
        """Yield sizes of the plan that differ from the derived ones."""
        top = max((life.end for life in self._arena), default=0)
        if self._placement.arena != top:
            text = Text("the arena must have {n} bytes, found {found}")
            yield None, text.with_values(n=top, found=self._placement.arena)
        if self._placement.bound != widest.nbytes:
            found = self._placement.bound
            text = Text("the peak needs {n} bytes, found {found}")
            yield None, text.with_values(n=widest.nbytes, found=found)

    def widest(self) -> Moment:
        """The moment when the most bytes are needed, the first of several.

        An operand that a result may be written over is not counted beside the result, whether the
        plan makes use of that or not.
        """
        taken = self._taken_over()
        lasts = {life.tensor: life.last - (life.tensor in taken) for life in self._arena}
        deaths: list[tuple[int, int]] = []
        alive = most = 0
        at = -1
        for life in self._arena:
            while deaths and deaths[0][0] < life.first:
                alive -= self._lives[heapq.heappop(deaths)[1]].nbytes
            alive += life.nbytes
            heapq.heappush(deaths, (lasts[life.tensor], life.tensor))
            if alive > most:
                most, at = alive, life.first
        needed = [
            life for life in self._arena if life.nbytes and life.first <= at <= lasts[life.tensor]
        ]
        ranked = sorted(needed, key=lambda life: (-life.nbytes, life.tensor))
        return Moment(most, at, tuple(life.tensor for life in ranked))

    def _taken_over(self) -> set[int]:
        """Operands over which a result may be written, each for one result."""
        taken: set[int] = set()
        olds: dict[int, list[int]] = {}
        moment = -1
        for new in self._arena:
            if new.first != moment:
                moment = new.first
                olds = self._candidates(moment)
            for old in olds.get(new.tensor, ()):
                if old not in taken and self._may_reuse(self._lives[old], new):
                    taken.add(old)
                    break
        return taken

    def _candidates(self, moment: int) -> dict[int, list[int]]:
        found: dict[int, list[int]] = defaultdict(list)
        reads = (tensor for node in self._launches[moment] for tensor in node.reads)
        for old in dict.fromkeys(self._root[tensor] for tensor in reads):
            life = self._lives[old]
            if old in self._in_arena and life.first < life.last == moment:
                for heir in self._heirs_of(life):
                    found[heir].append(old)
        return found

    def nbytes(self) -> dict[int, int]:
        return {life.tensor: life.nbytes for life in self._arena}


def _parts(placement: Placement) -> dict[int, tuple[int, int]]:
    """For each tensor that is computed inside another one: that one, and the bytes before it.

    Of several images that is where the first one begins.
    """
    parts: dict[int, tuple[int, int]] = {}
    for node in placement.nodes:
        start = 0
        for position in node.reads if node.is_join else ():
            tensor = placement.tensors[position]
            parts[position] = node.writes[0], start
            start += prod(dim or 0 for dim in tensor.dims[1:]) * tensor.itemsize
    return parts


def _drop(active: list[tuple[int, int]], life: _Life) -> None:
    """Free a tensor that is not needed any more, unless another one reuses its bytes."""
    entry = (life.start, life.tensor)
    at = bisect_left(active, entry)
    if active[at : at + 1] == [entry]:
        del active[at]


def _moments(nodes: Sequence[PlacedNode]) -> list[int]:
    """The moment at which each node runs: a launch runs when its last node stands there."""
    last: dict[int, int] = {}
    for position, node in enumerate(nodes):
        if node.scope:
            last[node.scope] = position
    return [last.get(node.scope, position) for position, node in enumerate(nodes)]


def _spot_text(spot: Spot) -> Text:
    if isinstance(spot, Home):
        return _PLACES[spot]
    return Text("in the arena at {spot}", spot=spot)


_PLACES = {
    Home.WEIGHTS: Text("among the weights"),
    Home.INPUT: Text("in the buffer of an input"),
    Home.OUTPUT: Text("in the buffer of an output"),
    Home.CHIP: Text("in the buffers of a core"),
    Home.RUN: Text("in memory allocated during the run"),
}
