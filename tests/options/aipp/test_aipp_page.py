"""docs/aipp.md: its tables are those of the code, its example and recipes are right."""

import re
from pathlib import Path

import numpy as np
import pytest

from atc_py.options.aipp import checked, config_doubts, read_aipp_file
from atc_py.options.aipp.doubts import _MOST_FACTORS
from atc_py.options.aipp.fields import AIPP_FIELDS
from atc_py.options.aipp.pictures import ColorStandard
from atc_py.options.aipp.rules import AIPP_RULES
from tests.derived_aipp import PAGE, PREPROCESSINGS, WAYS, aipp_page, errors
from tests.options.aipp.configs import network, written

TEXT = PAGE.read_text(encoding="utf-8")


def test_tables_are_current() -> None:
    assert aipp_page() == TEXT, "run `make docs`"


@pytest.mark.parametrize("family", AIPP_RULES)
def test_example_is_accepted_everywhere(tmp_path: Path, family: str) -> None:
    (example,) = re.findall(r"```text\n(aipp_op.*?)```", TEXT, re.DOTALL)
    (config,) = read_aipp_file(written(tmp_path, example)).configs
    assert checked(config, network(family=family)).output_size == (224, 224)
    assert config_doubts(config) == []


def test_recipes_are_the_standards() -> None:
    rows = re.findall(
        r"^\| YUV, (.+?) \| RGB \| ([-\d, ]+) \| input (\d+), 128, 128 \|$", TEXT, re.MULTILINE
    )
    labels = {standard.label: standard for standard in ColorStandard}
    assert {label.replace(" and ", ", ") for label, _, _ in rows} == set(labels)
    for label, numbers, bias in rows:
        standard = labels[label.replace(" and ", ", ")]
        matrix = np.array([int(number) for number in numbers.split(",")]).reshape(3, 3)
        assert np.abs(matrix - 256 * standard.to_rgb()).max() < 1.1
        assert int(bias) == standard.ranges[0]


def test_recipes_to_yuv_are_the_standards() -> None:
    pattern = r"^\| RGB \| YUV, (.+?) \| ([-\d, ]+) \| output (\d+), 128, 128 \|$"
    rows = re.findall(pattern, TEXT, re.MULTILINE)
    labels = {standard.label: standard for standard in ColorStandard}
    assert {label.replace(" and ", ", ") for label, _, _ in rows} == set(labels)
    for label, numbers, bias in rows:
        standard = labels[label.replace(" and ", ", ")]
        matrix = np.array([int(number) for number in numbers.split(",")]).reshape(3, 3)
        assert np.abs(matrix - 256 * np.linalg.inv(standard.to_rgb())).max() < 1.1
        assert int(bias) == standard.ranges[0]


def test_advice_on_means_is_right() -> None:
    for means, deviations in PREPROCESSINGS.values():
        split, alone, rounded = (errors(means, deviations, way)[1] for way in WAYS)
        assert split <= alone <= rounded


def test_page_names_every_field_and_bound() -> None:
    table = TEXT.partition("<!-- derived: fields -->")[2].partition("<!-- end -->")[0]
    numbers = {
        int(number)
        for row in re.findall(r"^\| `.*?\| ([\d, ]+) \|", table, re.MULTILINE)
        for number in row.split(",")
    }
    assert numbers == {row.number for row in AIPP_FIELDS}
    assert f"{_MOST_FACTORS:,}" in TEXT
