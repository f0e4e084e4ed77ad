"""Runs the tests with the interpreter that runs this, and keeps the result with its versions.

`bounds` prints a constraint for each requirement of pyproject.toml instead: the lower bound itself.
`make latest` and `make oldest` call it, by its path: their environments need no more than pytest.
"""

import os
import platform
import re
import subprocess
import sys
from datetime import datetime, timezone
from importlib.metadata import distributions
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
RECORD = ROOT / ".ci" / "tested-versions.md"
EXTRAS = ("test",)

_HEAD = """# Versions that the tests ran with

`make latest` (the newest of everything) and `make oldest` (the lower bounds of pyproject.toml) each
write their section: the last result, and what was installed. `make demo`, `make test`, `make check`
and `.ci/run` install the versions of `.ci/constraints.txt`.
"""


def main() -> None:
    """Print bounds, or run the tests under a name and keep the result; ends with their status."""
    if sys.argv[1:] == ["bounds"]:
        sys.stdout.write("".join(f"{line}\n" for line in _lower_bounds()))
        return
    name, *tests = sys.argv[1:]
    status, result = _tested(tests)
    record = Path(os.environ.get("RECORD") or RECORD)
    text = record.read_text(encoding="utf-8") if record.exists() else _HEAD
    record.write_text(_with_section(text, name, _section(result, tests)), encoding="utf-8")
    raise SystemExit(status)


def _lower_bounds() -> list[str]:
    project = _pyproject()["project"]
    extras = [line for name in EXTRAS for line in project["optional-dependencies"][name]]
    bounds = []
    for line in (*project["dependencies"], *extras):
        requirement, _, marker = line.partition(";")
        name, bound = requirement.split(">=")
        bounds.append(f"{name}=={bound}" + (f";{marker}" if marker else ""))
    return bounds


def _tested(tests: list[str]) -> tuple[int, str]:
    options = ["-n", os.environ.get("WORKERS") or "auto", "--dist", "loadfile"]
    command = [sys.executable, "-m", "pytest", *options, "--no-loadscope-reorder", *tests]
    environment = {"OPENBLAS_NUM_THREADS": "1", **os.environ}
    closing, failed = "no result", []
    with subprocess.Popen(
        command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, text=True
    ) as run:
        for line in run.stdout or ():
            sys.stdout.write(line)
            if re.search(r"\d+ (passed|failed|error)", line):
                closing = line.strip("= \n")
            if line.startswith(("FAILED ", "ERROR ")):
                failed.append(line.split()[1])
    return run.returncode, "\n".join([closing, *(f"- failed: `{each}`" for each in failed)])


def _section(result: str, tests: list[str]) -> str:
    today = datetime.now(timezone.utc).date()
    closing, _, failed = result.partition("\n")
    found = {each.metadata["Name"].lower().replace("_", "-"): each for each in distributions()}
    own = {"atc-py", "pip", "setuptools"}
    versions = [
        f"{name}=={each.version}" for name, each in sorted(found.items()) if name not in own
    ]
    where = f"{today}, Python {platform.python_version()}, {platform.system()} {platform.machine()}"
    lines = [f"{where}: {closing}", *([f"Of these alone: {' '.join(tests)}"] if tests else [])]
    lines += [failed] if failed else []
    return "\n\n".join([*lines, "\n".join(["```", *versions, "```"])])


def _with_section(text: str, name: str, body: str) -> str:
    kept = re.sub(rf"\n## {name}\n.*?(?=\n## |\Z)", "", text, flags=re.DOTALL)
    return f"{kept.rstrip()}\n\n## {name}\n\n{body}\n"


def _pyproject() -> dict[str, Any]:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib
    document: dict[str, Any] = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    return document


if __name__ == "__main__":
    main()
