"""Rules of CANN's ONNX parser about whole models, as findings and as atc's errors."""

import json
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx.helper import make_node

import atc_py
from atc_py.check.findings import Finding, Standing
from atc_py.check.parser_rules import model_findings
from atc_py.diag import DEVIATES_ON_CANN, REFUSED_BY_PARSER, AtcError
from atc_py.onnx_graph.reading import parser_breaks
from atc_py.onnx_graph.reading.parser_breaks import broken_rules
from atc_py.onnx_graph.reading.read import read_model
from atc_py.spec.lists import parser_rules
from tests import parser_models as models
from tests.check.checks import checked
from tests.end_to_end import run_with_atc_py, run_with_onnxruntime
from tests.executed_lines import PACKAGE, executed, steep
from tests.parser_models import MODELS, model

CODES = {
    "several-imports": "E16005",
    "domain-not-imported": "E19999",
    "repeated-name": "E13009",
    "omitted-input-in-branch": "E19999",
    "constant-without-value": "E89999",
    "no-inputs": "E16001",
    "output-without-input": "E19999",
    "function": "E13010",
    "capture-of-nested-if": "E89999",
    "element-type": "E19999",
    "numbers-one-by-one": "E19999",
    "fill-one-by-one": "E89999",
    "external-data-in-branch": "E13001",
    "external-data-key": "E10001",
    "file-size": "E13015",
}


def of_model(proto: onnx.ModelProto, folder: Path, cann: str = "9.1") -> list[Finding]:
    """Return the findings about a whole model."""
    found = checked(proto, folder, cann=cann).findings
    return [each for each in found if each.rule.partition("/")[2] in parser_rules()]


@pytest.mark.parametrize("name", MODELS)
def test_every_rule_is_found_and_no_other(name: str, tmp_path: Path) -> None:
    rule = name.split(maxsplit=1)[0]
    found = of_model(MODELS[name](), tmp_path)
    assert {each.rule for each in found} == {f"parser/{rule}"}
    for each in found:
        if each.code is DEVIATES_ON_CANN:
            assert each.standing is Standing.ACCURACY
            continue
        assert each.standing is Standing.PARSER
        assert each.code is REFUSED_BY_PARSER
        assert each.atc is not None
        assert each.atc.code == CODES.get(rule, "E19999")
        assert each.atc.code in each.help


def test_rows_are_those_of_the_table() -> None:
    assert {name: row.code for name, row in parser_rules().items() if row.code} == CODES
    for row in parser_rules().values():
        assert sorted((*row.proven, *row.inferred)) in (["5-6"], ["8.5-9.2"], ["5-6", "8.5-9.2"])


@pytest.mark.parametrize(
    "proto",
    [
        model([make_node("Relu", ["x"], ["a"]), make_node("Relu", ["a"], ["y"])]),
        model([make_node("Relu", ["x"], ["y"])], imports=[("ai.onnx", 13)]),
        model([make_node("Relu", ["x"], ["y"])], imports=[("", 13), ("", 13)]),
        model([make_node("Clip", ["x", "", "high"], ["y"])], constants=[models.HIGH]),
        model([make_node("Dropout", ["x"], ["y", ""])]),
    ],
)
def test_near_misses_are_not_found(proto: onnx.ModelProto, tmp_path: Path) -> None:
    assert of_model(proto, tmp_path) == []


def test_rules_of_one_generation(tmp_path: Path) -> None:
    rule = "parser/numbers-one-by-one"
    found = {
        cann: of_model(models.one_by_one(), tmp_path, cann) for cann in ("6", "7", "8.5", "9.1")
    }
    assert [each.rule for each in found["6"]] == [each.rule for each in found["7"]] == [rule]
    assert (found["6"][0].certainty, found["7"][0].certainty) == ("proven", "inferred")
    assert not found["8.5"]
    assert not found["9.1"]
    unjoined = MODELS["output-without-input"]()
    assert not of_model(unjoined, tmp_path, "6")


@pytest.mark.parametrize(
    ("key", "text", "in_branch", "rules"),
    [
        ("checksum", "a94a8f", False, ["external-data-key"]),
        ("checksum", "94a8f", False, []),
        ("offset", "0", True, ["external-data-in-branch"]),
    ],
)
def test_data_beside_the_model(
    key: str, text: str, in_branch: bool, rules: list[str], tmp_path: Path
) -> None:
    (tmp_path / "c.bin").write_bytes(np.ones(4, np.float32).tobytes())
    found = of_model(models.external(key, text, in_branch=in_branch), tmp_path)
    assert [each.rule for each in found] == [f"parser/{rule}" for rule in rules]


def test_size_of_the_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    proto = model([make_node("Relu", ["x"], ["y"])])
    monkeypatch.setattr(parser_breaks, "MOST_BYTES", proto.ByteSize() - 1)
    (found,) = of_model(proto, tmp_path)
    assert found.rule == "parser/file-size"
    monkeypatch.setattr(parser_breaks, "MOST_BYTES", proto.ByteSize())
    assert not of_model(proto, tmp_path)


def test_imports_are_named_with_those_that_nodes_use(tmp_path: Path) -> None:
    (found,) = of_model(models.foreign_import(), tmp_path)
    assert found.observed == '2: "", ai.onnx.ml, of which no node uses ai.onnx.ml'


def test_domains_that_nodes_need_have_advice_of_their_own(tmp_path: Path) -> None:
    nodes = [
        make_node("Gelu", ["x"], ["h"], domain="com.microsoft"),
        make_node("Relu", ["h"], ["y"]),
    ]
    imports = [("", 13), ("com.microsoft", 1)]
    (found,) = of_model(model(nodes, imports=imports), tmp_path)
    assert found.rule == "parser/several-imports"
    assert "nodes of com.microsoft need their import" in found.help.en


@pytest.mark.parametrize("mode", ["0", "3"])
@pytest.mark.parametrize("name", ["several-imports", "repeated-name", "no-inputs"])
def test_atc_ends_with_the_code(
    name: str, mode: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from atc_py.adapters.atc.console import Console
    from atc_py.adapters.atc.run import run_atc

    monkeypatch.chdir(tmp_path)
    onnx.save(MODELS[name](), "m.onnx")
    lines: list[str] = []
    console = Console(lines.append, lines.append, print)
    words = ("--model=m.onnx", "--framework=5", "--soc_version=Ascend310P3", "--output=o")
    assert run_atc((*words, f"--mode={mode}"), console) == 255
    assert any(line.startswith(f"{CODES[name]}: ") for line in lines)
    assert not Path("o.om").exists()
    report = json.loads(Path("check_result.json").read_text())
    assert report["result"] == "failed"


def test_omitted_output_is_joined_as_the_parser_joins_it(tmp_path: Path) -> None:
    onnx.save(models.joined_to_state(), tmp_path / "m.onnx")
    options: dict[str, Any] = {
        "semantics": "cann",
        "precision_mode": "must_keep_origin_dtype",
    }
    done = atc_py.convert(tmp_path / "m.onnx", tmp_path / "m.om", **options)
    assert done.facts.semantics is not None
    (node,) = done.facts.semantics.nodes
    assert [each.name for each in node.deviations] == ["parser/omitted-output-as-input"]
    feeds = {"x": np.random.default_rng(0).standard_normal((3, 2, 4)).astype(np.float32)}
    found = run_with_atc_py(models.joined_to_state(), feeds, tmp_path, **options)["y"]
    expected, original = (
        run_with_onnxruntime(make(), feeds)["y"]
        for make in (models.state_passed_on, models.joined_to_state)
    )
    assert np.allclose(found, expected, atol=1e-3)
    assert not np.allclose(found, original, atol=1e-2)


@pytest.mark.parametrize("name", ["several-imports", "omitted-output-as-input of the node itself"])
def test_what_ends_the_parser_is_not_simulated(name: str, tmp_path: Path) -> None:
    onnx.save(MODELS[name](), tmp_path / "m.onnx")
    with pytest.raises(AtcError) as raised:
        atc_py.convert(tmp_path / "m.onnx", semantics="cann")
    assert raised.value.diagnostics[0].code is REFUSED_BY_PARSER


def test_work_is_in_proportion_to_the_nodes(tmp_path: Path) -> None:
    counts = []
    for size in (40, 80, 160):
        names = ["x", *(f"v{at}" for at in range(size)), "y"]
        nodes = [make_node("Relu", [read], [made]) for read, made in pairwise(names)]
        onnx.save(model(nodes), tmp_path / "m.onnx")
        file = read_model(tmp_path / "m.onnx")
        assert model_findings(broken_rules(file), "", "9.1") == ()
        counts.append(executed(partial(broken_rules, file), PACKAGE))
    assert steep(counts) == {}
