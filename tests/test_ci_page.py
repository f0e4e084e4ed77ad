"""docs/ci.md: its files are well-formed, and its commands do what the page says."""

import json
import re
import shlex
from collections.abc import Callable
from pathlib import Path
from typing import Any

import onnx
import pytest
import yaml

from atc_py.cli.main import main
from tests.cli.conftest import small_model

Run = Callable[[str], int]

PAGE = Path(__file__).resolve().parents[1] / "docs" / "ci.md"
BLOCK = re.compile(r"^```(?P<kind>\w+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


def blocks(kind: str) -> list[str]:
    """Return the blocks of one kind, in order."""
    text = PAGE.read_text(encoding="utf-8")
    return [each["text"] for each in BLOCK.finditer(text) if each["kind"] == kind]


def workflow() -> Any:
    return yaml.safe_load(blocks("yaml")[0])


def steps() -> list[Any]:
    (job,) = workflow()["jobs"].values()
    return list(job["steps"])


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return what runs a command line of atc-py in a folder with the models that the page names."""
    (tmp_path / "models" / "more").mkdir(parents=True)
    for name in ("classifier", "more/other"):
        onnx.save(small_model(), tmp_path / "models" / f"{name}.onnx")
    monkeypatch.chdir(tmp_path)

    def status(line: str) -> int:
        program, *arguments = shlex.split(line)
        assert program == "atc-py"
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        return int(ended.value.code or 0)

    return status


def test_workflow_has_what_github_asks_for() -> None:
    found = workflow()
    # YAML 1.1 reads the key `on` as true.
    assert found[True] == ["push", "pull_request"]
    assert found["permissions"] == {"contents": "read", "security-events": "write"}
    assert [len({"run", "uses"} & set(each)) for each in steps()] == [1] * len(steps())
    actions = [each["uses"] for each in steps() if "uses" in each]
    assert all(re.fullmatch(r"[\w-]+/[\w-]+(/[\w-]+)?@v\d+", each) for each in actions)


def test_commands_of_the_workflow_pass_for_sound_models(run: Run) -> None:
    lines = [each["run"] for each in steps() if each.get("run", "").startswith("atc-py")]
    assert len(lines) == 2
    assert [run(line) for line in lines] == [0, 0]
    (log,) = [each["with"]["sarif_file"] for each in steps() if "sarif" in str(each.get("with"))]
    assert json.loads(Path(log).read_text(encoding="utf-8"))["version"] == "2.1.0"


def test_check_of_the_workflow_fails_for_a_model_that_breaks_a_rule(run: Run) -> None:
    onnx.save(small_model(operator="Strange"), "models/more/bad.onnx")
    (line,) = [each["run"] for each in steps() if each.get("run", "").startswith("atc-py check")]
    assert run(line) == 1
    assert "Strange" in Path("models.sarif").read_text(encoding="utf-8")


def test_configuration_is_taken(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    Path("atc-py.toml").write_text(blocks("toml")[0], encoding="utf-8")
    capsys.readouterr()
    assert run("atc-py config --json") == 0
    found = json.loads(capsys.readouterr().out)["settings"]
    assert [(each["command"], each["option"], each["value"]) for each in found] == [
        ("check", "soc", "Ascend310P3"),
        ("check", "fail-on", "rewrite"),
        ("compare", "soc", "Ascend310P3"),
    ]
    model = small_model()
    model.opset_import[0].version = 17
    onnx.save(model, "models/newer.onnx")
    assert run("atc-py check models") == 1
    assert run("atc-py check models --fail-on error") == 0


def test_hook_checks_the_files_that_it_gets(run: Run) -> None:
    (repository,) = yaml.safe_load(blocks("yaml")[1])["repos"]
    (hook,) = repository["hooks"]
    assert repository["repo"] == "local"
    assert {"id", "name", "entry", "language", "files"} <= set(hook)
    assert re.search(hook["files"], "models/classifier.onnx")
    assert not re.search(hook["files"], "models/classifier.onnx.txt")
    assert run(f"{hook['entry']} models/classifier.onnx models/more/other.onnx") == 0
    onnx.save(small_model(operator="Strange"), "models/bad.onnx")
    assert run(f"{hook['entry']} models/classifier.onnx models/bad.onnx") == 1
