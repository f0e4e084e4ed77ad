"""`python -m atc_py.ais_bench`."""

from __future__ import annotations

import sys

from atc_py.ais_bench.command import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
