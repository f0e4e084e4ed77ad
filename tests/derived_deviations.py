"""The page of deviations of CANN from ONNX, derived from the specifications."""

from collections.abc import Iterator

from atc_py.check.deviations import certainty_on
from atc_py.report.operators.page import generation_words, registered_words, same_when
from atc_py.spec import OpSpec, library
from atc_py.spec.deviations import Certainty, Deviation
from atc_py.spec.lists import Release, operator_lists, parser_rules, releases
from atc_py.spec.model import compressed

_HEAD = """# Where CANN deviates from ONNX

```console
$ python -c 'import onnx.parser as p; p.onnx.save(p.parse_model("<ir_version: 8, opset_import: [\\"\\" : 13]> scaled (float[2, 3] x, float[3, 4] w) => (float[2, 4] y) { y = Gemm <alpha = 0.5> (x, w) }"), "scaled.onnx")'
$ atc-py check scaled.onnx --cann 9
scaled.onnx: supported: its only node, but it computes something else on CANN 9.1 (inferred); 1 rewritten

accuracy[ATC3017 deviates-on-cann]: alpha of Gemm must be 1.0 for CANN 9.1 to compute what ONNX defines, when C is not given
  --> node 0: found 0.5
...
  fixed by: atc-py fix --for cann (gemm-factors)
  help: CANN 9.1 (inferred): alpha is left out where C is absent; atc-py follows ONNX
...
$ atc-py fix scaled.onnx --for cann --cann 9 -q
```

The list takes the node, and CANN computes another product, without a word. `fix --for cann` writes it as nodes that mean the same to both.

A model can keep every rule of the operator list, compile without a message, and compute something else on the board, because
CANN's ONNX parser drops an attribute or reads an input otherwise. `atc-py check --cann RELEASE` reports such nodes at level
accuracy, and what the parser refuses without the list saying so at level parser. atc-py itself computes what ONNX means, unless
`--semantics cann` is given, which computes what CANN would. [deviations-in-networks.md](deviations-in-networks.md)
shows what they cost in whole networks.

## Sources and certainty

Every row was read off published sources: the parser's plugins, which turn a node into CANN's operators, and, where they are
published, the passes and kernels that follow. Nothing was run on a device. Each release is read in its own sources, or, where
none are published, by those of another release:"""

_READING = """*Proven* means that the published sources of that release say it. *Inferred* means that it follows from another release, or
from a part of the sources only: of 8.5 and later the plugins are published, most passes after them are not, so that what arises in
a pass is proven for 5 and 6 and inferred for those. Plugins of Conv, ConvTranspose, DeformableConv2D, Gemm, AveragePool, MaxPool, LpPool
and LayerNormalization are published as of 9.2 alone; for 8.5 to 9.1 what they do is inferred. All that is said of a release without
sources of its own is inferred. Unmarked sentences are proven for the releases that they name. `--cann 9` is 9.1, the newest release that is not a beta, and what counts where `--cann` is left out; of
8.0 to 8.3, which are `--cann 8`, no source is published, and they are read by that of 8.5. Findings, `--json` and
`atc-py ops show OPERATOR` give the certainty for the release that is asked for.

The plugins that the rows name were compared at the tags v8.5.0, v9.0.0, v9.0.1, v9.1.0 and v9.2.0-beta.1, without comments, logs and
layout. Those of BatchMultiClassNMS, Clip, DepthToSpace, EyeLike, GatherND, GlobalLpPool, GlobalMaxPool, GRU, Hardmax, IsInf,
LpNormalization, LSTM, Mod, Multinomial, OneHot, RandomNormal, RandomUniform, Resize, RoiAlign, Selu and Split are the same in what they
do at all five, so that a row holds for all or for none; Resize of 9.1 and later refuses fewer than three inputs besides, which no
model of ONNX has.

Every row was read a second time, independently of the first, in canndev of June 2022 and at the five tags. It changed or added rows of
Clip, Conv, GlobalMaxPool, GRU, LpPool, LSTM, OneHot, RandomNormalLike, RandomUniformLike, ReduceLogSum, ReduceMean, ReduceSum and Split, and
found the others as they stand. Files are named as they are in the tags. What a plugin looks up of a tensor while the model is read is
known of inputs of the model alone: GE hands a node the description of what feeds it as it joins the two, before shapes are inferred
(`SetInputImpl` of ge's operator_impl.cc), and any other tensor is described as float32 without dims (ge_tensor_impl.h).

## How to read a row

- The name is the last part of a finding's rule, `Gemm/cann/beta-ignored`. Then follow the kind, the releases, and what CANN
  does instead.
- *The same as ONNX if* gives the condition under which a node means the same on CANN. A node that does not meet it is reported; one
  whose dims or values leave it open is reported as not decided. Where the difference depends on values of the run, the row
  says so: every node that such values may reach is reported.
- *Computed otherwise*: `--semantics cann` replaces the node by nodes that compute what CANN computes, and `fix --for cann`, for many
  rows, by nodes that mean the same to both.
- *Undefined*: CANN's result depends on other nodes, on memory, or on what is not published. `--semantics cann` ends with ATC3019,
  which names the node.
- *Refused*: the parser does not take the node. `--semantics cann` ends with ATC3018.
- The parser has an operator at certain opsets of the model, those of the release if the operator has no line of its own. `none` means
  that no published plugin has the type in ONNX's domain.
- Opsets are those that the file imports, not the listed ones at which atc-py restates nodes.
- Attributes of the right name and the wrong type count as absent to most plugins; atc-py reports them as errors.
- Custom operators are judged in ONNX's domain, where the plugins have them. In a domain of its own a node needs a plugin of its own,
  of which nothing is known here.

## Rows by release
"""


def deviations_page() -> Iterator[str]:
    """Yield the releases, and the deviations of every operator."""
    yield from _HEAD.splitlines()
    yield ""
    yield "| release of CANN | sources | opsets of most operators |"
    yield "| --- | --- | --- |"
    for each in releases():
        read = each.read
        sources = "none; read by that of " + read.name if read is not each else _source(read)
        yield f"| {each.name} | {sources} | {_runs(read.opsets)} |"
    yield ""
    yield from _READING.splitlines()
    yield ""
    specs = _specs()
    yield from _counts(specs)
    yield from _whole_models()
    for spec in specs:
        if spec.deviations or spec.registered:
            yield from _operator(spec)


_WHOLE = """
## Rules about whole models

CANN's parser has rules that are about no single operator. `check` reports what breaks them at level parser, with CANN's own code in
the help line and as `cann_code` of `--json`; `atc-py atc` ends with that code in modes 0 and 3. Nodes of a branch have the place of
their If. Names of nodes count in each graph: those of its inputs among them, and `TYPE_N` for a node without a name, N counting such
nodes from 0 over all graphs, the outer ones first. Whatever atc-py writes as ONNX (`fix`, with or without `--for cann`, and
`quantize`) keeps all of these rules but no-inputs, output-without-input and element-type, for which there is no other form: unused
imports are dropped, functions inlined, names made unique, omitted outputs named beside omitted inputs, defaults written as constants
in branches where their shapes are known, Constants written with `value`, values handed on to inner branches, and data of branches
and of narrow types stored as raw bytes in the file. Opset imports that nodes need stay, and with them several-imports.

The rules were read in ge at the tags v8.5.0, v9.0.0, v9.0.1, v9.1.0 and v9.2.0-beta.1, and in Ascend/parser of 2022 for generations
5 and 6. Branches after v9.2.0-beta.1 take several imports and nodes without inputs; later still an input or output that the prototype
of an operator does not name is refused with E19999. No release has these yet. Sparse initializers are not read (ATC3003 here).

| rule | CANN's code | proven for | inferred for | what CANN does | source |
| --- | --- | --- | --- | --- | --- |"""


def _whole_models() -> Iterator[str]:
    """Yield the rules of the parser about whole models."""
    yield from _WHOLE.splitlines()
    for name, rule in parser_rules().items():
        proven, inferred = (", ".join(spans) or "-" for spans in (rule.proven, rule.inferred))
        cells = (name, rule.code or "-", proven, inferred, rule.effect.en, rule.source)
        yield f"| {' | '.join(cells)} |"


def _specs() -> list[OpSpec]:
    """Return every operator, as the newest list has it."""
    found: dict[str, OpSpec] = {}
    for listed in operator_lists():
        # The newest list has every row of the others, and its own.
        found |= {spec.op: spec for spec in library(listed.name).all()}
    return sorted(found.values(), key=lambda each: each.op.lower())


def _counts(specs: list[OpSpec]) -> Iterator[str]:
    """Yield the number of rows of each kind that a release has, the inferred ones in brackets."""
    kinds = ("computed otherwise", "undefined", "refused")
    yield f"| release of CANN | {' | '.join(kinds)} |"
    yield "| --- | --- | --- | --- |"
    for each in releases():
        found = [
            (_kind(row), certainty)
            for spec in specs
            for row in spec.deviations
            if (certainty := certainty_on(row, each)) is not None
        ]
        cells = [_count([certainty for name, certainty in found if name == kind]) for kind in kinds]
        yield f"| {each.name} | {' | '.join(cells)} |"
    yield ""
    yield "In brackets: those that are inferred."


def _count(certainties: list[Certainty]) -> str:
    """Return a number of rows, and of how many it is inferred."""
    inferred = certainties.count(Certainty.INFERRED)
    return f"{len(certainties)} ({inferred})" if inferred else str(len(certainties))


def _kind(row: Deviation) -> str:
    """Return the kind of a row."""
    return "refused" if row.refused else "undefined" if row.undefined else "computed otherwise"


def _operator(spec: OpSpec) -> Iterator[str]:
    """Yield one operator."""
    yield ""
    yield f"## {spec.op}"
    yield ""
    for names, words in registered_words(spec):
        yield f"- opsets of the parser of CANN {names}: {words.en}"
    for row in spec.deviations:
        yield f"- **{row.name}** ({_kind(row)}), {generation_words(row).en}: {row.effect.en}."
        yield f"  The same as ONNX if: {same_when(spec, row).en}. Source: {row.source}."


def _source(release: Release) -> str:
    """Return the sources of a release, as text."""
    assert release.source is not None
    return release.source.en


def _runs(opsets: tuple[tuple[int, int], ...]) -> str:
    """Return runs of opsets as text."""
    return compressed(tuple(n for first, last in opsets for n in range(first, last + 1)))
