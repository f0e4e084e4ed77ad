"""ONNX's conformance cases give the same results with all passes and without the optional ones."""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt
import pytest

import atc_py
from tests.conformance.cases import SUITE, cases
from tests.conformance.switched_off import MODES, changed_cases, differences
from tests.sampling import sampled

Array = npt.NDArray[np.generic]

PARTS = 8
"""Parts of the suite, of which one is tried always."""

FEWEST = {"force_fp16": 50, "must_keep_origin_dtype": 30}
"""Cases that optional passes change at least; of what changes nothing there is nothing to hold."""


@pytest.mark.skipif(not SUITE.exists(), reason="the conformance cases are not there")
@pytest.mark.parametrize("part", sampled([0], range(1, PARTS)))
@pytest.mark.parametrize("mode", MODES)
def test_results_stay_within_the_bound_when_passes_are_switched_off(mode: str, part: int) -> None:
    changed = list(changed_cases(cases()[part::PARTS], mode))
    assert len(changed) >= FEWEST[mode] // PARTS // 2
    assert {case.name: differences(case, mode) for case in changed} == {
        case.name: [] for case in changed
    }


@pytest.mark.skipif(not SUITE.exists(), reason="the conformance cases are not there")
def test_two_percent_off_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    case = SUITE / "node" / "test_softmax_example_expanded"
    assert differences(case, MODES[0]) == []
    run, factors = atc_py.Model.run, iter((1.02, 1.0))

    def scaled(model: atc_py.Model, feeds: Mapping[str, Array]) -> dict[str, Array]:
        factor = next(factors)
        return {name: array * array.dtype.type(factor) for name, array in run(model, feeds).items()}

    monkeypatch.setattr(atc_py.Model, "run", scaled)
    assert any("of the range" in line for line in differences(case, MODES[0]))
