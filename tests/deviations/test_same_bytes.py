"""Both semantics compile a model to the same bytes unless `check` reports a deviation in it."""

from pathlib import Path
from types import SimpleNamespace
from typing import Any

import onnx
import pytest
from onnx import helper

import atc_py
from atc_py.check.findings import Standing
from atc_py.compare.model import network_semantics
from atc_py.diag import AtcError
from atc_py.diag.codes import DEVIATES_ON_CANN, NO_CANN_ARITHMETIC, REFUSED_BY_PARSER
from atc_py.options.compile_options import CompileOptions
from tests.conformance.cases import cases
from tests.deviations.keras_like import keras_like_gru
from tests.deviations.networks_page import GENERATIONS, NAMES, SHARED
from tests.onnx_graph import onnx_files
from tests.sampling import sampled

GROUPS = 40
"""The conformance cases are tried in so many groups; a group has cases of all kinds."""

MODE = "allow_fp32_to_fp16"
SMALLEST = "espcn_opset12"

OF_WHOLE_GRAPHS = {"parser/no-inputs", "parser/output-without-input"}
"""Refusals that say nothing of what nodes compute, which is followed."""


def compiled(path: Path, folder: Path, generation: int, semantics: str) -> bytes | None:
    """Return the offline model; None where CANN refuses the model or its result is undefined."""
    try:
        done = atc_py.convert(
            path,
            folder / f"{semantics}.om",
            precision_mode=MODE,
            operator_list=GENERATIONS[generation],
            cann=generation,
            semantics=semantics,
        )
    except AtcError as error:
        codes = {each.code for each in error.diagnostics}
        if semantics == "cann" and codes <= {REFUSED_BY_PARSER, NO_CANN_ARITHMETIC}:
            return None
        raise
    return done.output.read_bytes()


def is_flagged(path: Path, generation: int) -> bool | None:
    """Return whether `check` reports a deviation or a refusal of a node.

    None is for a model with errors, and for one of which all that is reported is not decided: where
    CANN's result is defined for other values alone, both semantics are the same.
    """
    (found,) = atc_py.check_models(
        path, precision_mode=MODE, operator_list=GENERATIONS[generation], cann=generation
    ).models
    if found.standing is Standing.ERROR:
        return None
    reported = [
        "(not decided: " not in each.message.en
        for each in found.findings
        if each.code in {DEVIATES_ON_CANN, REFUSED_BY_PARSER} and each.rule not in OF_WHOLE_GRAPHS
    ]
    return any(reported) or (None if reported else False)


def disagreement(path: Path, folder: Path, generation: int) -> str:
    """Return how the two semantics contradict `check`; empty where they do not."""
    flagged = is_flagged(path, generation)
    if flagged is None:
        return ""
    try:
        plain = compiled(path, folder, generation, "onnx")
    except AtcError:
        return ""  # What only the compiler refuses has no bytes to compare.
    same = plain == compiled(path, folder, generation, "cann")
    if same is not flagged:
        return ""
    return f"{path.parent.name} on CANN {generation}: " + (
        "reported, and the same bytes" if flagged else "not reported, and other bytes"
    )


@pytest.mark.parametrize(
    ("name", "generation"),
    sampled(
        [(SMALLEST, 5), (SMALLEST, 9)],
        ((name, each) for name in NAMES if name != SMALLEST for each in GENERATIONS),
    ),
)
def test_networks(name: str, generation: int, tmp_path: Path) -> None:
    path = SHARED / name / "model.onnx"
    if not path.is_file():
        pytest.skip("the shared models are not here")
    assert disagreement(path, tmp_path, generation) == ""


@pytest.mark.parametrize(
    ("group", "generation"),
    sampled(
        [(0, 5), (1, 9)],
        (
            (group, each)
            for group in range(GROUPS)
            for each in GENERATIONS
            if (group, each) not in {(0, 5), (1, 9)}
        ),
    ),
)
def test_conformance_cases(group: int, generation: int, tmp_path: Path) -> None:
    found = [
        disagreement(case / "model.onnx", tmp_path, generation) for case in cases()[group::GROUPS]
    ]
    assert [each for each in found if each] == []


@pytest.mark.parametrize("generation", GENERATIONS)
def test_a_flagged_model_compiles_to_other_bytes(generation: int, tmp_path: Path) -> None:
    path = tmp_path / "gru.onnx"
    onnx.save(keras_like_gru(), path)
    assert is_flagged(path, generation)
    assert compiled(path, tmp_path, generation, "onnx") != compiled(
        path, tmp_path, generation, "cann"
    )


@pytest.mark.parametrize(("names", "deviations"), [(("p", "q"), 1), (("p", "p"), 0)])
def test_a_network_that_the_parser_refuses_has_no_known_semantics(
    names: tuple[str, str], deviations: int, tmp_path: Path
) -> None:
    nodes = [
        helper.make_node(
            "AveragePool", ["x"], ["a"], names[0], kernel_shape=[2, 2], auto_pad="SAME_LOWER"
        ),
        helper.make_node("Relu", ["a"], ["y"], names[1]),
    ]
    path = tmp_path / "m.onnx"
    onnx.save(onnx_files.model(nodes, {"x": (onnx_files.FLOAT, [1, 2, 5, 5])}, ["y"]), path)
    atc_py.convert(path, tmp_path / "m.om", soc="Ascend310P3", operator_list="any")
    with atc_py.load(tmp_path / "m.om") as model:
        package: Any = SimpleNamespace(
            report={"huawei": {"opp_version": "9.1.0"}}, description=model.description
        )
    found = network_semantics(package, path, CompileOptions())
    assert len(found.warnings) == deviations
    assert (found.nodes is not None) is bool(deviations)
