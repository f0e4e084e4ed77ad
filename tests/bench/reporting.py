"""Processor time of `report` beside the commands that it stands for, in processes of their own."""

import sys
import tempfile
from pathlib import Path

import onnx

from tests.bench.measuring import ROUNDS, Cost, cheapest, measure, say
from tests.bench.models import randomised_light
from tests.bench.sized_networks import SIZED_NETWORKS

MOST = 1.15
"""What `report` may take of the time of the commands that it stands for."""

COMMANDS = (
    ("check", "--format", "json"),
    ("convert", "-o", "net.om"),
    ("profile", "--format", "json"),
    ("compare", "--device", "ort", "--format", "json"),
)


def reporting() -> None:
    """Print a line for each network: the commands, their sum, and the report."""
    say(f"report, processor seconds, fastest of {ROUNDS} rounds in turn; at most {MOST} of the sum")
    say(f"  {'network':10} {'check':>7} {'convert':>8} {'profile':>8} {'compare':>8} {'sum':>7}"
        f" {'report':>7} {'ratio':>6}")  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        for name in ("resnet50", "swin_t"):
            path = Path(folder) / f"{name}.onnx"
            made = randomised_light(name) if name == "resnet50" else SIZED_NETWORKS[name]()
            onnx.save(made, path)
            _line(name, path)


def _line(name: str, path: Path) -> None:
    """Measure one network and print its line."""
    costs: dict[str, list[Cost]] = {}
    for _ in range(ROUNDS):
        for command, *options in COMMANDS:
            costs.setdefault(command, []).append(measure(_words(command, path, *options)))
        words = _words("report", path, "--device", "ort", "-o", "page.html")
        costs.setdefault("report", []).append(measure(words))
    seconds = {each: cheapest(rows).processor for each, rows in costs.items()}
    report = seconds.pop("report")
    whole = sum(seconds.values())
    parts = " ".join(f"{each:8.2f}" for each in seconds.values())
    verdict = "" if report <= MOST * whole else "  TOO SLOW"
    say(f"  {name:10}{parts} {whole:7.2f} {report:7.2f} {report / whole:6.2f}{verdict}")


def _words(command: str, path: Path, *options: str) -> list[str]:
    """Return a command line about a model; what it writes lands beside the model."""
    placed = [
        str(path.with_name(each)) if each in {"net.om", "page.html"} else each for each in options
    ]
    return [sys.executable, "-m", "atc_py", command, str(path), *placed]


if __name__ == "__main__":
    reporting()
