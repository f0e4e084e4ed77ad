"""Options on the offline model, reports, and the device that is compiled for."""

from atc_py.adapters.atc.options.option import AtcOption, Since, Treatment, ValueKind

ROWS = (
    AtcOption(
        "output",
        "the offline model without its suffix, which is always appended: `x` and `x.om` become "
        "`x.om` and `x.om.om`. Missing folders are made. A model with open dims is called "
        "`x_linux_x86_64.om`",
        keyword="output",
    ),
    AtcOption(
        "output_type", "a dtype for all outputs, or `node:index:TYPE` for those that --out_nodes names",
    ),
    AtcOption("out_nodes", "results that become the outputs, in this order"),
    AtcOption(
        "is_output_adjust_hw_layout",
        "would return those outputs as NC1HWC0",
        Treatment.REFUSED,
        neutral=("", "false"),
        hint="leave it out and take NCHW; the values are the same",
        late=True,
    ),
    AtcOption("soc_version", "the SoC that is compiled for"),
    AtcOption(
        "core_type",
        "AiCore is modeled, VectorCore alone is not",
        Treatment.REFUSED,
        default="AiCore",
        values=("AiCore", "VectorCore"),
        code="E10001",
        neutral=("AiCore",),
        hint="leave it out: a network with products needs the AI Core",
    ),
    AtcOption("aicore_num", "all cores are used; results do not depend on it", Treatment.NO_MEANING),
    AtcOption(
        "virtual_type", "results on a virtual device are the same", Treatment.NO_MEANING, default="0",
        values=("0", "1"), code="E10001", kind=ValueKind.NUMBER, since=Since.NEW,
    ),
    AtcOption(
        "external_weight",
        "the offline model keeps its weights; it computes the same",
        Treatment.NO_MEANING,
        default="0",
        values=("0", "1", "2"),
        code="E10006",
        since=Since.NEW,
    ),
    AtcOption(
        "save_original_model",
        "no second model is written; the ONNX file is the original",
        Treatment.NO_MEANING,
        values=("true", "false"),
        code="E10005",
        late=True,
    ),
    AtcOption(
        "check_report", "the report of mode 3, and of mode 0 where a node is refused",
        default="check_result.json",
    ),
    AtcOption("json", "the document that modes 1 and 5 write"),
    AtcOption(
        "dump_mode", "mode 1 of an ONNX file: 1 writes the graph with inferred shapes", default="0",
        values=("0", "1"), code="E10006",
    ),
    AtcOption(
        "display_model_info", "1 shows after a compilation what mode 6 shows", default="0",
        values=("0", "1"), code="E10006",
    ),
    AtcOption(
        "host_env_os", "counts for the name of a model with open dims", values=("linux", "minios"),
        code="E10001", since=Since.NEW, late=True,
    ),
    AtcOption(
        "host_env_cpu", "counts for the name of a model with open dims",
        values=("x86_64", "aarch64", "arm64", "arm"), code="E10001", since=Since.NEW, late=True,
    ),
)  # fmt: skip
