"""The command line in this process, for tests of pictures."""

from tests.cli.conftest import atc as atc
