"""Every conformance case and every network checks, and every refusal is a line of the list."""

import os

import pytest

from atc_py import api
from atc_py.check.findings import Standing
from atc_py.options.compile_options import PrecisionMode
from tests.sampling import WHOLE, sampled, some
from tests.suite_verdicts import MODELS, SUITE, cases, verdict_lines

NETWORKS = sorted(MODELS.glob("*/model.onnx"))

COMPILED_MODES = ("force_fp16", "allow_fp32_to_fp16")
"""Modes in which every network must be free of errors: only dtypes stand in the way in others."""

ALWAYS = [*COMPILED_MODES, "must_keep_origin_dtype", "allow_mix_precision_bf16"]
OTHERS = [mode.value for mode in PrecisionMode if mode.value not in ALWAYS]

REFUSING = ["force_fp16", "allow_fp32_to_fp16", "must_keep_origin_dtype"]
OF_CASES = 8
"""One case in so many is checked always: each mode has others."""


@pytest.mark.skipif(not SUITE.exists(), reason="the conformance cases are not there")
@pytest.mark.parametrize("mode", REFUSING)
def test_every_case_checks_and_every_refusal_names_its_line(mode: str) -> None:
    assert len(cases()) >= 698
    first = 0 if WHOLE in os.environ else REFUSING.index(mode)
    for path in some(cases()[first:], OF_CASES):
        (model,) = api.check_models(path, precision_mode=mode).models
        assert model.faults == (), path
        for finding in model.findings:
            is_listed = finding.source.startswith("op_specs/")
            # The one case with sequences uses an operator that the list does not have.
            assert is_listed or finding.place.op_type == "SequenceConstruct", (path, finding)
            if finding.standing is Standing.ERROR and is_listed:
                assert finding.observed.en, (path, finding)


@pytest.mark.skipif(not SUITE.exists(), reason="the conformance cases are not there")
def test_verdict_table_counts_every_case_once() -> None:
    paths = cases()[::OF_CASES]
    lines = list(verdict_lines(paths=paths))
    total = int(lines[0].split()[0])
    words = {standing.value for standing in Standing}
    counts = [int(line.split()[1]) for line in lines if line.split()[0] in words]
    assert sum(counts) == total == len(paths)


@pytest.mark.skipif(not NETWORKS, reason="the networks are not there")
@pytest.mark.parametrize("mode", sampled(ALWAYS, OTHERS))
def test_every_network_checks(mode: str) -> None:
    soc = "Ascend910B3" if PrecisionMode(mode).is_bfloat16 else "sim"
    tried = some(NETWORKS, len(ALWAYS), [*ALWAYS, *OTHERS].index(mode))
    report = api.check_models(tried, precision_mode=mode, soc=soc)
    assert [model.faults for model in report.models] == [()] * len(tried)
    if mode in COMPILED_MODES:
        errors = [model.path for model in report.models if model.standing is Standing.ERROR]
        assert errors == []
    assert Standing.UNKNOWN not in {model.standing for model in report.models}
