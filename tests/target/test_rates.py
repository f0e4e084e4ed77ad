"""Every SoC has rates, and memory where that is published; rows are built by keyword."""

from typing import Any

import pytest

from atc_py.target import Soc, find_soc, socs
from atc_py.target.soc import rates_of


@pytest.mark.parametrize("soc", socs(), ids=lambda soc: soc.name)
def test_soc_has_rates(soc: Soc) -> None:
    rates = rates_of(soc)
    assert (rates.l2_read > 0) is (soc.l2_kib > 0)
    assert rates.l2_read == 0 or rates.l2_read >= soc.gm_read
    assert min(rates.l1_l0a, rates.l1_l0b, rates.l0c_ub, rates.ub_out) > 0
    assert not rates.split or soc.vector_cores == 2 * soc.aicores


UB_TO_MEMORY = {
    "Ascend310": 64, "Ascend310B4": 64, "Ascend310P3": 17, "Ascend610": 17, "Ascend910A": 64,
    "Ascend910B3": 64, "Ascend910_9391": 64, "Ascend910_95": 128, "Hi3796CV300CS": 18,
}  # fmt: skip
"""`ub_to_ddr_rate` of CANN 8.1's platform configuration; Ascend310B1 has 128."""


@pytest.mark.parametrize("name", UB_TO_MEMORY)
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
    assert find_soc("Ascend910_9362").memory == 32 * 1024**3
    assert find_soc("Ascend910_95").memory == 128 * 1024**3
    assert find_soc("Ascend310B2").memory is None  # the file leaves it empty
    assert find_soc("sim").memory is None
