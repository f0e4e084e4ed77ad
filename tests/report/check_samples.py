"""Reports of checks that the tests of all formats share."""

from atc_py.check.findings import (
    CheckReport,
    Finding,
    ModelCheck,
    NodeCount,
    NodeRow,
    Standing,
)
from atc_py.diag import Place
from atc_py.diag.codes import (
    ATTR_OUT_OF_RANGE,
    BAD_MODEL,
    DIM_OUT_OF_RANGE,
    FILE_NOT_FOUND,
    OPERATOR_RESTATED,
    UNKNOWN_OPERATOR,
    VALUE_NOT_CONSTANT,
)
from atc_py.system.structs import replace
from atc_py.text import Text, Words, verbatim

HOSTILE = "a\x00\x1b[31m\u202e<b>&\"'\r\n{0}[x](http://y)=1"
"""A name that speaks to terminals, browsers, XML, spreadsheets and SARIF viewers."""

STRIDES = Finding(
    code=ATTR_OUT_OF_RANGE,
    standing=Standing.ERROR,
    rule="Conv/attr_each_in_range/strides",
    source="op_specs/base/nn/conv.yaml:18",
    place=Place("nets/resnet.onnx", 17, "conv2", "Conv", "attribute strides"),
    scope="",
    observed=verbatim("[1, 64]"),
    allowed=Words("strides of Conv must be in [1, 63]", "Conv 的 strides 须在 [1, 63] 内"),
    help=Words("split the stride into two convolutions", "将该步幅拆分为两个卷积"),
)

UNDECIDED = Finding(
    code=DIM_OUT_OF_RANGE,
    standing=Standing.UNKNOWN,
    rule="Conv/dim_in_range/X.W",
    source="op_specs/base/nn/conv.yaml:22",
    place=Place("nets/resnet.onnx", 3, "conv1", "Conv", "input X"),
    scope="",
    observed=Words("X is 1x3x?x?", "X 为 1x3x?x?"),
    allowed=Words("W of X of Conv must be in [1, 4096]", "Conv 的 X 的 W 须在 [1, 4096] 内"),
    help=Words("fix it with --input-shape", "请用 --input-shape 指定"),
)

RESTATED = Finding(
    code=OPERATOR_RESTATED,
    standing=Standing.REWRITE,
    rule="Relu/opset",
    source="op_specs/base/nn/relu.yaml:2",
    place=Place("nets/resnet.onnx", 5, "", "Relu", None),
    scope='then_branch of "choose"',
    observed=Words("", ""),
    allowed=Words("Relu 14 means what Relu 13 means", "Relu 14 与 Relu 13 含义相同"),
    help=Words("nothing has to be done", "无需处理"),
)

SLOW = Finding(
    code=VALUE_NOT_CONSTANT,
    standing=Standing.AICPU,
    rule="TopK/values_known/K",
    source="op_specs/base/math/top_k.yaml:20",
    place=Place("nets/resnet.onnx", 30, "top", "TopK", "input K"),
    scope="",
    observed=Words("not constant", "不是常量"),
    allowed=Words("K of TopK must be constant", "TopK 的 K 须为常量"),
    help=Words("export K as a constant", "请将 K 导出为常量"),
)

UNLISTED = Finding(
    code=UNKNOWN_OPERATOR,
    standing=Standing.ERROR,
    rule="com.microsoft::Gelu/listed",
    source="",
    place=Place("nets/resnet.onnx", 31, "gelu", "Gelu", None),
    scope="",
    observed=Words("", ""),
    allowed=Words("Gelu is not on the operator list", "Gelu 不在算子清单中"),
    help=Words("export without contrib operators", "请勿使用 contrib 算子导出"),
)


def at(finding: Finding, node: int, name: str, observed: str | None = None) -> Finding:
    """Return the finding at another node, perhaps with another value."""
    place = finding.place._replace(node=node, node_name=name)
    words = finding.observed if observed is None else verbatim(observed)
    return replace(finding, place=place, observed=words)


def model_check(*findings: Finding, **changes: object) -> ModelCheck:
    """Return a model of 71 nodes with these findings; operators and rows follow from them."""
    rows = tuple(
        NodeRow(
            finding.place.node or 0,
            finding.place.node_name or "",
            f"ai.onnx::13::{finding.place.op_type}",
            finding.scope,
            finding.standing,
        )
        for finding in findings
    )
    counts: dict[str, dict[Standing, int]] = {}
    for finding in findings:
        row = counts.setdefault(finding.place.op_type or "", {})
        row[finding.standing] = row.get(finding.standing, 0) + 1
    counts["Add"] = {Standing.SUPPORTED: 71 - len(findings)}
    check = ModelCheck(
        path="nets/resnet.onnx",
        name="main_graph",
        opsets={"": 13},
        file_nodes=80,
        nodes=71,
        findings=findings,
        operators=tuple(NodeCount(op, op != "Gelu", row) for op, row in counts.items()),
        rows=rows,
    )
    return replace(check, **changes)  # type: ignore[arg-type]


def report(*models: ModelCheck) -> CheckReport:
    """Return a report of these models, or of one that has findings of many kinds."""
    return CheckReport(models or (mixed(),), "force_fp16", "sim")


def mixed() -> ModelCheck:
    """Return one model with findings of many kinds."""
    return model_check(
        UNDECIDED,
        RESTATED,
        STRIDES,
        at(STRIDES, 20, "conv5"),
        at(STRIDES, 31, "conv9", "[70, 70]"),
        SLOW,
        UNLISTED,
        shape_hint="x:1,3,1,1",
    )


def hostile() -> ModelCheck:
    """Return a model whose every text is hostile."""
    text = verbatim(HOSTILE)
    place = Place(f"{HOSTILE}.onnx", 1, HOSTILE, HOSTILE, HOSTILE)
    finding = replace(
        STRIDES,
        rule=HOSTILE,
        place=place,
        scope=HOSTILE,
        observed=text,
        allowed=verbatim(f"=1+{HOSTILE}"),
        help=text,
    )
    return replace(model_check(finding), path=f"{HOSTILE}\udcff.onnx", name=HOSTILE)


def unreadable(path: str = "gone.onnx") -> ModelCheck:
    """Return a model that cannot be read."""
    fault = FILE_NOT_FOUND.diagnostic(Text(f"there is no {path}"), place=Place(path))
    return ModelCheck(path, "", {}, 0, 0, (), (fault,))


def faulty() -> ModelCheck:
    """Return a model that breaks ONNX's own rules at one node."""
    place = Place("bad.onnx", 2, "cat", "Concat")
    fault = BAD_MODEL.diagnostic(
        Text("dims 3 and 4 disagree"), place=place, help=Text("mend the exporter")
    )
    return model_check(STRIDES, path="bad.onnx", faults=(fault,))
