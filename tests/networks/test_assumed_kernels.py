"""Where CANN publishes no kernels, or not of all operators, `convert` warns and `check` says so."""

from pathlib import Path

import onnx
import pytest
from onnx import parser

import atc_py
from atc_py.diag.codes import ASSUMED_KERNELS, FORMER_SOC_NAME
from atc_py.report.check.json_document import check_document
from atc_py.report.check.text import check_text

PRODUCT = """<ir_version: 8, opset_import: ["" : 13]>
one (float[2, 4] x) => (y) <float[4, 2] w = {1, 2, 3, 4, 5, 6, 7, 8}> { y = MatMul (x, w) }"""

NORMALIZED = """<ir_version: 8, opset_import: ["" : 13]>
one (float[1, 8, 2, 2] x) => (y) { y = LRN <size = 3> (x) }"""


def saved(text: str, folder: Path) -> Path:
    path = folder / "one.onnx"
    onnx.save(parser.parse_model(text), path)
    return path


@pytest.mark.parametrize(
    ("soc", "text", "warned"),
    [
        ("Ascend350_354f", PRODUCT, "the kernels of Ascend350_354f are"),
        ("Ascend950PR_9599", PRODUCT, ""),
        ("Ascend950PR_9599", NORMALIZED, "the kernels of LRN are not published for Ascend950PR"),
        ("sim", NORMALIZED, ""),
        ("Ascend910B3", NORMALIZED, ""),
    ],
)
def test_convert_warns_of_kernels_whose_dtypes_are_assumed(
    soc: str, text: str, warned: str, tmp_path: Path
) -> None:
    done = atc_py.convert(saved(text, tmp_path), tmp_path / "one.om", soc=soc)
    found = [each.message for each in done.warnings if each.code is ASSUMED_KERNELS]
    assert len(found) == bool(warned)
    assert all(str(message).startswith(warned) for message in found)


@pytest.mark.parametrize(
    ("soc", "words"),
    [
        ("Ascend350_354f", {"en": "are assumed", "zh": "推定"}),
        ("Ascend910_95", {"en": "is now called Ascend950PR_9589", "zh": "现名 Ascend950PR_9589"}),
        ("Ascend950PR_9599", {}),
        ("Ascend910B3", {}),
    ],
)
def test_check_says_what_is_taken_for_a_soc(
    soc: str, words: dict[str, str], tmp_path: Path
) -> None:
    report = atc_py.check_models(saved(PRODUCT, tmp_path), soc=soc)
    for language in ("en", "zh"):
        document = check_document(report, language)
        if words:
            assert words[language] in document.soc_note
            assert words[language] in check_text(document)
        else:
            assert not document.soc_note


def test_former_name_is_taken_and_said(tmp_path: Path) -> None:
    path = saved(PRODUCT, tmp_path)
    done = atc_py.convert(path, tmp_path / "one.om", soc="ascend910_95")
    assert [each.code for each in done.warnings] == [FORMER_SOC_NAME]
    with atc_py.load(tmp_path / "one.om") as model:
        assert model.description.soc == "Ascend950PR_9589"
