"""Forms that will be rewritten are information: what becomes of them, not what they must be."""

import re
from pathlib import Path

import numpy as np
import onnx
import pytest

import atc_py
from atc_py.check.condition_words import rewrite_text
from atc_py.report.check.json_document import check_document
from atc_py.report.check.text import check_text
from atc_py.spec.rewrites import EFFECTS, REWRITES
from tests.cli.test_convert_amount import grouped_model


def test_each_rewrite_has_an_effect_in_both_languages() -> None:
    assert list(EFFECTS) == list(REWRITES)
    for words in EFFECTS.values():
        assert words.en.startswith("will ")
        assert re.search("[\u4e00-\u9fff]", words.zh)


@pytest.mark.parametrize(
    ("field", "observed", "text"),
    [
        ("attribute group", "16", "group 16 of Conv: will be split"),
        ("attribute group", "", "group of Conv: will be split"),
        ("input X", "rank 3", "input X of Conv, rank 3: will be split"),
        (None, "opset 17", "Conv, opset 17: will be split"),
        (None, "", "Conv: will be split"),
    ],
)
def test_sentence_names_subject_value_and_effect(
    field: str | None, observed: str, text: str
) -> None:
    assert rewrite_text("Conv", field, observed, "will be split") == text


def test_chinese_sentence_names_the_same() -> None:
    text = rewrite_text("Conv", "attribute group", "16", EFFECTS["split-groups"])
    assert text.zh == "Conv 的 group（16）：将拆分"


@pytest.mark.parametrize("language", ["en", "zh"])
def test_report_words_a_rewrite_as_information(tmp_path: Path, language: str) -> None:
    onnx.save(grouped_model(), tmp_path / "grouped.onnx")
    found = atc_py.check_models(tmp_path / "grouped.onnx")
    text = check_text(check_document(found, language), verbose=True)
    said = {"en": "group 4 of Conv: will be split", "zh": "Conv 的 group（4）：将拆分"}[language]
    assert said in text
    assert "must be 1" not in text
    assert "须为 1" not in text


def test_values_of_several_nodes_are_left_to_their_lines(tmp_path: Path) -> None:
    model = grouped_model()
    model.graph.node[0].output[0] = "c"
    two = onnx.helper.make_node("Conv", ["c", "w2"], ["y"], name="conv2", group=8)
    model.graph.node.append(two)
    model.graph.initializer.append(
        onnx.numpy_helper.from_array(np.ones((8, 1, 1, 1), np.float32), "w2")
    )
    onnx.save(model, tmp_path / "two.onnx")
    document = check_document(atc_py.check_models(tmp_path / "two.onnx"), "en")
    text = check_text(document, verbose=True)
    assert "]: group of Conv: will be split\n" in text
    assert "found 4" in text
    assert "found 8" in text
