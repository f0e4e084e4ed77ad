"""A program with processes of multiprocessing: a pool, or single ones."""

from __future__ import annotations

import multiprocessing
import sys
from typing import Any

import numpy as np
import onnxruntime

FEEDS = {"x": np.ones((1, 3, 8, 8), np.float32)}


def work(model: str) -> tuple[int, ...]:
    """Run a model once."""
    session = onnxruntime.InferenceSession(model, providers=["CPUExecutionProvider"])
    shape: tuple[int, ...] = session.run(["y"], FEEDS)[0].shape
    return shape


def put(model: str, queue: multiprocessing.Queue[tuple[int, ...]]) -> None:
    """Run a model once, and send what came of it."""
    queue.put(work(model))


def main() -> None:
    """Run in two processes."""
    model, method, way = sys.argv[1:]
    context: Any = multiprocessing.get_context(method)
    if way == "pool":
        with context.Pool(2) as pool:
            found = pool.map(work, [model, model], chunksize=1)
            pool.close()
            pool.join()
    else:
        queue = context.Queue()
        started = [context.Process(target=put, args=(model, queue)) for _ in range(2)]
        for each in started:
            each.start()
        found = [queue.get() for _ in started]
        for each in started:
            each.join()
    sys.stdout.write(f"{found}\n")


if __name__ == "__main__":
    main()
