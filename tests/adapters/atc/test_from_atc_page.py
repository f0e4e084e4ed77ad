"""docs/from-atc.md: its pairs of lines, and what the table says of each option."""

import inspect
import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import atc_py
from atc_py.adapters.atc.options import OPTIONS, AtcOption, Treatment
from atc_py.cli.main import main
from atc_py.options.keywords import ConvertKeywords
from atc_py.package.reader import open_model
from tests.adapters.atc.conftest import Ran
from tests.derived_docs import DOCS
from tests.derived_from_atc import GUIDE
from tests.failures import in_one_item

SAMPLES = {
    "input_hint_shape": "0:[1,3,224,224]",
    "static_model_ops_lower_limit": "1",
    "aicore_num": "2",
    "weight": "weights.caffemodel",
    "op_name_map": "keep.txt",
    "multi_stream_parallel_mode": "cv",
    "h2d_overlapped_with_compute": "1",
    "cal_conf": "keep.txt",
    "is_input_adjust_hw_layout": "true --input_fp16_nodes=x",
    "is_output_adjust_hw_layout": "true --out_nodes=y",
    "deterministic_level": "1 --deterministic=1",
}
"""Values of options whose table does not name any, or that need others beside them."""


def sample(option: AtcOption) -> str:
    """Return a value of an option that is not its default."""
    others = [each for each in option.values if each not in (option.default, *option.neutral)]
    return SAMPLES.get(option.name, others[0] if others else "name")


def options(treatment: Treatment) -> list[AtcOption]:
    """Return the options of a treatment."""
    return [each for each in OPTIONS.values() if each.effect is treatment]


@pytest.mark.parametrize("option", options(Treatment.NO_MEANING), ids=lambda each: each.name)
def test_option_without_meaning_is_accepted_and_named(
    option: AtcOption, atc: Callable[[str], Ran]
) -> None:
    ran = atc(f"{{B}} --{option.name}={sample(option)}")
    assert ran.status == 0, ran.err
    assert any(f"--{option.name}" in line and "no effect" in line for line in ran.lines)


@pytest.mark.parametrize("option", options(Treatment.REFUSED), ids=lambda each: each.name)
def test_refused_option_says_what_to_do_instead(
    option: AtcOption, atc: Callable[[str], Ran]
) -> None:
    ran = atc(f"{{B}} --{option.name}={sample(option)}")
    assert ran.status == 255
    assert ran.code == ("E10001" if option.name == "auto_tune_mode" else "E10055")
    assert "Solution" in ran.out
    assert not list(ran.folder.rglob("*.om"))


@pytest.mark.parametrize("option", options(Treatment.REFUSED), ids=lambda each: each.name)
def test_values_that_change_nothing_are_accepted(
    option: AtcOption, atc: Callable[[str], Ran]
) -> None:
    assert option.neutral
    assert option.hint
    for value in option.neutral:
        assert atc(f'{{B}} --{option.name}="{value}"').status == 0


@in_one_item("option", OPTIONS.values(), ids=lambda each: each.name)
def test_row_of_the_table_is_complete(option: AtcOption) -> None:
    known = {*ConvertKeywords.__annotations__, *inspect.signature(atc_py.convert).parameters}
    assert option.words
    assert not option.words.endswith(".")
    assert not option.keyword or option.keyword in known
    assert bool(option.code) <= bool(option.values)
    assert not option.default or not option.values or option.default in (*option.values, "-1")


def digest(path: Path) -> object:
    """Return what an offline model computes, without the command line that it records."""
    with open_model(path) as model:
        found = model.description
    return found.inputs, found.outputs, found.tensors, found.nodes, found.soc


@pytest.mark.parametrize(("line", "command"), GUIDE)
def test_pair_of_lines_makes_the_same_model(
    line: str, command: str, atc: Callable[[str], Ran]
) -> None:
    ran = atc(line.removeprefix("atc "))
    assert ran.status == 0, ran.err
    ours = ran.folder / "ours.om"
    os.replace(ran.folder / "o.om", ran.folder / "atcs.om")  # noqa: PTH105
    with pytest.raises(SystemExit) as ended:
        main(shlex.split(command)[1:])
    assert not ended.value.code
    os.replace(ran.folder / "o.om", ours)  # noqa: PTH105
    assert digest(ours) == digest(ran.folder / "atcs.om")


@pytest.mark.parametrize(
    "line", ["shopt -s expand_aliases\nalias atc='atc-py atc'", 'atc() { atc-py atc "$@"; }']
)
def test_line_for_shells_makes_a_command(line: str, tmp_path: Path) -> None:
    assert line.rpartition("\n")[2] in (DOCS / "from-atc.md").read_text(encoding="utf-8")
    program = tmp_path / "atc-py"
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m atc_py "$@"\n')
    program.chmod(0o755)
    done = subprocess.run(
        [shutil.which("bash") or "bash", "-c", f"{line}\natc --help && ! atc --mode=6"],
        env={**os.environ, "PATH": f"{tmp_path}:{os.environ['PATH']}"},
        stdout=subprocess.PIPE,
        check=False,
        text=True,
    )
    assert done.returncode == 0
    assert "E10004" in done.stdout
