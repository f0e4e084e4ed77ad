"""Every SoC has rates, and memory where that is published; rows are built by keyword."""

from typing import Any

import pytest

from atc_py.target import Soc, find_soc, is_former_name, socs
from atc_py.target.soc import rates_of
from tests.failures import in_one_item


@in_one_item("soc", socs(), ids=lambda soc: soc.name)
def test_soc_has_rates(soc: Soc) -> None:
    rates = rates_of(soc)
    assert (rates.l2_read > 0) is (soc.l2_kib > 0)
    assert rates.l2_read == 0 or rates.l2_read >= soc.gm_read
    assert min(rates.l1_l0a, rates.l1_l0b, rates.l0c_ub, rates.ub_out) > 0
    assert not rates.split or soc.vector_cores == 2 * soc.aicores


UB_TO_MEMORY = {
    "Ascend310": 64, "Ascend310B1": 128, "Ascend310B2": 128, "Ascend310B3": 128, "Ascend310B4": 64, "Ascend310P3": 17, "Ascend610": 17, "Ascend910A": 64,
    "Ascend910B3": 64, "Ascend910_9391": 64, "Ascend950PR_9599": 128, "Hi3796CV300CS": 18,
}  # fmt: skip
"""`ub_to_ddr_rate` of CANN's platform configuration."""


@in_one_item("name", UB_TO_MEMORY)
def test_unified_buffer_reaches_memory_at_the_published_rate(name: str) -> None:
    soc = find_soc(name)
    assert rates_of(soc).ub_ddr == UB_TO_MEMORY[name]
    assert rates_of(soc).ub_ddr >= soc.gm_write  # so that memory is what limits


def test_vector_cores_of_310p_have_a_clock_of_their_own() -> None:
    """`vec_freq` is 1000 on Ascend310P and 610; `mix_vector_core_cnt` stands for 310P alone."""
    for soc in socs():
        is_310p = soc.name.startswith("Ascend310P")
        assert soc.vector_mhz == (1000 if is_310p or soc.name == "Ascend610" else 0)
        assert soc.mixed_cores is is_310p


def test_rows_are_built_by_keyword() -> None:
    row: Any = Soc
    facts = {name: getattr(find_soc("sim"), name) for name in row.__struct_fields__}
    assert row(**facts) == find_soc("sim")
    with pytest.raises(TypeError, match="positional"):
        row(*facts.values())


def test_memory_is_that_of_the_published_table() -> None:
    assert find_soc("Ascend310P3").memory == 24_000_000_000
    assert find_soc("Ascend910B4").memory == 32 * 1024**3
    assert find_soc("Ascend910_9362").memory == 64 * 1024**3
    assert find_soc("Ascend910_9363").memory == 32 * 1024**3
    assert find_soc("Ascend950PR_9599").memory == 128 * 1024**3
    assert find_soc("Ascend310B2").memory is None  # the file leaves it empty
    assert find_soc("sim").memory is None


PLATFORMS = """
Ascend350_354f 14 28 2 1650 60129542144 56 27
Ascend350_355e 16 32 4 1650 68719476736 64 31
Ascend950DT_950x 8 16 5 1650 25769803776 32 19
Ascend950DT_950y 8 16 5 1650 17179869184 32 14
Ascend950DT_9571 28 56 7 1650 154618822656 128 80
Ascend950DT_9572 28 56 7 1650 103079215104 128 80
Ascend950DT_9573 28 56 5 1650 135291569824 112 70
Ascend950DT_9574 28 56 5 1650 90194313216 112 70
Ascend950DT_9575 28 56 7 1650 103079215104 128 61
Ascend950DT_9576 28 56 7 1650 68719476736 128 61
Ascend950DT_9577 28 56 5 1650 90194313216 112 54
Ascend950DT_9578 28 56 5 1650 60129542144 112 54
Ascend950DT_9581 32 64 6 1650 154618822656 128 80
Ascend950DT_9581x 32 64 6 1650 154618822656 128 80
Ascend950DT_9582 32 64 6 1650 103079215104 128 80
Ascend950DT_9582x 32 64 6 1650 103079215104 128 80
Ascend950DT_9583 32 64 7 1650 135291469824 112 70
Ascend950DT_9584 32 64 7 1650 90194313216 112 70
Ascend950DT_9585 32 64 6 1650 103079215104 128 61
Ascend950DT_9586 32 64 6 1650 68719476736 128 61
Ascend950DT_9587 32 64 7 1650 90194313216 112 54
Ascend950DT_9588 32 64 7 1650 60129542144 112 54
Ascend950DT_9591 36 72 6 1800 154618822656 128 80
Ascend950DT_9592 36 72 6 1800 103079215104 128 80
Ascend950DT_9595 36 72 6 1800 103079215104 128 61
Ascend950DT_9596 36 72 6 1800 68719476736 128 61
Ascend950DT_95A1 36 72 6 1800 154618822656 128 80
Ascend950DT_95A2 36 72 6 1800 103079215104 128 80
Ascend950PR_950z 4 8 5 1650 25769803776 16 4
Ascend950PR_9579 28 56 7 1650 137438953472 128 31
Ascend950PR_957b 28 56 5 1650 120259084288 112 27
Ascend950PR_957bx 28 56 5 1650 120259084288 112 27
Ascend950PR_957c 28 56 5 1650 90194313216 112 27
Ascend950PR_957d 28 56 5 1650 103079215104 96 23
Ascend950PR_9589 32 64 6 1650 137438953472 128 31
Ascend950PR_958b 32 64 7 1650 120259084288 112 27
Ascend950PR_9599 36 72 6 1800 137438953472 128 31
"""
"""Platform configuration of arch 3510 in CANN's open runtime repository (August 2026): AI Cores, vector
cores, AI CPUs, MHz, bytes of memory, MiB of L2, bytes of memory per cycle and core.

Tag v9.1.0 has all but Ascend950DT_9581x, and 7 AI CPUs of 957b and 957bx.
"""


@in_one_item("line", PLATFORMS.split("\n")[1:-1])
def test_rows_of_ascend950_are_those_of_the_platform_configuration(line: str) -> None:
    name, *numbers = line.split()
    soc = find_soc(name)
    cores = soc.aicores, soc.vector_cores, soc.aicpus, soc.mhz
    found = (*cores, soc.memory, soc.l2_kib // 1024, soc.gm_read)
    assert found == tuple(map(int, numbers))
    assert soc.gm_write == soc.gm_read
    assert (soc.l0a_kib, soc.l0c_kib, soc.l1_kib, soc.ub_kib) == (64, 256, 512, 248)
    assert soc.family.value == "Ascend950"
    assert soc.assumed_kernels is name.startswith("Ascend350")


def test_every_row_of_the_newest_core_is_in_the_table() -> None:
    named = {line.split()[0] for line in PLATFORMS.split("\n")[1:-1]}
    assert {soc.name for soc in socs() if soc.arch == "dav-c310"} == named


def test_ai_cpus_are_those_of_the_platform_configuration() -> None:
    counts = {soc.name: soc.aicpus for soc in socs()}
    assert (counts["Ascend310P1"], counts["Ascend310P3"]) == (8, 7)
    assert (counts["Ascend910A"], counts["Ascend910B"]) == (4, 6)
    assert {counts[name] for name in counts if name.startswith(("Ascend910_93", "Ascend910B"))} == {
        6
    }


def test_former_name_is_the_soc_of_the_same_figures() -> None:
    assert find_soc("ascend910_95") is find_soc("Ascend950PR_9589")
    assert is_former_name("Ascend910_95")
    assert not is_former_name("Ascend950PR_9589")
    assert "Ascend910_95" not in {soc.name for soc in socs()}
