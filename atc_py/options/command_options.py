"""Options of fixing, comparing, planning and rewriting beside those of a compilation."""

from functools import partial
from typing import Annotated

import msgspec

from atc_py.diag import BAD_OPTION
from atc_py.options.compile_options import (
    AUTO,
    DEFAULT_LIST,
    LIST_VARIABLE,
    CheckOptions,
    QuantBias,
    parse_quant_bias,
)
from atc_py.options.fix_rules import FixRules
from atc_py.options.option import MOST_JOBS, Option, keywords_of
from atc_py.system.structs import Result
from atc_py.text import Text

_GEARS = {"batch_sizes", "image_sizes", "dims"}

COMPARED = (
    keywords_of(CheckOptions) | keywords_of(FixRules) | _GEARS | {"fix", "aipp", "input_format"}
)
"""Options of a compilation that the command `compare` takes."""

NOT_REPORTED = frozenset({"kernels", "dump_ir", "auto_gears"})
"""Options of a compilation that the command `report` does not take: they write folders, or try padding."""

_SPECIAL = {"templates", "replace_shapes", "atc_cmdline", "graph_name"}

NOT_COMPARED = NOT_REPORTED | _GEARS | _SPECIAL
"""Keywords of a compilation that a comparison does not hand on: for what is written, and several shapes."""


def _positive(name: str, count: int | None) -> int | None:
    if count is not None and count < 1:
        raise BAD_OPTION.error(
            Text("{name} must be 1 or more, found {count}", name=name, count=count)
        )
    return count


def _jobs(doc: str) -> Option:
    return Option(
        "--jobs",
        "Number of processes for trial compilations; it does not change the result.",
        metavar="N",
        numbers=(1, MOST_JOBS),
        parse=partial(_positive, "jobs"),
        shown=True,
        doc=doc,
    )


class SearchOptions(Result, frozen=True):
    """The user's options for the search for nodes to keep in float32."""

    suggest_samples: Annotated[int | None, Option(
        "--suggest-samples",
        "Judge each of these compilations on at most N of the samples, evenly spaced; by "
        "default on all. The suggestion is measured on all.", numbers=(1, None),
        parse=partial(_positive, "suggest_samples"),
        doc="most samples that judge a trial of the search for nodes to keep, at even distances; "
        "None, the default, for all.",
    )] = None  # fmt: skip
    jobs: Annotated[
        int,
        _jobs(
            "processes that make its trials; 1, the default, makes them here. The result is the same."
        ),
    ] = 1


class PlanOptions(Result, frozen=True):
    """The user's options for the search for a plan."""

    judge: Annotated[int | None, Option(
        "--judge",
        "Judge each trial on at most N of the samples, evenly spaced; by default on all. The "
        "plan is verified on all.", metavar="N", numbers=(1, None),
        parse=partial(_positive, "judge"),
        doc="most samples that judge each trial, at even distances; None, the default, for all. "
        "The plan is verified on all.",
    )] = None  # fmt: skip
    jobs: Annotated[
        int,
        _jobs("processes that make trials; 1, the default, makes them here. The plan is the same."),
    ] = 1
    bfloat16: Annotated[bool, Option(
        "--no-bfloat16", "Do not use bfloat16, even where the SoC has it.",
        doc="allow bfloat16 where the SoC has it; by default.",
    )] = True  # fmt: skip


class FixOptions(Result, frozen=True):
    """The user's options for writing a fixed model: for what it is fixed, by which rules, and how."""

    check: CheckOptions = msgspec.field(default_factory=CheckOptions)
    rules: FixRules = msgspec.field(default_factory=FixRules)
    dry_run: Annotated[bool, Option(
        "--dry-run", "Write no model; show the differences between the two graphs, node by node.",
        doc="write nothing.",
    )] = False  # fmt: skip
    seeds: Annotated[int, Option(
        "--random", "Number of random samples on which both models run as a proof; 0 for no proof.", old="--seeds",
        metavar="N", numbers=(0, None), shown=True,
        doc="number of random inputs on which both models run; 3 by default, 0 for no proof.",
    )] = 3  # fmt: skip
    data: Annotated[tuple[str, ...], Option(
        "-i --input",
        "Data for an input: .npy, .npz, .pb (ONNX tensor) or raw .bin, or a folder of files "
        "named after inputs; other inputs get random data.", old="--data", metavar="[NAME=]FILE",
        doc="files with data of inputs, as `name=file` or a lone file, and folders of files that "
        "are called like inputs; other inputs get random data.",
    )] = ()  # fmt: skip
    simulate: Annotated[bool, Option(
        "--no-simulator", "Do not run the fixed model on the simulator.",
        doc="also run the fixed model on the simulator, in the target's precision; by default.",
    )] = True  # fmt: skip
    external_data: Annotated[bool, Option(
        "--external-data", "Write weights to a separate file.",
        doc="put weights into a separate file, which is always done for 1.8 GB or more.",
    )] = False  # fmt: skip
    keep_qdq: Annotated[bool | None, Option(
        "--keep-qdq/--no-keep-qdq",
        "Write int8 layers of others in QDQ, which onnxruntime opens, or in Ascend's form; by default "
        "in QDQ where that leaves no more findings.",
        doc="write int8 layers of others in QDQ, which onnxruntime opens, or, if False, in Ascend's "
        "form; None, the default, for QDQ where that leaves no more findings.",
    )] = None  # fmt: skip


FORMS = ("ascend", "qdq")
"""Forms of a quantized model: that of Ascend's toolkit, and that of ONNX runtimes."""

BOTH = "both"
"""The form that stands for all of FORMS."""

WrittenForm = Annotated[str, Option(
    "--format",
    "ascend: AscendQuant, layers on int8, AscendDequant, as Ascend's toolkit accepts them; "
    "qdq: QuantizeLinear and DequantizeLinear, as ONNX runtimes use them; both: the two "
    "forms, for a float model.",
    keyword="format", values={form: form for form in (*FORMS, BOTH)},
)]  # fmt: skip
ExternalData = Annotated[bool, Option(
    "--external-data", "Write weights to a separate file.",
    doc="put weights into a separate file, which is always done for 1.8 GB or more.",
)]  # fmt: skip
ListToCompare = Annotated[str, Option(
    variable=LIST_VARIABLE,
    doc="the list whose rules what is written is compared with, which fails nothing; by default "
    "as in `convert`.", takes="str | None",
)]  # fmt: skip
StrictList = Annotated[bool, Option(doc="let rules that boards contradict count like any other.")]


class RewriteOptions(Result, frozen=True, kw_only=True):
    """The user's options for writing a quantized model in another form."""

    form: WrittenForm = FORMS[0]
    external_data: ExternalData = False
    quant_bias: Annotated[QuantBias | None, Option(default=AUTO, parse=parse_quant_bias)] = None
    operator_list: ListToCompare = DEFAULT_LIST
    strict_list: StrictList = False
    fix: Annotated[FixRules | None, Option()] = None
