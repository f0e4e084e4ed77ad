"""Mutated models that atc-py refuses and onnxruntime takes and runs, by the code of the refusal.

`python -m tests.fuzz.differential --count 2000 --seed 1` prints them. onnxruntime gets a process of
its own for each model, since hostile ones end it.
"""

import argparse
import multiprocessing
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tests.fuzz.cases import mutated_model
from tests.fuzz.trial import try_model

_SECONDS = 30
_LARGEST = 2**24
_DTYPES = {"float": "float32", "double": "float64"}


def onnxruntime_runs(data: bytes) -> bool:
    """Return True if onnxruntime takes a model and runs it on random data, open dims being 1."""
    process = multiprocessing.get_context("fork").Process(target=_run, args=(data,))
    process.start()
    process.join(_SECONDS)
    if process.is_alive():
        process.kill()
        process.join()
    return process.exitcode == 0


def _run(data: bytes) -> None:
    """Run the model; the exit status says whether that went well."""
    import onnxruntime

    onnxruntime.set_default_logger_severity(4)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    try:
        session = onnxruntime.InferenceSession(data, options, providers=["CPUExecutionProvider"])
        session.run(None, {each.name: _array(each) for each in session.get_inputs()})
    except Exception:  # noqa: BLE001  (it raises anything for models that it does not take)
        sys.exit(1)


def _array(port: Any) -> np.ndarray[Any, Any]:
    """Return random data for an input."""
    shape = [dim if isinstance(dim, int) else 1 for dim in port.shape]
    if np.prod([float(dim) for dim in shape]) > _LARGEST:
        sys.exit(2)
    name = str(port.type).removeprefix("tensor(").removesuffix(")")
    dtype = np.dtype(_DTYPES.get(name, name))
    return np.random.default_rng(1).integers(0, 2, shape).astype(dtype)


def main(args: Sequence[str] | None = None) -> None:
    """Print the refusals by code, with some examples of each."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    found = parser.parse_args(args)
    counts: Counter[str] = Counter()
    examples: dict[str, list[str]] = defaultdict(list)
    refused = 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.onnx"
        for number in range(found.count):
            case = mutated_model(found.seed, number)
            path.write_bytes(case.data)
            converted = try_model(path).steps[1]
            if not converted.status:
                continue
            refused += 1
            if onnxruntime_runs(case.data):
                reason = " ".join(converted.codes)
                counts[reason] += 1
                examples[reason].append(case.label)
    print(f"{found.count} cases, {refused} refused, {counts.total()} of these run in onnxruntime")  # noqa: T201
    for reason, count in counts.most_common():
        print(count, reason, *examples[reason][:6], sep="\n  ")  # noqa: T201


if __name__ == "__main__":
    main()
