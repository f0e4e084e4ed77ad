"""The changes of a fixed model as text, like a unified diff: a hunk for each rewritten node."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence

from atc_py.report.tables import clipped, node_list, visible
from atc_py.results.fixing import ChangeKind, DiffNode, DiffValue, Fixing, NodeChange
from atc_py.text import Text, plural
from atc_py.text.language import spoken

_ALIKE = 3
"""Changes of one pattern from which on only the first is shown."""

_MOST_NEW, _MOST_CHOSEN = 16, 4
"""New nodes of a rewritten node, and of a branch that is chosen, that are shown; of more, half."""

_MOST, _NAME = 400, 48
"""Characters of a line and of a name in it."""

_PLAIN = "float32"


def diff_lines(done: Fixing, *, verbose: bool = False) -> Iterator[str]:
    """Yield the changes; of several with one pattern the first, unless `verbose`."""
    if not done.changes:
        return
    yield f"--- {visible(str(done.model))} (opset {done.opset[0]})"
    yield f"+++ {'fixed' if done.output is None else visible(str(done.output))} (opset {done.opset[1]})"
    dropped = [change for change in done.changes if change.kind is ChangeKind.DROPPED]
    rest = [change for change in done.changes if change.kind is not ChangeKind.DROPPED]
    rest.sort(key=lambda change: change.kind in {ChangeKind.MOVED, ChangeKind.RESTATED})
    counts = Counter(change.likeness for change in rest)
    seen: set[tuple[object, ...]] = set()
    for change in rest:
        folded = not verbose and counts[change.likeness] >= _ALIKE
        if folded and change.likeness in seen:
            continue
        seen.add(change.likeness)
        yield f"@@ {change_title(change)} @@"
        yield from hunk_lines(change, verbose=verbose)
        if folded:
            alike = [other for other in rest if other.likeness == change.likeness][1:]
            names = clipped(node_list([_place(other) for other in alike]))
            text = Text("  ... {count} more like this: {names}; --verbose shows all")
            yield spoken(text.with_values(count=len(alike), names=names))
    if dropped:
        yield from _dropped_lines(dropped, verbose=verbose)
    yield ""


def hunk_lines(change: NodeChange, *, verbose: bool = False) -> Iterator[str]:
    """Yield the lines of one change; of a long row of new nodes the first, unless `verbose`."""
    if change.producer is not None:
        yield f"  {_around_text(change.producer)}"
    yield f"- {_node_text(change.before)}"
    most = _MOST_NEW if change.kind is ChangeKind.RULES else _MOST_CHOSEN
    cut = not verbose and len(change.after) > most
    for node in change.after[: most // 2] if cut else change.after:
        yield f"+ {_node_text(node)}"
    if cut:
        rest = change.after[most // 2 :]
        words = spoken(Text("{count} more nodes", count=len(rest)))
        counts = _counts_text(node.operator for node in rest)
        yield "+ " + clipped(f"... {words}: {counts}; --verbose shows all", _MOST)
    if change.reader is not None:
        yield f"  {_around_text(change.reader)}"


def _counts_text(operators: Iterable[str]) -> str:
    return ", ".join(f"{count} {name}" for name, count in Counter(operators).most_common())


def change_title(change: NodeChange) -> str:
    """`node 3 "conv1": window-1d, conv-stride-fold`."""
    why = [*change.rules]
    if change.kind is not ChangeKind.RULES:
        why.insert(0, spoken(change.kind.words))
    return clipped(f"{_place(change)}: {', '.join(why)}")


def _place(change: NodeChange) -> str:
    name = f' "{change.before.name}"' if change.before.name else ""
    return spoken(Text("node {at}", at=change.node)) + name


def _dropped_lines(dropped: Sequence[NodeChange], *, verbose: bool) -> Iterator[str]:
    count = len(dropped)
    words = spoken(plural(count, "{n} node", "{n} nodes"))
    yield f"@@ {words}: {spoken(ChangeKind.DROPPED.words)} @@"
    if verbose or count <= _ALIKE:
        for change in dropped:
            yield f"- {_node_text(change.before)}"
        return
    yield "- " + clipped(_counts_text(change.before.operator for change in dropped), _MOST)


def _node_text(node: DiffNode) -> str:
    """`Conv conv1 (x[1,16,400], w[16,16,3]) -> c[1,16,398] {strides=[2]}`."""
    inputs = ", ".join("-" if value is None else _value_text(value) for value in node.inputs)
    outputs = ", ".join(map(_value_text, node.outputs))
    attributes = ", ".join(f"{name}={text}" for name, text in node.attributes.items())
    tail = f" {{{attributes}}}" if attributes else ""
    return clipped(f"{_head(node)} ({inputs}) -> {outputs}{tail}", _MOST)


def _around_text(node: DiffNode) -> str:
    """`Relu relu -> y[1,16,398]`."""
    outputs = ", ".join(map(_value_text, node.outputs))
    return clipped(f"{_head(node)} -> {outputs}", _MOST)


def _head(node: DiffNode) -> str:
    return f"{node.operator} {_short(node.name)}" if node.name else node.operator


def _short(name: str) -> str:
    return name if len(name) <= _NAME else f"...{name[3 - _NAME :]}"


def _value_text(value: DiffValue) -> str:
    """`x[1,16,400]`, with the dtype where that is not float32; of a small constant its data."""
    if value.data:
        return f"{_short(value.name)}={value.data}"
    dtype = f" {value.dtype}" if value.dtype not in {"", _PLAIN} else ""
    if value.dims is None:
        return f"{_short(value.name)}{dtype}"
    return f"{_short(value.name)}{dtype}[{','.join('?' if dim is None else str(dim) for dim in value.dims)}]"
