"""`python -m atc_py.ais_bench.infer`: the same command line."""

from __future__ import annotations

import sys

from atc_py.ais_bench.command import main

sys.exit(main(sys.argv[1:]))
