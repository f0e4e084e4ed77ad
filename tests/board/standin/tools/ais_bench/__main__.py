"""ais_bench as a module of the host, whose Python does not have atc-py."""

import os
import subprocess
import sys


def main() -> int:
    own = dict(os.environ, PYTHONPATH=os.environ["STANDIN_ROOT"])
    words = [os.environ["STANDIN_PYTHON"], "-m", "tests.board.standin.bencher", *sys.argv[1:]]
    return subprocess.call(words, env=own)


if __name__ == "__main__":
    sys.exit(main())
