"""`atc-py ops`: lists, pages, differences and validation, from the command line."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Result

Atc = Callable[..., Result]

SPEC = """\
op: {op}
{kind}
summary: {{en: My own, zh: 自己的}}
inputs:
  - {{name: X, dtypes: [float16]}}
outputs:
  - {{name: Y, dtypes: same_as X}}
"""


def write(path: str, op: str = "Relu", kind: str = "opsets: [13]", more: str = "") -> None:
    file = Path(path)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(SPEC.format(op=op, kind=kind) + more, encoding="utf-8")


def operators(done: Result) -> set[str]:
    return {row["op"] for row in done.json}


def test_list_filters_combine(atc: Atc) -> None:
    found = operators(atc("ops", "list", "--group", "nn", "--opset", 8, "--onnx", "--json"))
    assert "AveragePool" in found
    assert not found & {"Conv", "Relu", "AscendQuant"}
    custom = operators(atc("ops", "list", "--custom", "--dtype", "int32", "--json"))
    assert "AscendDequant" in custom
    assert "Conv" not in custom


def test_list_in_text_and_chinese(atc: Atc) -> None:
    assert "  Conv  " in atc("ops", "list", "--group", "nn").out
    assert "二维卷积" in atc("ops", "list", "--lang", "zh").out


def test_list_of_nothing(atc: Atc) -> None:
    done = atc("ops", "list", "--custom", "--opset", 13)
    assert (done.status, done.out, done.err) == (0, "no operator matches\n", "")
    assert atc("ops", "list", "--custom", "--opset", 13, "--json").json == []


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        (("--group", "vision"), "math, nn"),
        (("--dtype", "float8"), "float16, bfloat16"),
        (("--opset", "0"), "0"),
        (("--opset", "x"), "'x'"),
        (("--lang", "fr"), "'en', 'zh'"),
    ],
)
def test_list_with_an_unknown_value_is_a_wrong_call(
    atc: Atc, arguments: tuple[str, str], part: str
) -> None:
    done = atc("ops", "list", *arguments)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith("error[ATC1001 ")
    assert part in done.err


def test_show_tells_rules_rewrites_and_versions(atc: Atc) -> None:
    text = " ".join(atc("ops", "show", "Conv").out.split())
    assert "strides of Conv" in text
    assert "else rewrite (the convolution keeps its groups in one launch" in text
    assert "(listed: 11-13)" in text
    assert "二维卷积" in atc("ops", "show", "conv", "--lang", "zh").out
    data = atc("ops", "show", "Conv", "--json").json
    assert data["versions"][0]["version"] == 1
    assert data["rules"]


def test_diff(atc: Atc) -> None:
    done = atc("ops", "diff", "relu", 12, 13)
    assert (done.status, done.err) == (0, "")
    assert done.out.splitlines()[-1] == "  - T (X, Y): bfloat16 gained"
    assert "新增 bfloat16" in atc("ops", "diff", "relu", 12, 13, "--lang", "zh").out
    assert atc("ops", "diff", "relu", 12, 13, "--json").json["versions"] == [6, 13]
    assert "nothing changed" in atc("ops", "diff", "Relu", 8, 9).out


@pytest.mark.parametrize(
    ("arguments", "code", "part"),
    [
        (("Relu", "8", "x"), "ATC1001", "'x'"),
        (("Relu", "0", "8"), "ATC1001", "[1, "),
        (("Relu", "-1", "8"), "ATC1001", "'-1'"),
        (("Relu", "8", "999"), "ATC1001", "newest opset"),
        (("Celu", "8", "12"), "ATC1001", "opsets 12"),
        (("Rleu", "8", "9"), "ATC1008", "Relu"),
        (("Relu", "8"), "ATC1001", "OPSET"),
    ],
)
def test_diff_with_a_wrong_argument_is_a_wrong_call(
    atc: Atc, arguments: tuple[str, ...], code: str, part: str
) -> None:
    done = atc("ops", "diff", *arguments)
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith(f"error[{code} ")
    assert part in done.err


def test_own_specifications_are_valid(atc: Atc) -> None:
    done = atc("ops", "validate")
    assert done.status == 0
    assert " specifications, no fault" in done.out
    assert "error[" not in done.err


def test_validate_of_a_good_folder(atc: Atc) -> None:
    write("mine/relu.yaml")
    write("mine/nn/swish.yaml", "Swish", "custom: true")
    done = atc("ops", "validate", "mine")
    assert (done.status, done.out, done.err) == (0, "2 specifications, no fault\n", "")
    assert atc("ops", "validate", "--op-specs", "mine", "--json").json == {
        "specifications": 2,
        "diagnostics": [],
    }
    one = atc("ops", "validate", "mine/relu.yaml")
    assert (one.status, one.out) == (0, "1 specification, no fault\n")


def test_validate_with_a_warning_is_not_a_failure(atc: Atc) -> None:
    write("mine/celu.yaml", "Celu", "opsets: [11, 12]")
    done = atc("ops", "validate", "mine")
    assert (done.status, done.out) == (0, "1 specification, no fault, 1 warning\n")
    assert done.err.startswith("warning[ATC2013 doubtful-operator-spec]: listed at 11, ONNX has")
    (found,) = atc("ops", "validate", "mine", "--json").json["diagnostics"]
    assert found["severity"] == "warning"


def test_validate_tells_every_fault_with_its_place(atc: Atc) -> None:
    write("mine/relu.yaml", more="extra: 1\nother: 2\n")
    write("mine/nn/relu.yaml")
    write("mine/nn/bad.yaml", "Bad")
    Path("mine/bomb.yaml").write_text("a: &a [x]\nb: [*a, *a]\n", encoding="utf-8")
    Path("mine/image.yml").write_bytes(b"\x89PNG\r\n\x1a\n")
    done = atc("ops", "validate", "mine")
    assert (done.status, done.out) == (3, "")
    places = [line.split("--> ")[1] for line in done.err.splitlines() if "-->" in line]
    assert places == [
        "mine/bomb.yaml:1:4",
        "mine/image.yml:1:1",
        "mine/nn/bad.yaml:1:5",
        "mine/relu.yaml:8:1",
        "mine/relu.yaml:9:1",
    ]
    found = atc("ops", "validate", "mine", "--json")
    assert found.status == 3
    assert [row["place"]["line"] for row in found.json["diagnostics"]] == [1, 1, 1, 8, 9]


def test_validate_of_a_duplicate(atc: Atc) -> None:
    write("mine/relu.yaml")
    write("mine/nn/relu.yaml")
    done = atc("ops", "validate", "mine")
    assert done.status == 3
    assert "Relu is described here and in mine/nn/relu.yaml" in done.err
    assert "--> mine/relu.yaml:1:5" in done.err


@pytest.mark.parametrize(
    ("path", "code"),
    [("gone", "ATC2001"), ("empty", "ATC2009"), ("x" * 300, "ATC200")],
)
@pytest.mark.parametrize("command", ["validate", "list", "show"])
def test_folder_without_specifications_is_refused(
    atc: Atc, path: str, code: str, command: str
) -> None:
    Path("empty").mkdir()
    operator = ["Conv"] if command == "show" else []
    done = atc("ops", command, *operator, "--op-specs", path)
    assert (done.status, done.out) == (3, "")
    assert done.err.startswith(f"error[{code}")


def test_users_specifications_are_listed_and_shown(atc: Atc) -> None:
    write("mine/relu.yaml")
    write("mine/swish.yaml", "Swish", "custom: true")
    rows = {row["op"]: row for row in atc("ops", "list", "--op-specs", "mine", "--json").json}
    assert rows["Relu"]["opsets"] == [13]
    assert rows["Relu"]["file"] == "mine/relu.yaml"
    assert rows["Swish"]["group"] == "user"
    assert rows["Conv"]["file"] == "op_specs/base/nn/conv.yaml"
    shown = atc("ops", "show", "swish", "--op-specs", "mine").out
    assert "Swish (user)" in shown
    assert "[mine/swish.yaml:5]" in shown
    assert atc("ops", "show", "swish").status == 2


def test_broken_specification_of_a_user_is_reported_at_once(atc: Atc) -> None:
    write("mine/relu.yaml", more="extra: 1\n")
    for command in (("list",), ("show", "Conv")):
        done = atc("ops", *command, "--op-specs", "mine")
        assert (done.status, done.out) == (3, "")
        assert "--> mine/relu.yaml:8:1" in done.err


def test_texts_of_users_cannot_command_the_terminal(atc: Atc) -> None:
    write("mine/relu.yaml", more="notes: {en: 'turned \u202e round'}\n")
    done = atc("ops", "show", "Relu", "--op-specs", "mine")
    assert "\u202e" not in done.out
    assert "\\u202e" in done.out


def test_lists_name_release_operators_and_opsets(atc: Atc) -> None:
    (base, newer) = atc("ops", "lists", "--json").json
    assert (base["name"], base["operators"], base["opsets"][-1]) == ("base", 131, 13)
    assert (newer["name"], newer["release"], newer["opsets"][-1]) == ("cann-9.0", "CANN 9.0", 18)
    assert "CANN 9.0" in atc("ops", "lists").out


def test_show_takes_the_list(atc: Atc, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "Opsets: 8-13\n" in atc("ops", "show", "Abs").out
    assert "Opsets: 8-18\n" in atc("ops", "show", "Abs", "--list", "cann-9.0").out
    monkeypatch.setenv("ATC_PY_LIST", "cann-9.0")
    assert "Opsets: 8-18\n" in atc("ops", "show", "Abs").out
    assert "Opsets: 8-13\n" in atc("ops", "show", "Abs", "--list", "base").out


def test_lists_are_compared(atc: Atc) -> None:
    both = ("--list", "base", "--list", "cann-9.0")
    done = atc("ops", "diff", "abs", *both)
    assert done.status == 0
    assert "  opsets: 8-13 -> 8-18\n" in done.out
    assert " -> float16 float32 int8 int16 int32 int64\n" in done.out.replace("\n    ", " ")
    found = {each["op"]: each for each in atc("ops", "diff", *both, "--json").json["operators"]}
    assert found["Abs"]["facts"][0]["subject"]["en"] == "opsets"
    assert atc("ops", "diff", "abs", "--list", "base", "--list", "base").out.startswith(
        "Abs: the same"
    )


@pytest.mark.parametrize(
    "arguments",
    [(), ("Abs",), ("Abs", "8"), ("Abs", "--list", "base"), ("Abs", "8", "13", "--list", "base")],
)
def test_wrong_comparison_is_a_wrong_call(atc: Atc, arguments: tuple[str, ...]) -> None:
    assert atc("ops", "diff", *arguments).status == 2


def test_unknown_list_is_refused_with_those_known(atc: Atc) -> None:
    done = atc("check", "x.onnx", "--list", "cann-9")
    assert done.status == 2
    assert "did you mean cann-9.0? lists are any, base, cann-9.0" in done.err
