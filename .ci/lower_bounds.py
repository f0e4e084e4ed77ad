"""Prints a constraint per requirement of pyproject.toml: exactly the lower bound it names."""

from __future__ import annotations

import re
import sys
from pathlib import Path

try:
    import tomllib
except ModuleNotFoundError:  # Python 3.10
    import tomli as tomllib

EXTRAS = ("test",)


def main() -> None:
    """Print the bounds of what the package and its tests need."""
    text = (Path(__file__).parent.parent / "pyproject.toml").read_text(encoding="utf-8")
    project = tomllib.loads(text)["project"]
    extras = [line for name in EXTRAS for line in project["optional-dependencies"][name]]
    for line in (*project["dependencies"], *extras):
        name, bound, marker = re.fullmatch(r"([\w-]+)>=([\d.]+)(;.*)?", line).groups("")
        sys.stdout.write(f"{name}=={bound}{marker}\n")


if __name__ == "__main__":
    main()
