"""A short round of mutated models; `make fuzz` tries more. What was found once is in `corpus/`."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.fuzz.cases import mutated_model
from tests.fuzz.seed_models import SHARED
from tests.fuzz.sweep import Round, Tally, sweep, table_lines
from tests.fuzz.trial import Outcome, Step, try_model
from tests.sampling import sampled

CORPUS = Path(__file__).parent / "corpus"
SEED = 20
CHUNKS, CHUNK = 40, 50
COMMANDS, COMMAND_CHUNK = 34, 3


@pytest.mark.parametrize("chunk", sampled([0], range(1, CHUNKS)))
def test_mutated_models_end_in_a_result_or_a_coded_refusal(chunk: int) -> None:
    # Half of them start from models that are there on every machine.
    shared = chunk % 2 == 1 and SHARED.is_dir()
    tally = sweep(Round(seed=SEED, first=chunk * CHUNK, count=CHUNK, shared=shared))
    assert tally.failures == []
    assert tally.tried == CHUNK
    assert tally.ends["run", 0] > 0, "a round in which no model is sound tries little"


@pytest.mark.parametrize("chunk", sampled([0], range(1, COMMANDS)))
def test_mutated_models_get_documented_exit_codes_of_the_command(
    chunk: int, tmp_path: Path
) -> None:
    for number in range(chunk * COMMAND_CHUNK, (chunk + 1) * COMMAND_CHUNK):
        case = mutated_model(SEED + 1, number, shared=False)
        path = tmp_path / "model.onnx"
        path.write_bytes(case.data)
        command = ["convert", "-o", "model.om"] if number % 2 else ["check"]
        done = subprocess.run(
            [sys.executable, "-m", "atc_py", *command, path.name],
            cwd=tmp_path,
            capture_output=True,
            timeout=60,
            check=False,
        )
        said = (done.stdout + done.stderr).decode("utf-8")
        assert done.returncode in {0, 1, 3}, (case.label, said)
        assert "Traceback" not in said, (case.label, said)
        assert done.returncode == 0 or "[ATC" in said, (case.label, said)
        made = {each.name for each in tmp_path.iterdir()} - {"model.onnx"}
        assert made == ({"model.om"} if number % 2 and not done.returncode else set()), case.label
        (tmp_path / "model.om").unlink(missing_ok=True)


@pytest.mark.parametrize("path", sorted(CORPUS.glob("*.onnx")), ids=lambda path: path.stem)
def test_case_that_failed_once_is_refused_or_runs(path: Path, tmp_path: Path) -> None:
    copy = tmp_path / "model.onnx"
    copy.write_bytes(path.read_bytes())
    assert try_model(copy).failure == ""


def test_case_is_the_same_whenever_it_is_made() -> None:
    first, again = (mutated_model(3, 141, shared=False) for _ in range(2))
    assert first == again
    assert first != mutated_model(4, 141, shared=False)


def test_failures_and_what_took_too_much_are_counted() -> None:
    tally = Tally()
    step = {"command": "check", "status": 1, "codes": ["ATC3003"], "failure": ""}
    found = {"label": "a", "steps": [step], "seconds": 0.1, "grown_mib": 1, "failure": ""}
    tally.take(found)
    tally.take({**found, "label": "b", "failure": "check: Traceback"})
    tally.take({**found, "label": "c", "grown_mib": 5000})
    assert [each.partition("\n")[0] for each in tally.failures] == ["b", "c"]
    assert "| ATC3003 invalid-model | 3 | a |" in list(table_lines(tally))


def test_tracebacks_and_bugs_are_failures(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_args: object, **_options: object) -> None:
        raise RuntimeError("out of order")

    monkeypatch.setattr("atc_py.pipeline.check.read_model", broken)
    path = tmp_path / "model.onnx"
    path.write_bytes(mutated_model(3, 141, shared=False).data)
    assert "out of order" in try_model(path).failure


@pytest.mark.parametrize("fault", ["os.kill(os.getpid(), 11)", "os._exit(3)"])
def test_case_that_ends_its_process_is_a_failure(
    fault: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The worker dies in its second case; the round goes on with the third.
    lines = [
        "import os, sys",
        "first = int(next(a for a in sys.argv if a.startswith('--first')).split('=')[1])",
        "for n in range(first, 3):",
        "    print('begin', n, flush=True)",
        f"    n != 1 or {fault}",
        f"    print({json.dumps(json.dumps(_outcome()))}, flush=True)",
    ]

    def worker(_wanted: Round, first: int, _end: int, log: int) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", "\n".join(lines), f"--first={first}"]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log)

    monkeypatch.setattr("tests.fuzz.sweep._worker", worker)
    tally = sweep(Round(seed=7, count=3))
    assert tally.tried == 3
    (failure,) = tally.failures
    assert failure.startswith("#7:1\nthe process ended with")


def _outcome() -> dict[str, object]:
    steps = [{"command": "check", "status": 0, "codes": [], "failure": ""}]
    return {"label": "a", "steps": steps, "seconds": 0.1, "grown_mib": 0, "failure": ""}


def test_outcome_names_the_command_that_failed() -> None:
    good, bad = Step("check", 0, ()), Step("convert", 70, (), "boom")
    assert Outcome((good,)).failure == ""
    assert Outcome((good, bad)).failure == "convert: boom"
