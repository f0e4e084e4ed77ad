"""The pages of docs/ that are derived from the code; `make docs` writes them, a test holds them."""

import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from atc_py.check.condition_words import sentence, when_words, with_condition
from atc_py.cli.main import cli
from atc_py.diag import ExitCode, all_codes
from atc_py.passes.pipeline import PIPELINE
from atc_py.report.explained.page import example_parts
from atc_py.report.operators.list_diff import list_diff, list_diff_lines
from atc_py.report.operators.listing import lists_json
from atc_py.spec import Level, compressed, library
from atc_py.spec.implied import rules_of
from atc_py.spec.lists import operator_lists
from atc_py.system.register import INDEX
from atc_py.target import Attribute, Kernels, TargetOp, operators, socs
from atc_py.target.kernels import FAMILY_WORDS
from atc_py.target.socs import ALIASES
from tests.derived_aipp import PAGE as AIPP_PAGE
from tests.derived_aipp import aipp_page
from tests.derived_ais_bench import ais_bench_page
from tests.derived_deviations import deviations_page
from tests.derived_emulations import emulations_page
from tests.derived_from_atc import from_atc_page
from tests.derived_keywords import KEYWORDS, keywords_module
from tests.derived_measured import PLOT, measured_page, measured_plot
from tests.derived_modules import module_index
from tests.derived_operators import operators_page, spec_notes_page
from tests.derived_rewrites import rewrites_page
from tests.derived_session import session_page
from tests.json_documents import json_lines

DOCS = Path(__file__).resolve().parent.parent / "docs"

_EXITS = {
    ExitCode.DONE: "done",
    ExitCode.MODEL: "the model breaks a rule",
    ExitCode.USAGE: "the command was called wrongly",
    ExitCode.FILE: "a file cannot be read or written",
    ExitCode.DEVICE: "the run on the device failed, or its outputs are not the expected ones",
    ExitCode.BUG: "a bug in atc-py",
}

_SIGNALS = {
    129: "ended with its terminal (SIGHUP)",
    130: "interrupted (SIGINT, Ctrl-C)",
    143: "terminated (SIGTERM)",
}
"""Exit statuses after signals; output files are then never left partially written."""


def diagnostics_page() -> Iterator[str]:
    """Yield every code with its meaning and remedy."""
    yield "# Diagnostics"
    yield ""
    yield "`atc-py explain CODE` prints one of these. Exit statuses:"
    yield ""
    yield "| status | meaning |"
    yield "| --- | --- |"
    for code, meaning in _EXITS.items():
        yield f"| {int(code)} | {meaning} |"
    for status, meaning in _SIGNALS.items():
        yield f"| {status} | {meaning} |"
    yield ""
    yield "A reader of standard output that leaves early (`| head`) does not change the status, and"
    yield "neither does a closed stream (`>&-`). Standard output that is full is ATC2007, status 3."
    for row in all_codes():
        yield ""
        yield f"## {row.id} {row.name}"
        yield ""
        yield f"{row.severity.value}, exit status {int(row.exit)}"
        yield ""
        yield row.meaning
        yield ""
        yield f"**What to do:** {row.remedy}"
        for heading, lines in example_parts(row, "en"):
            yield ""
            yield f"{heading}:"
            yield ""
            yield "```text"
            yield from lines
            yield "```"


_COMMANDS = """# Command line

```console
$ atc-py check first.onnx
first.onnx: supported: all 6 nodes
...
$ atc-py check first.onnx --json
{
  "version": 1,
  "tool": {
    "name": "atc-py",
    "version": "0.2.0"
  },
...
  "verdict": "supported",
...
$ atc-py socs --help
Usage: atc-py socs [OPTIONS]

  List the SoCs that --soc takes: family, cores, clock, memory, dtypes of the
  cube.
...
```

Every command prints text for people or, with `--json`, one document for programs, and its options with `--help`, which are below.

"""


def cli_page() -> Iterator[str]:
    """Yield the help text of every command, and what they print as JSON."""
    yield from _COMMANDS.splitlines()
    yield from json_lines()
    yield ""
    yield "## Files and folders to write"
    yield ""
    yield "A report goes to standard output unless `--output` names a file. What `--output` and the"
    yield "other options write is always a file, or a folder, on disk: `-` is ATC1001, and a device, a"
    yield "pipe or a standard stream (`/dev/null`, `/dev/stdout`, `/dev/fd/3`) is ATC2007, whatever it"
    yield "leads to. A file is written completely or not at all. What a run reads it does not write:"
    yield "models and their weight files, data, samples, configuration, under any name, are ATC1001; a"
    yield "file that the command keeps itself (`--resume`, `--baseline`) may be written again."
    yield ""
    yield "A file to read is a regular one, also inside a folder: a named pipe, a socket or a device is"
    yield "ATC2002 and not waited for. `/dev/stdin` and `/dev/fd/3` are read where text is meant."
    for context in _contexts(cli, "atc-py", None):
        yield ""
        yield f"## {context.command_path}"
        yield ""
        yield "```text"
        yield from context.get_help().splitlines()
        yield "```"


def _contexts(
    command: click.Command, name: str, parent: click.Context | None
) -> Iterator[click.Context]:
    """Yield the command's context and those of the commands below it."""
    context = click.Context(
        command, parent, info_name=name, terminal_width=100, **command.context_settings
    )
    yield context
    if isinstance(command, click.Group):
        for below in command.list_commands(context):
            found = command.get_command(context, below)
            if found is not None:
                yield from _contexts(found, below, context)


_TARGET = """# The target

```console
$ atc-py convert loud.onnx --soc Ascend310P3 -q -o target.om
$ atc-py info target.om
...
Operators
  operator  engine  count
  Cast      aicore      2
  Exp       aicore      1
  Log       aicore      1
...
$ atc-py socs
  SoC                family         AI Cores  vector cores  AI CPUs   MHz  L2, MiB     memory  cube multiplies
...
  Ascend310P3        Ascend310P            8             7        7  1060       16   22.4 GiB  float16, int8
...
```

An offline model consists of target operators, CANN's own, made for a SoC. This page has a row for each operator, pass and SoC.

"""


def target_page() -> Iterator[str]:
    """Yield target operators, passes and SoCs."""
    yield from _TARGET.splitlines()
    yield "## Operators"
    yield ""
    yield "`?` marks an optional operand, `*` one that repeats, `#` one that is read as numbers."
    yield "[Layout](layout.md) says more about storage."
    yield ""
    yield "| operator | inputs | outputs | attributes | AI Core | AI CPU | storage | what it computes |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    yield from (_operator_row(row) for row in operators())
    yield ""
    yield from kernels_of_families()
    yield ""
    yield "## Passes, in the order in which they run"
    yield ""
    yield "`--disable-pass` takes ATC's names as well. Passes without a counterpart are rewrites that no"
    yield "known pass of ATC does; `--only-atc-passes` leaves them out. Where no name stands, ATC does the"
    yield "work under a name that is not known, or needs no pass for it."
    yield ""
    yield "| pass | can be switched off | what it does | names in ATC |"
    yield "| --- | --- | --- | --- |"
    for step in PIPELINE:
        optional = "yes" if step.optional else "no"
        names = ", ".join(step.atc_names) if step.in_atc else "no counterpart"
        yield f"| {step.name} | {optional} | {step.summary} | {names} |"
    yield ""
    yield "## SoCs"
    yield ""
    yield "| name | core | AI Cores | vector cores | clock (MHz) | cube float32 | bfloat16 | products |"
    yield "| --- | --- | --- | --- | --- | --- | --- | --- |"
    for soc in socs():
        flags = " | ".join("yes" if flag else "no" for flag in (soc.cube_float32, soc.bfloat16))
        cores = f"{soc.aicores} | {soc.vector_cores} | {soc.mhz}"
        products = "rows" if soc.fractal_copies else "FRACTAL_NZ"
        yield f"| {soc.name} | {soc.arch} | {cores} | {flags} | {products} |"
    yield ""
    yield "Figures are those of CANN's platform configuration, proven: of Ascend310, 610 and Hi3796CV300CS as CANN 8.1 has it, of"
    yield "all others as the open runtime repository has it at tag v9.1.0, of Ascend950DT_9581x at its master of August 2026, which"
    yield "also has 5 AI CPUs of Ascend950PR_957b and 957bx where the tag has 7. `sim` is a device of our own."
    for former, name in ALIASES.items():
        yield f"{former} is a name that CANN gave up: it is taken for {name}, which has its figures (ATC6016)."


def kernels_of_families() -> Iterator[str]:
    """Yield the dtypes of AI Core kernels by SoC family."""
    families = ", ".join(f"{word} {family.value}" for word, family in FAMILY_WORDS.items())
    yield "## AI Core kernels by SoC family"
    yield ""
    yield "From the operator information of CANN 8.1: dtypes of the first operand, `-` where a family has no kernel,"
    yield "`?` where they are decided only when the kernel is compiled; there the operator has the dtypes of the table above,"
    yield "with float32 products and bfloat16 where the SoC has them, as does `sim`. Those of Ascend950 (950) are of the"
    yield "operator definitions in CANN's open repositories ops-nn, ops-math and ops-cv of August 2026, proven; `?` says"
    yield "that there is none, and its dtypes are like those of `sim` with bfloat16 (inferred). Where it has an operator with tensors"
    yield "for axes, shapes or counts (ReduceMax, Transpose, SplitV, ArgMaxV2, GatherV2, ...), the row of the operator here that"
    yield "has them as attributes has its dtypes; MatMulV2 and BatchMatMulV2 those of MatMulV3 and BatchMatMulV3, of int8"
    yield "QuantBatchMatmulV3; Conv2D and DepthwiseConv2D those of Conv2DV2, of int8 ExtendConv2D; Resize those of"
    yield "ResizeNearestNeighborV2, ResizeBilinearV2 and ResizeBicubicV2. Ascend350, of which products alone are published, is"
    yield "taken for an Ascend950 (inferred). Those of Conv2D, DepthwiseConv2D and products, and those of A2 beside `?`, are from the"
    yield "kernels of CANN 8.1 themselves. That Ascend310, 310P, 610 and 910 take float32 in MatMulV2 is listed there; whether"
    yield "the kernel then accepts it is not known. Unmarked dtypes are proven by the sources named here. Of the 112 definitions"
    yield "for Ascend950 that are operators here 101 list the same dtypes at tag v9.1.0 and 103 at v9.2.0-beta.1; those tags lack"
    yield "HardSigmoid, MVNV2, GridSampler2D, BatchMultiClassNonMaxSuppression and ROIPooling, 9.1 also Softsign, Threshold,"
    yield "GlobalLpPool and Trilu, and list other dtypes of Sign and DynamicRNN, 9.2 also of Sigmoid and Trilu: for them what"
    yield "is said of these releases is inferred."
    yield "310B, A2 and A3 have no ArgMaxD and ArgMinD; the dtypes there are those of ArgMaxV2 and ArgMin, which replace them,"
    yield "and those of ExpandD on 610 are those of Expand."
    yield ""
    yield f"Families: {families}."
    yield ""
    yield "| operator | dtypes by family |"
    yield "| --- | --- |"
    listed = [row for row in operators() if row.kernels is not None]
    yield from (f"| {row.name} | {_by_family(row.kernels)} |" for row in listed if row.kernels)
    yield ""
    rest = [row for row in operators() if row.kernels is None and row.launches_kernel]
    by_flag = [row for row in rest if row.name.startswith("Ascend")]
    yield f"A SoC's quantization unit decides those of {_names(by_flag)}."
    others = [row for row in rest if row not in by_flag]
    yield f"The operator information of the AI Core has no entry of these names: {_names(others)}."


def _names(rows: list[TargetOp]) -> str:
    """Return the names of rows, listed."""
    return ", ".join(row.name for row in rows)


def _by_family(kernels: Kernels) -> str:
    """Return `310, CS: float16; A2: -` of an operator."""
    groups: dict[str, list[str]] = {}
    for word, family in FAMILY_WORDS.items():
        pairs = kernels.published(family)
        taken = dict.fromkeys(inputs[0].value for inputs, _ in pairs or ())
        words = "?" if pairs is None else ", ".join(taken) or "-"
        groups.setdefault(words, []).append(word)
    return "; ".join(f"{', '.join(where)}: {words}" for words, where in groups.items())


def _operator_row(row: TargetOp) -> str:
    """Return one line of the table of operators."""
    marks = [
        f"{o.name}{'?' * o.optional}{'*' * o.variadic}{'#' * o.value_depend}" for o in row.inputs
    ]
    outputs = [f"{o.name}{'*' * o.variadic}" for o in row.outputs]
    aicore, aicpu = (
        ", ".join(dict.fromkeys(column.inputs[0].value for column in columns))
        for columns in (row.columns, row.aicpu)
    )
    cells = (
        row.name,
        ", ".join(marks),
        ", ".join(outputs),
        ", ".join(_attribute(attribute) for attribute in row.attributes),
        aicore if row.launches_kernel else "no kernel needed",
        aicpu,
        row.layout.words,
        row.summary,
    )
    return f"| {' | '.join(cells)} |"


def _attribute(attribute: Attribute) -> str:
    """Return `name` of a required attribute, `name=default` of another."""
    if attribute.default is None:
        return attribute.name
    default = attribute.default
    return f"{attribute.name}={list(default) if isinstance(default, tuple) else default}"


_LISTS = """# Operator lists

```console
$ atc-py ops lists
  list      release    operators  custom  opsets      source
  base      not named        131      13  1, 6, 8-13  the early ONNX operator specification list, in Chinese; it names no release
  cann-9.0  CANN 9.0         167      19  1, 6, 8-18  pages atlasoxol_09_0001 to 0171 of the documentation of CANN 9.0, the Chinese edition where the two differ
$ atc-py check refused.onnx --list base
refused.onnx: not supported: 1 error in 1 of 1 node
...
```

"""


def operator_lists_page() -> Iterator[str]:
    """Yield the operator lists and every difference between them."""
    yield from _LISTS.splitlines()
    yield (
        "`check`, `convert` and every command that compiles take a node that any list of operators takes: the "
        "lists are asked in the order of this table, and a node that none takes is reported as the list has it "
        "that has least against it. A note says how many nodes a later list alone takes; the offline model keeps "
        "it, and `info`, `profile`, `compare`, `plan` and `report` say it too. `--list NAME`, or the "
        "variable `ATC_PY_LIST`, holds a model to one list; findings that another list would not make, and "
        "whose nodes compile by it, then name it (`taken by`). A list is a folder of `op_specs/`; a file of a "
        "newer list says only how it differs from the same operator's file in the list that it is `like`. An "
        "operator that the newest pages of a list do not have, and that the list keeps from an older one, is "
        "named in a note that fails nothing."
    )
    yield ""
    yield "| list | release of CANN | operators | of them custom | opsets | source |"
    yield "| --- | --- | --- | --- | --- | --- |"
    for row in lists_json():
        source: Any = row["source"]
        opsets: Any = row["opsets"]
        facts = (row["name"], row["release"], row["operators"], row["custom"])
        cells = " | ".join(str(each) for each in (*facts, compressed(tuple(opsets)), source["en"]))
        yield f"| {cells} |"
    names = tuple(each.name for each in operator_lists())
    yield from _sureness(names)
    for newer in names[1:]:
        yield ""
        yield f"## {names[0]} and {newer}"
        yield ""
        found = list_diff((names[0], newer), (library(names[0]), library(newer)))
        yield "Of a rule that one list alone has, the level of its findings is added."
        yield ""
        yield "```text"
        yield from list_diff_lines(found)
        yield "```"


def _sureness(names: tuple[str, ...]) -> Iterator[str]:
    """Yield the rules that more is known of than that a list states them."""
    contradicted: dict[tuple[str, ...], list[str]] = {}
    proven: dict[tuple[str, ...], list[str]] = {}
    for name in names:
        for spec in library(name).all():
            for rule in rules_of(spec):
                text = sentence(spec, rule)
                if rule.when is not None:
                    text = with_condition(text, when_words(rule.when))
                against = rule.contradicted
                if against is not None and rule.level is Level.ERROR:
                    families = ", ".join(against.families) or "all"
                    facts = (
                        against.seen.en,
                        against.soc,
                        against.release,
                        against.where.en,
                        families,
                    )
                    contradicted.setdefault((text.en, *facts), []).append(name)
                if rule.proven is not None:
                    proven.setdefault((text.en, rule.proven), []).append(name)
    yield ""
    yield "## How sure a rule is"
    yield ""
    yield (
        "A list is a document, and boards are the truth. A rule is *listed* where the list alone states it, "
        "which is the case for every rule that is not named here; *proven* where a source of CANN shows it; "
        "*contradicted* where boards are known to take what it forbids. The evidence stands beside the rule in "
        "the operator's file. A contradicted rule gives a warning of level `list`, and the conversion goes on: "
        "whether the SoC has kernels for the node decides. `--strict-list`, in Python `strict_list=True`, "
        "holds to the letter. Evidence counts for the families of SoCs that are named; on others the rule "
        "refuses as before."
    )
    yield from _sure_table("contradicted rule", contradicted, _EVIDENCE)
    yield from _sure_table("proven rule", proven, ("source",))


_EVIDENCE = ("boards take", "seen on", "release", "source", "SoC families")


def _sure_table(
    first: str, rows: dict[tuple[str, ...], list[str]], columns: tuple[str, ...]
) -> Iterator[str]:
    """Yield a table of rules with the lists that have them."""
    yield ""
    yield f"| {' | '.join((first, 'lists', *columns))} |"
    yield "| --- " * (2 + len(columns)) + "|"
    for (text, *facts), lists in sorted(rows.items()):
        yield f"| {' | '.join((text, ', '.join(dict.fromkeys(lists)), *facts))} |"


PAGES = {
    "operator-lists.md": operator_lists_page,
    "diagnostics.md": diagnostics_page,
    "cli.md": cli_page,
    "target.md": target_page,
    "operators.md": operators_page,
    "spec-notes.md": spec_notes_page,
    "deviations.md": deviations_page,
    "emulations.md": emulations_page,
    "rewrites.md": rewrites_page,
    "inference-session.md": session_page,
    "from-atc.md": from_atc_page,
    "ais-bench.md": ais_bench_page,
    "measured.md": measured_page,
}


def render(name: str) -> str:
    """Return the text of a derived page."""
    lines = ["<!-- Derived from the code; `make docs` writes it again. -->", "", *PAGES[name]()]
    return "\n".join(line.rstrip() for line in lines) + "\n"


def main() -> None:
    """Write the pages, or name those that are not current."""
    texts = {DOCS / name: render(name) for name in PAGES}
    texts[INDEX] = module_index()
    texts[AIPP_PAGE] = aipp_page()
    texts[DOCS / PLOT] = "\n".join(measured_plot()) + "\n"
    texts[KEYWORDS] = keywords_module()
    stale = [path for path, text in texts.items() if _old(path) != text]
    if "--write" in sys.argv[1:]:
        for path in stale:
            path.write_text(texts[path], encoding="utf-8")
    elif stale:
        names = ", ".join(path.name for path in stale)
        raise SystemExit(f"not current: {names}; run `make docs`")


def _old(path: Path) -> str:
    """Return a derived file as it stands."""
    return path.read_text(encoding="utf-8") if path.exists() else ""


if __name__ == "__main__":
    main()
