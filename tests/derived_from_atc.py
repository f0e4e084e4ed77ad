"""docs/from-atc.md: what becomes of atc's command line, from the table of its options."""

from collections.abc import Iterator

from atc_py.adapters.atc.faults import TEXTS
from atc_py.adapters.atc.options import GROUPS, AtcOption, Treatment

GUIDE = (
    (
        (
            'atc --model=d.onnx --framework=5 --output=o --input_format=NCHW --input_shape="x:4,3,64,64" '
            "--soc_version=Ascend310P3 --log=error"
        ),
        'atc-py convert d.onnx -o o.om --input-shape "x:4,3,64,64" --soc Ascend310P3',
    ),
    (
        (
            "atc --model=m.onnx --framework=5 --output=o --soc_version=Ascend310P3 "
            '--out_nodes="Conv_0:0" --output_type="Conv_0:0:FP16"'
        ),
        (
            'atc-py convert m.onnx -o o.om --soc Ascend310P3 --out-nodes "Conv_0:0" '
            '--output-type "Conv_0:0:FP16"'
        ),
    ),
    (
        (
            "atc --model=m.onnx --framework=5 --output=o --soc_version=Ascend310P3 "
            "--precision_mode=allow_mix_precision --modify_mixlist=mixlist.json"
        ),
        (
            "atc-py convert m.onnx -o o.om --soc Ascend310P3 --precision-mode allow_mix_precision "
            "--modify-mixlist mixlist.json"
        ),
    ),
    (
        (
            "atc --model=m.onnx --framework=5 --output=o --soc_version=Ascend310P3 "
            "--input_fp16_nodes=x --output_type=FP16"
        ),
        "atc-py convert m.onnx -o o.om --soc Ascend310P3 --input-fp16-nodes x --output-type FP16",
    ),
    (
        (
            "atc --model=d.onnx --framework=5 --output=o --soc_version=Ascend310P3 "
            '--input_shape="x:-1,3,64,64" --dynamic_batch_size="1,2"'
        ),
        (
            'atc-py convert d.onnx -o o.om --soc Ascend310P3 --input-shape "x:-1,3,64,64" '
            "--batch-sizes 1,2"
        ),
    ),
    (
        (
            "atc --model=d.onnx --framework=5 --output=o --soc_version=Ascend310P3 "
            '--input_shape="x:1,3,-1,-1" --dynamic_image_size="64,64;32,32"'
        ),
        (
            'atc-py convert d.onnx -o o.om --soc Ascend310P3 --input-shape "x:1,3,-1,-1" '
            '--image-sizes "64,64;32,32"'
        ),
    ),
    (
        (
            "atc --model=d.onnx --framework=5 --output=o --soc_version=Ascend310P3 --input_format=ND "
            '--input_shape="x:-1,3,-1,-1" --dynamic_dims="1,64,64;2,32,32"'
        ),
        (
            'atc-py convert d.onnx -o o.om --soc Ascend310P3 --input-shape "x:-1,3,-1,-1" '
            '--dims "1,64,64;2,32,32"'
        ),
    ),
)
"""Lines of atc, and the commands that make the same offline model; a test runs both."""

_INTRO = """\
```console
$ atc-py atc --model=first.onnx --framework=5 --output=first_b4 --soc_version=Ascend310P3 --input_shape="image:4,3,32,32"
ATC start working now, please wait for a moment.
...
ATC run success, welcome to the next use.
$ atc-py atc --model=refused.onnx --framework=5 --output=refused --soc_version=Ascend310P3
ATC start working now, please wait for a moment.
...
E13010: the operator at 0 of type Mish has no parser: Mish is not on the operator list
...
  --> refused.onnx: node 0 (Mish)
...
```

`atc-py atc` takes atc's own command line as atc reads it. Scripts for atc run unchanged after

```sh
alias atc='atc-py atc'      # bash needs `shopt -s expand_aliases` in scripts
atc() { atc-py atc "$@"; }  # a function does as well, also in scripts
```

No command `atc` is installed, and neither is `pyatc` or `python3 -m ge.pyatc`, by which CANN 9.1 and later start the same front
end from Python. The offline model is atc-py's own: it runs on the simulator, and no board loads it.

## What is the same

- Words: `-soc_version=`, `--soc-version=`, `--soc_version VALUE` and every prefix that is unambiguous
  are `--soc_version=`. The last of repeated options counts. Values are not trimmed.
- The order of checks, and E-codes with their arguments. The first check that fails is reported.
- `.om` is always appended to `--output`; missing folders are made. With open dims the name gets the
  host's system and processor, `o_linux_x86_64.om`. Models with gears have plain names [I].
- The graph is called like the last part of `--output`.
- The lines of the console: the start line, `...`, the verdict, then warnings after a success and the
  block with the code after a failure, on standard output. Words that atc does not know are named on
  standard error, and the block has E19999 [I].
- Exit status 0 for success and `--help`, 255 for every failure: `main` returns -1.
- `check_result.json` where the check of nodes fails, or in mode 3; below `ASCEND_WORK_PATH` where that
  is set.
- `--input_shape` may give other dims than an input has in the file; they replace the file's.

## What differs

- The texts of errors and of `--help` are ours. Beside atc's block, which has no place, standard error
  has our own finding with its code, place and hint.
- One line after the verdict names the options that have no effect here.
- Where atc would fail in its own kernels or parsers, the findings of `atc-py check` stand in the block:
  E13010 for an operator or opset that is not listed, EZ3003 for a node that breaks a rule of the list,
  E89999 for shapes that contradict one another [I].
- A model that ends atc's parser ends here with its code, in modes 0 and 3: E16005 for several opset
  imports, E13009 for a name that two nodes have, or a node and an input, E16001 for a graph without
  inputs, E19999, E13001, E10001, E13015 and E89999 [I] for the other rules about whole models in
  [deviations.md](deviations.md#rules-about-whole-models). `atc-py fix --for cann` writes the model
  without them. Mode 3 of atc ends before constants and omitted values are looked at; here it reports
  all rules. `atc-py convert` only warns.
- The offline model is atc-py's own format for the simulated NPU, not Huawei's. Its outputs are called
  as in the ONNX file; atc calls them `node:index:tensor`.
- In `--out_nodes`, `name:0` is also the tensor of that name where no node is called `name`. Inputs of
  which nothing is left to read stay inputs.
- An input with open dims and no `--input_shape` is E10001 with dims that fit as the hint.
- `Ascend910` and `Ascend710`, names of older releases, are Ascend910A and Ascend310P3 [I].
- A signal is exit status 128 and its number. A bug in atc-py, or too little memory, is E19999 with a
  finding of ours on standard error.

## Releases

Facts on atc that were read in its sources are unmarked; [I] marks what is inferred, [D] what sources disagree on. Rules are those of CANN
9.1, the release that `--cann` has by default; tags from 8.5.0 to 9.2.0-beta.1 have them alike but for what follows and the options that
`since` names. No release of atc was run.

- Options that a release does not have are taken here whatever the release; its atc ends with an unknown option. `since` says which.
- What the parser refuses or reads otherwise differs by release ([deviations.md](deviations.md)): lines here follow 9.1. `atc-py check
  --cann 8.5` (to `9.2`) says what another release does to the model, `atc-py fix --for cann --cann 8.5` writes it for that one.
- Several opset imports end every release so far (E16005). Later branches take them, no release does.
- `--raw_ge_options` and `pyatc` come with the releases named above; mode 7 (OM2) and mode 30 are not modeled (E10055).

## Lines and commands

Each pair makes the same offline model, but for the command line that it records.
"""


def from_atc_page() -> Iterator[str]:
    """Yield what becomes of each option of atc."""
    yield "# From atc"
    yield ""
    yield from _INTRO.splitlines()
    for line, command in GUIDE:
        yield ""
        yield "```sh"
        yield line
        yield command
        yield "```"
    yield ""
    yield "## Options"
    yield ""
    yield "Prefixes are resolved among all of these. `since` is the first release whose atc has the option, by tags from 8.5.0 on:"
    yield "5.x stands for all. A value outside of the list has the code beside it."
    for treatment in Treatment:
        count = sum(each.effect is treatment for rows in GROUPS.values() for each in rows)
        yield ""
        yield f"**{treatment.value}** ({count}): {_TREATMENTS[treatment]}"
    for title, rows in GROUPS.items():
        yield ""
        yield f"### {title}"
        yield ""
        yield "| option | default | values | since | atc-py | what it does here |"
        yield "| --- | --- | --- | --- | --- | --- |"
        yield from (_row(each) for each in rows)
    yield ""
    yield "## Codes"
    yield ""
    yield "What atc's codes say here; a number stands for an argument, in atc's order."
    yield ""
    yield "| code | meaning |"
    yield "| --- | --- |"
    for code, text in TEXTS.items():
        yield f"| {code} | {text.replace('|', chr(92) + '|')} |"


_TREATMENTS = {
    Treatment.DOES: "it does what atc does, as far as the simulated device has it.",
    Treatment.NO_MEANING: "it is accepted, and named in one line; it changes no result.",
    Treatment.REFUSED: "it would change results and is not modeled: E10055 with the reason and a "
    "hint. Values that change nothing are accepted.",
}


def _row(option: AtcOption) -> str:
    """Return the line on one option."""
    values = ", ".join(option.values)
    if option.code:
        values = f"{values}; else {option.code}"
    words = option.words
    if option.keyword:
        words += f" (`{option.keyword}` of `convert`)"
    if option.effect is Treatment.REFUSED:
        neutral = ", ".join(each or "empty" for each in option.neutral)
        words += f"; accepted: {neutral}. {option.hint}"
    since = option.since.value
    default = "" if option.default == "-1" else option.default
    return (
        f"| `--{option.name}` | {default} | {values} | {since} | {option.effect.value} | {words} |"
    )
