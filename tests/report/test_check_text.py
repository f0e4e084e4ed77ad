"""A check's report as text: verdicts, groups of nodes, tables, both languages."""

import pytest

from atc_py.check.findings import ModelCheck, NodeCount, Standing
from atc_py.report.check import words as check_words
from atc_py.report.check.baseline import Baseline
from atc_py.report.check.json_document import check_document
from atc_py.report.check.text import check_text, verdict_lines
from atc_py.report.check.words import shape_option
from atc_py.system.structs import replace
from atc_py.text import LANGUAGES, Text, verbatim
from tests.report.check_samples import (
    RESTATED,
    SLOW,
    STRIDES,
    UNDECIDED,
    at,
    faulty,
    hostile,
    mixed,
    model_check,
    report,
    unreadable,
)


def text_of(*models: ModelCheck, language: str = "en", verbose: bool = False) -> str:
    return check_text(check_document(report(*models), language), verbose=verbose)


def block(text: str, start: str) -> list[str]:
    """Return the lines of the part that begins with `start`."""
    part = next(part for part in text.split("\n\n") if part.startswith(start))
    return part.splitlines()


@pytest.mark.parametrize(
    ("check", "english", "chinese"),
    [
        (
            mixed(),
            "not supported: 4 errors in 4 of 71 nodes; 1 rewritten, 1 on the AI CPU, 1 not decided",
            "不支持：71 个节点中有 4 个有错误，共 4 处；1 个需改写，1 个在 AI CPU 上运行，1 个无法判定",
        ),
        (model_check(), "supported: all 71 nodes", "支持：全部 71 个节点"),
        (
            model_check(UNDECIDED, RESTATED),
            "not decided: 1 of 71 nodes; 1 rewritten",
            "无法判定：71 个节点中的 1 个；1 个需改写",
        ),
        (
            model_check(SLOW),
            "supported: all 71 nodes; 1 on the AI CPU",
            "支持：全部 71 个节点；1 个在 AI CPU 上运行",
        ),
        (unreadable(), "not checked: 1 fault", "未检查：文件有 1 处问题"),
        (
            faulty(),
            "not supported: 1 fault of the file, 1 error in 1 of 71 nodes",
            "不支持：文件有 1 处问题，71 个节点中有 1 个有错误，共 1 处",
        ),
        (
            model_check(STRIDES, replace(STRIDES, rule="another")),
            "not supported: 2 errors in 1 of 71 nodes",
            "不支持：71 个节点中有 1 个有错误，共 2 处",
        ),
        (ModelCheck("e.onnx", "g", {}, 0, 0, ()), "supported: no nodes", "支持：无节点"),
        (ModelCheck("e.onnx", "g", {}, 1, 1, ()), "supported: its only node", "支持：唯一的节点"),
    ],
)
def test_verdict_comes_first(check: ModelCheck, english: str, chinese: str) -> None:
    assert text_of(check).splitlines()[0] == f"{check.path}: {english}"
    assert text_of(check, language="zh").splitlines()[0] == f"{check.path}：{chinese}"


def test_nodes_of_one_rule_are_gathered_by_value() -> None:
    assert block(text_of(mixed()), "error[ATC4012") == [
        "error[ATC4012 attr-out-of-range]: strides of Conv must be in [1, 63]",
        '  --> node 17 "conv2", node 20 "conv5": found [1, 64]',
        '  --> node 31 "conv9": found [70, 70]',
        "  rule: op_specs/base/nn/conv.yaml:18",
        "  help: split the stride into two convolutions",
    ]
    assert block(text_of(mixed(), language="zh"), "错误[ATC4012") == [
        "错误[ATC4012 attr-out-of-range]: Conv 的 strides 须在 [1, 63] 内",
        '  --> 节点 17 "conv2"，节点 20 "conv5"：实际为 [1, 64]',
        '  --> 节点 31 "conv9"：实际为 [70, 70]',
        "  规则：op_specs/base/nn/conv.yaml:18",
        "  建议：将该步幅拆分为两个卷积",
    ]


def test_groups_come_by_level_the_worst_first() -> None:
    heads = [line.split("[")[0] for line in text_of(mixed()).splitlines() if "[ATC" in line]
    assert heads == ["error", "error", "unknown", "rewrite", "aicpu"]


def test_undecided_rule_says_what_is_open() -> None:
    lines = block(text_of(mixed()), "unknown[")
    assert lines[1] == '  --> node 3 "conv1": not decided: X is 1x3x?x?'


def test_node_of_a_subgraph_names_it() -> None:
    assert block(text_of(mixed()), "rewrite[")[1] == '  --> node 5 in then_branch of "choose"'


def test_fault_of_the_file_comes_before_findings() -> None:
    text = text_of(faulty())
    assert text.index("error[ATC3003") < text.index("error[ATC4012")
    assert block(text, "error[ATC3003")[1:] == ['  --> node 2 "cat"', "  help: mend the exporter"]


def test_fault_without_help_shows_its_page() -> None:
    assert "  help: Check the path" in text_of(unreadable())


def test_values_over_eight_are_counted_unless_verbose() -> None:
    many = model_check(*(at(STRIDES, i, f"c{i}", f"[{i + 64}, 1]") for i in range(12)))
    lines = block(text_of(many), "error[")
    assert sum("-->" in line for line in lines) == 8
    assert lines[9] == "  ... and 4 more nodes; --verbose names all"
    whole = block(text_of(many, verbose=True), "error[")
    assert sum("-->" in line for line in whole) == 12
    assert not any("more" in line for line in whole)
    chinese = text_of(many, language="zh")
    assert "另有 4 个节点" in chinese


def test_nodes_of_one_value_are_counted_unless_verbose() -> None:
    many = model_check(*(at(STRIDES, i, "") for i in range(9)))
    assert block(text_of(many), "error[")[1] == (
        "  --> node 0, node 1, node 2, node 3 and 5 more: found [1, 64]"
    )
    assert "node 8" in text_of(many, verbose=True)
    assert "等另外 5 个" in text_of(many, language="zh")


def test_one_node_more_is_named_rather_than_counted() -> None:
    five = model_check(*(at(STRIDES, i, "") for i in range(5)))
    assert "node 3, node 4: found" in text_of(five)


def test_operators_are_counted_by_verdict() -> None:
    lines = block(text_of(mixed()), "Operators")
    assert lines[1].split() == [
        "operator", "nodes", "supported", "AI", "CPU", "rewritten", "unknown", "unsupported",
    ]  # fmt: skip
    assert next(line for line in lines if "Conv" in line).split() == [
        "Conv",
        "4",
        "-",
        "-",
        "-",
        "1",
        "3",
    ]
    assert next(line for line in lines if "Gelu" in line).startswith("  Gelu (not listed) ")


def test_verdict_that_no_node_has_gets_no_column() -> None:
    heading = block(text_of(model_check()), "Operators")[1]
    assert heading.split() == ["operator", "nodes", "supported", "unsupported"]


def test_chinese_columns_are_aligned() -> None:
    lines = block(text_of(mixed(), language="zh"), "算子")[1:]
    ends = {sum(2 if ord(c) > 0x2E80 else 1 for c in line) for line in lines}
    assert len(ends) == 1


def test_open_dims_name_the_option() -> None:
    assert '\n  --input-shape "x:1,3,1,1"\n' in text_of(mixed())
    assert "--input-shape" not in text_of(model_check())


def test_option_is_quoted_so_that_no_shell_reads_it() -> None:
    assert shape_option("x;y:1") == '--input-shape "x;y:1"'
    assert shape_option("$(rm x):1") == "--input-shape '$(rm x):1'"
    assert shape_option('a"b:1') == "--input-shape 'a\"b:1'"


def test_several_models_end_with_a_summary() -> None:
    lines = block(text_of(mixed(), model_check(), unreadable()), "Summary")
    assert [line.split()[0] for line in lines[2:]] == [
        "nets/resnet.onnx", "nets/resnet.onnx", "gone.onnx", "total",
    ]  # fmt: skip
    assert lines[-1].split() == ["total", "error", "142", "135", "1", "1", "1", "4"]
    assert "Summary" not in text_of(mixed())


def test_known_findings_are_left_out_unless_verbose() -> None:
    known = {("resnet.onnx", STRIDES.fingerprint): 1}
    document = check_document(report(), "en", Baseline(known))
    text = check_text(document)
    assert '"conv2"' not in text
    assert '"conv5"' in text
    assert text.endswith(
        "compared with the baseline: 1 known, 6 new\nknown findings are omitted; --verbose shows them\n"
    )
    whole = check_text(document, verbose=True)
    assert '"conv2"' in whole
    assert "left out" not in whole
    assert verdict_lines(document)[-1] == "compared with the baseline: 1 known, 6 new"


def test_baseline_is_reported_in_chinese_with_what_is_gone() -> None:
    document = check_document(report(model_check()), "zh", Baseline({("resnet.onnx", "0"): 2}))
    assert verdict_lines(document)[-1] == "与基线比较：0 条已知，0 条新增，2 条已消除"


@pytest.mark.parametrize("language", LANGUAGES)
def test_hostile_names_cannot_command_the_terminal(language: str) -> None:
    text = text_of(hostile(), hostile(), language=language, verbose=True)
    assert all(line.isprintable() for line in text.split("\n"))
    text.encode("utf-8")


def test_every_word_has_both_languages() -> None:
    tables: tuple[dict[str, Text] | dict[Standing, Text], ...] = (
        check_words.LEVELS,
        check_words.COLUMNS,
    )
    for table in tables:
        assert all(words.en and words.zh for words in table.values())
    assert set(check_words.LEVELS) == set(check_words.COLUMNS) == set(Standing)


def test_groups_over_a_hundred_are_counted_unless_verbose() -> None:
    sentences = [verbatim(f"rule {number}") for number in range(150)]
    findings = [replace(STRIDES, allowed=each, rule=each.en) for each in sentences]
    check = model_check(*(at(each, node, f"n{node}") for node, each in enumerate(findings)))
    text = text_of(check)
    assert text.count("error[") == 100
    assert "\n... and 50 more findings; --verbose names all\n" in text
    assert text_of(check, verbose=True).count("error[") == 150
    assert "另有 50 条检查结果" in text_of(check, language="zh")


def test_operators_over_a_hundred_are_summed_unless_verbose() -> None:
    counts = {Standing.ERROR: 2}
    operators = tuple(NodeCount(f"Op{number}", False, counts) for number in range(103))  # noqa: FBT003
    check = model_check(operators=operators)
    rows = block(text_of(check), "Operators")
    assert rows[-1].split() == ["...", "3", "more", "6", "-", "6"]
    assert len(block(text_of(check, verbose=True), "Operators")) == len(rows) + 2
