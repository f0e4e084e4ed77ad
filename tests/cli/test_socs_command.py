"""`atc-py socs`: every SoC with the facts that a user chooses by."""

from collections.abc import Callable

import pytest

from atc_py.report.soc_table import cube_dtypes
from atc_py.target import Soc, find_soc, socs
from tests.cli.conftest import Result
from tests.failures import in_one_item

Atc = Callable[..., Result]


def test_table_has_a_row_for_each_soc(atc: Atc) -> None:
    done = atc("socs")
    head, *rows = done.out.splitlines()
    assert done.status == 0
    assert head.split() == [
        "SoC", "family", "AI", "Cores", "vector", "cores", "AI", "CPUs", "MHz", "L2,", "MiB",
        "memory", "cube", "multiplies",
    ]  # fmt: skip
    assert [row.split()[0] for row in rows] == [soc.name for soc in socs()]
    (row,) = (row.split() for row in rows if row.split()[0] == "Ascend310P3")
    assert row == [
        "Ascend310P3", "Ascend310P", "8", "7", "7", "1060", "16", "22.4", "GiB", "float16,", "int8",
    ]  # fmt: skip


def test_json_has_null_for_what_is_not_published(atc: Atc) -> None:
    found = {each["name"]: each for each in atc("socs", "--json").json}
    assert found["sim"]["memory_bytes"] is None
    assert found["Hi3796CV300CS"]["ai_cpus"] is None
    assert found["Ascend910B1"]["memory_bytes"] == 64 * 1024**3
    assert found["Ascend910B1"]["hf32"] is True


@pytest.mark.parametrize(
    ("name", "dtypes"),
    [
        ("sim", ["float16", "float32", "int8"]),
        ("Ascend310", ["float16", "int8"]),
        ("Ascend910B1", ["float16", "float32", "bfloat16", "int8"]),
    ],
)
def test_cube_has_the_dtypes_of_its_convolutions(name: str, dtypes: list[str]) -> None:
    assert cube_dtypes(find_soc(name)) == dtypes


@in_one_item("soc", socs(), ids=lambda soc: soc.name)
def test_flags_agree_with_the_dtypes_shown(soc: Soc) -> None:
    found = soc
    assert ("float32" in cube_dtypes(found)) == found.cube_float32
    assert ("bfloat16" in cube_dtypes(found)) == found.bfloat16
