"""A program whose model is refused: in its main thread, another thread, or a process of its own."""

from __future__ import annotations

import multiprocessing
import sys
import threading
import time

import numpy as np
import onnxruntime as ort


def work(model: str) -> None:
    """Run a model twice; the program sees no error."""
    try:
        session = ort.InferenceSession(model)
        for _ in range(2):
            session.run(None, {"x": np.ones((1, 8), np.float32)})
    except BaseException:
        sys.stdout.write("an error\n")
        raise


def main() -> None:
    """Work in one of three ways."""
    model, way = sys.argv[1:]
    if way == "main":
        work(model)
    elif way == "thread":
        thread = threading.Thread(target=work, args=(model,))
        thread.start()
        thread.join()
    else:
        with multiprocessing.get_context("spawn").Pool(2) as pool:
            pool.map(work, [model] * 2)
    time.sleep(0.2)
    sys.stdout.write("done\n")


if __name__ == "__main__":
    main()
