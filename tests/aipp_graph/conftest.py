"""The command line in this process, for tests of pictures."""

from __future__ import annotations

from tests.cli.conftest import atc

__all__ = ["atc"]
