"""ais_bench: `atc-py`'s own, which writes and prints as the real one does.

The fault `bench` changes the first output.
"""

import os
import sys
from pathlib import Path

import numpy as np

from atc_py.cli.bench_program import main


def spoil(words: list[str]) -> None:
    folder = Path(words[words.index("--output") + 1], words[words.index("--output_dirname") + 1])
    first = min(folder.glob("*_0.npy"))
    np.save(first, np.load(first) + 1)


if __name__ == "__main__":
    try:
        main()
    finally:
        if "bench" in os.environ.get("STANDIN_FAULT", "").split(","):
            spoil(sys.argv)
