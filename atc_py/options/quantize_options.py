"""Options of writing quantized models, in whichever form."""

from typing import Annotated

from atc_py.options.compile_options import (
    AUTO,
    DEFAULT_LIST,
    LIST_VARIABLE,
    QuantBias,
    parse_quant_bias,
)
from atc_py.options.fix_rules import FixRules
from atc_py.options.option import Option
from atc_py.system.structs import Result

FORMS = ("ascend", "qdq")
"""Forms of a quantized model: that of Ascend's toolkit, and that of ONNX runtimes."""

BOTH = "both"
"""The form that stands for all of FORMS."""

WrittenForm = Annotated[str, Option(
    "--format",
    "ascend: AscendQuant, layers on int8, AscendDequant, as Ascend's toolkit accepts them; qdq: "
    "QuantizeLinear and DequantizeLinear, as ONNX runtimes use them; both, of a float model.",
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
