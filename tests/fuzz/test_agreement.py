"""A sample of random models through `check` and `convert`; `make agree` tries more."""

import os
import random
from pathlib import Path

import onnx
import pytest

from atc_py.lowering.lower import can_lower
from atc_py.options.compile_options import DEFAULT_LIST
from atc_py.spec import library
from atc_py.spec.lists import operator_lists
from tests.fuzz import agree
from tests.fuzz.agree import Asked, Tally, agreement, guarded_agreement, random_model
from tests.fuzz.forms.registry import FORMS, NEWER_FORMS
from tests.fuzz.random_forms import random_form
from tests.fuzz.verdict_pairs import Pair, Verdict, verdicts
from tests.sampling import sampled, some

SEED = 100
CHUNKS, CHUNK = 8, 30
NEWEST = operator_lists()[-1].name


@pytest.mark.parametrize("chunk", sampled([0], range(1, CHUNKS)))
def test_check_and_convert_do_not_contradict_each_other(chunk: int) -> None:
    tally = agreement(SEED, range(chunk * CHUNK, (chunk + 1) * CHUNK))
    assert tally.models == CHUNK
    assert not tally.kinds, "\n".join(tally.lines)
    shares = {name: count / tally.pairs for name, count in tally.outcomes.items()}
    assert min(shares["converted"], shares["refused by both"]) > 0.15, "it tries little"


@pytest.mark.parametrize("chunk", sampled([0], range(1, CHUNKS)))
def test_neither_do_they_by_the_newest_list(chunk: int) -> None:
    tally = agreement(SEED, range(chunk * CHUNK, (chunk + 1) * CHUNK), NEWEST)
    assert tally.models == CHUNK
    assert not tally.kinds, "\n".join(tally.lines)
    assert min(tally.outcomes["converted"], tally.outcomes["refused by both"]) > CHUNK // 4


def test_case_is_the_same_whenever_it_is_made() -> None:
    first, again = (random_model(3, 17) for _ in range(2))
    assert first == again
    assert first != random_model(4, 17)


def test_every_operator_of_the_list_comes_up() -> None:
    for listed, specs in ((DEFAULT_LIST, library().all()), (NEWEST, library(NEWEST).all())):
        left = {spec.op for spec in specs}
        for number in range(3000):
            left -= {node.op_type for node in random_model(1, number, listed)[1].graph.node}
            if not left:
                break
        assert left == set(), listed


@pytest.mark.parametrize("operator", some(sorted(FORMS), 3))
def test_every_form_often_makes_a_model_that_converts(
    operator: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tests.fuzz.random_forms.FORMS", {operator: FORMS[operator]})
    listed = DEFAULT_LIST if library().find(operator) is not None else NEWEST
    for number in range(60):
        path = tmp_path / "model.onnx"
        model = random_form(random.Random(f"{operator}:{number}"), listed)  # noqa: S311  (to be made again)
        path.write_bytes(model.SerializeToString())
        if verdicts(path, operator_list=listed).outcome == "converted":
            return
    pytest.fail(f"no {operator} of 60 converts")


@pytest.mark.parametrize("operator", some(sorted(NEWER_FORMS), 3))
def test_every_newer_form_often_makes_a_model_that_converts(
    operator: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if not can_lower(operator, "", library(NEWEST)):
        pytest.skip("it does not compile yet")
    monkeypatch.setattr("tests.fuzz.random_forms.FORMS", {operator: NEWER_FORMS[operator]})
    monkeypatch.setattr("tests.fuzz.random_forms.NEWER_FORMS", {operator: NEWER_FORMS[operator]})
    for number in range(60):
        path = tmp_path / "model.onnx"
        rng = random.Random(f"{operator}:{number}")  # noqa: S311  (to be made again)
        path.write_bytes(random_form(rng, NEWEST).SerializeToString())
        if verdicts(path, operator_list=NEWEST).outcome == "converted":
            return
    pytest.fail(f"no {operator} of 60 converts")


# What is counted --------------------------------------------------------------------------------

REFUSED = Verdict((("ATC4013", "it does not fit"),))
OTHERWISE = Verdict((("ATC3005", "it is not known"),))
CRASH = Verdict(crash="Traceback\nZeroDivisionError: by zero")


@pytest.mark.parametrize(
    ("pair", "kind"),
    [
        (Pair(Verdict(), Verdict()), ""),
        (Pair(REFUSED, OTHERWISE), ""),
        (Pair(Verdict(undecided=True), REFUSED), ""),
        (Pair(Verdict(undecided=True), Verdict()), ""),
        (Pair(Verdict(), REFUSED), "convert alone refuses: ATC4013 (it does not fit)"),
        (Pair(REFUSED, Verdict()), "check alone refuses: ATC4013 (it does not fit)"),
        (Pair(REFUSED, CRASH), "convert crashes: ZeroDivisionError: by zero"),
        (Pair(CRASH, REFUSED), "check crashes: ZeroDivisionError: by zero"),
    ],
)
def test_contradictions_are_distinguished_from_verdicts_that_go_together(
    pair: Pair, kind: str
) -> None:
    assert pair.kind == kind
    tally = Tally()
    tally.take([Asked("a label", pair, 0.5)])
    assert list(tally.kinds) == ([kind] if kind else [])
    assert (kind in "\n".join(tally.lines)) is True
    assert (tally.outcomes["contradiction"] == 1) is bool(kind)


def test_contradiction_of_the_commands_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("atc_py.pipeline.trial.TrialCompilation.findings", lambda *_: [])
    tally = agreement(SEED, range(40))
    assert tally.kinds
    assert all(kind.startswith("convert alone refuses: ATC") for kind in tally.kinds)


def test_case_that_ends_its_process_is_a_contradiction(monkeypatch: pytest.MonkeyPatch) -> None:
    original = random_model

    def ending(seed: int, number: int, _: str) -> tuple[str, onnx.ModelProto]:
        if number == 2 and os.getpid() != parent:
            os._exit(3)
        return original(seed, number)

    parent = os.getpid()
    monkeypatch.setattr(agree, "random_model", ending)
    tally = guarded_agreement(SEED, range(4))
    assert tally.models == 4
    assert list(tally.kinds) == ["check crashes: the process ends with exit status 3"]
    assert tally.examples[next(iter(tally.kinds))] == [f"#{SEED}:2"]


def test_marks_at_int4_indices_are_judged(tmp_path: Path) -> None:
    path = tmp_path / "model.onnx"
    text = '<ir_version: 8, opset_import: ["" : 10]> g (int4[4] i, int32[2] v) => (int32[4,100] y)'
    text += " <float16 d = {25600}> { y = OneHot (i, d, v) }"
    onnx.save(onnx.parser.parse_model(text), path)
    assert not verdicts(path).kind
