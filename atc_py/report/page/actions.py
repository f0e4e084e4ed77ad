"""The first things to do about a model: at most five, in order, with commands to copy."""

import shlex
from collections.abc import Iterator, Sequence
from typing import Any

from atc_py.options.command_options import COMPARED, NOT_REPORTED
from atc_py.options.compile_options import CompileOptions
from atc_py.options.option import options_in
from atc_py.report.page.verdict import FailingOutput, failing_outputs, left_out
from atc_py.report.page.wins import Win
from atc_py.report.page.words import in_both, name_text
from atc_py.report.tables import visible
from atc_py.results.layer import Layer
from atc_py.results.layer_comparison import LayerComparison
from atc_py.results.summary import ModelSummary
from atc_py.text import COLON, SEMICOLON, Text, Words

_MOST = 5
_GROUPS = 3
_NAMED = 3
COMPARING = frozenset({
    "--input", "--data", "--random", "--samples", "--seed", "--device", "--reference", "--aipp-settings",
    "--jobs", "--suggest-samples", "--suggest-trials", "--submodel",
})  # fmt: skip
"""Options that a conversion does not take, and a comparison does."""

CONVERTING = frozenset(
    option.spellings[0]
    for _, option in options_in(CompileOptions)
    if option.flags and option.keyword not in COMPARED | NOT_REPORTED
)
"""Options that a conversion takes, and a comparison does not."""

REPORTING = frozenset(
    {"--fail-under", "--factors", "--calibrate", "--like", "--gear", "--batch", "--image"}
)
"""Options that neither takes, or whose values are given anew."""

_GEARS = frozenset({"--batch-sizes", "--image-sizes", "--dims", "--input-shape"})
"""Options that list gears."""

_WORTH = 0.05
"""Least share of the time for which a win is something to do."""


def actions_json(
    done: ModelSummary, check: dict[str, Any] | None, wins: Sequence[Win], *, is_sound: bool
) -> list[dict[str, object]]:
    found = [
        *_refused(done, check),
        *_on_a_board(done),
        *_imprecise(done),
        *_slow(done, wins),
        *_accurate(check),
    ]
    if is_sound and done.check is not None:
        text = Text("Convert it to an offline model.")
        found.append(_action(text, _command(done, "convert")))
    return found[:_MOST]


def _on_a_board(done: ModelSummary) -> Iterator[dict[str, object]]:
    graph = done.file_graph
    nodes = {} if graph is None else {node.name: node.index for node in graph.nodes}
    for found in () if done.board is None else done.board.findings[:_GROUPS]:
        text = found.message + COLON + (found.help or Text(found.code.remedy))
        yield _action(text, node=_in_file(nodes.get((found.place and found.place.node_name) or "")))


def _action(text: Text, command: str = "", node: str = "") -> dict[str, object]:
    return {"text": in_both(text), "command": command, "node": name_text(node)}


def _in_file(position: int | None) -> str:
    return "" if position is None else f"s{position}"


def _command(done: ModelSummary, command: str, *words: str) -> str:
    left_out = REPORTING | {"convert": COMPARING, "compare": CONVERTING}.get(command, frozenset())
    shape = _shape(done, command)
    if shape:
        left_out |= _GEARS
    given = [
        word
        for name, values in done.options.items()
        if name not in left_out
        for word in _words(name, values if name != "--soc" else values[:1])
    ]
    parts = ["atc-py", command, str(done.model), *given, *shape, *words]
    return " ".join(shlex.quote(visible(part)) for part in parts)


def _shape(done: ModelSummary, command: str) -> tuple[str, ...]:
    """Dims of the gear, where a command is about one; those of the data, where it takes no data."""
    converts = command == "convert"
    return ("--input-shape", done.shape) if done.shape and converts is not bool(done.gear) else ()


def _words(name: str, values: Sequence[str]) -> Iterator[str]:
    if not values:
        yield name
    for value in values:
        yield from (name, value)


def _refused(done: ModelSummary, check: dict[str, Any] | None) -> Iterator[dict[str, object]]:
    if check is not None:
        if check["fix"]:
            text = Text("Rewrite what the list refuses: removes {count} errors.")
            yield _action(text.with_values(count=check["removed"]), check["fix"])
        if check["shape_option"] and check["verdict"] in {"unknown", "error"}:
            command = f"{_command(done, 'report')} {check['shape_option']}"
            yield _action(Text("Fix the open dims of its inputs."), command)
        yield from _errors(check["findings"])
    for found in done.refusals:
        text = Text(found.message) + COLON + Text(found.help or found.code.remedy)
        yield _action(text, node=_in_file(None if found.place is None else found.place.node))


def _errors(findings: Sequence[dict[str, Any]]) -> Iterator[dict[str, object]]:
    groups: dict[tuple[str, str], list[dict[str, Any]]] = {}
    for found in findings:
        if found["level"] == "error":
            groups.setdefault((found["rule"] or found["code"], found["op"]), []).append(found)
    ranked = sorted(groups.values(), key=lambda each: -len(each))
    for rows in ranked[:_GROUPS]:
        first = rows[0]
        help_, chinese = first["help"]
        text = Text(
            "{op}: {message}. {help}",
            op=f"{first['op']} ({len(rows)} x)" if len(rows) > 1 else first["op"],
            message=Words(*first["message"]),
            help=Words(_begun(help_), chinese),
        )
        yield _action(text, f"atc-py explain {first['code']}", _in_file(first["node"]))


def _begun(sentence: str) -> str:
    """A sentence with a capital at its beginning, unless it begins with a name."""
    word = sentence.partition(" ")[0]
    return sentence[:1].upper() + sentence[1:] if word.isalpha() and word.islower() else sentence


def _imprecise(done: ModelSummary) -> Iterator[dict[str, object]]:
    compared = done.comparison
    if compared is None:
        for found in done.not_compared:
            yield _action(Text("It was not compared: {reason}", reason=Text(found.message)))
        return
    first, failing = compared.first_failing, failing_outputs(compared)
    if failing or compared.stopped:
        yield _failing_outputs(done, compared, failing)
    if first is not None and not compared.passed:
        yield _first_failing(compared, first)


def _failing_outputs(
    done: ModelSummary, compared: LayerComparison, failing: Sequence[FailingOutput]
) -> dict[str, object]:
    targets = [f"--fail-under={name}={least:g}" for name, least in compared.targets.items()]
    goal = f" {' '.join(targets)}" if targets else ""
    count = len({*compared.outputs, *compared.uncompared})
    names = SEMICOLON.join(each.name + COLON + each.why for each in failing[:_NAMED])
    head = Text(
        "{failing} of {count} outputs fail{goal} ({names}{more})",
        failing=len(failing),
        count=count,
        goal=goal,
        names=names,
        more=left_out(len(failing), _NAMED),
    )
    if not failing:
        head = Text("The device stopped before the outputs")
    text = Text("{head}: search for the nodes to keep in float32.", head=head)
    command = "report" if CONVERTING & done.options.keys() else "compare"
    at = failing[0].layer if failing else None
    node = "" if at is None else f"c{compared.layers[at].index}"
    return _action(text, _command(done, command, *targets, "--suggest", "keep.txt"), node)


def _first_failing(compared: LayerComparison, first: Layer) -> dict[str, object]:
    root = compared.root_of(first) or first
    where = Text("its error was introduced at {node}", node=root.source or root.op)
    if root is first:
        where = Text("its error was introduced there")
    text = Text(
        "Look at the first failing layer, {name}: {faults}; {where}.",
        name=first.source or first.op,
        faults=SEMICOLON.join(map(Text, first.faults)),
        where=where,
    )
    return _action(text, node=f"c{first.index}")


def _slow(done: ModelSummary, wins: Sequence[Win]) -> Iterator[dict[str, object]]:
    for win in wins:
        if win.share >= _WORTH and win.helps:
            command = _command(done, "convert", "--why-not", win.pass_name) if win.pass_name else ""
            yield _action(win.text, command, f"k{win.node}")


def _accurate(check: dict[str, Any] | None) -> Iterator[dict[str, object]]:
    rows = [] if check is None else [f for f in check["findings"] if f["level"] == "accuracy"]
    if rows:
        text = Text(
            "{count} findings about accuracy, the first: {message}",
            count=len(rows),
            message=Words(*rows[0]["message"]),
        )
        yield _action(text, node=_in_file(rows[0]["node"]))
