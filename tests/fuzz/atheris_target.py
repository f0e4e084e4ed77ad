"""Coverage-guided fuzzing where atheris is installed: `python -m tests.fuzz.atheris_target`.

Models that reach new code are kept in the folder that is named last on the command line, as
libFuzzer does; what fails ends the process and is written to `crash-*`.
"""

import importlib
import pkgutil
import random
import sys
import tempfile
from pathlib import Path

import onnx
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from tests.fuzz.byte_mutations import mutate_bytes

_LARGEST = 2**16


def mutated(data: bytes, largest: int, seed: int) -> bytes:
    """Return `data` with one more mutation; if it is not a model any more, another sound one.

    Args:
        data: a model, or what became of one.
        largest: bytes that the result may have.
        seed: chooses the mutation.
    """
    # What is imported before the engine instruments it guides nothing.
    from tests.fuzz.graph_mutations import MUTATIONS
    from tests.fuzz.seed_models import seed_models

    rng = random.Random(seed)  # noqa: S311  (the engine's seed makes the case again)
    try:
        model = onnx.ModelProto.FromString(data)
    except DecodeError:
        model = onnx.ModelProto.FromString(rng.choice(seed_models(shared=False)).data)
    rng.choice(list(MUTATIONS.values()))(model, rng)
    changed = bytes(model.SerializePartialToString())
    return mutate_bytes(changed, rng)[:largest] if rng.random() < 0.2 else changed[:largest]


def main() -> None:
    """Run the fuzzer until a case fails or libFuzzer's options say stop."""
    atheris = importlib.import_module("atheris")
    with atheris.instrument_imports(include=["atc_py"]):
        package = importlib.import_module("atc_py")
        for each in pkgutil.walk_packages(package.__path__, "atc_py."):
            if not each.name.endswith("__main__"):
                importlib.import_module(each.name)
        trial = importlib.import_module("tests.fuzz.trial")
    path = Path(tempfile.mkdtemp(prefix="atc-py-fuzz-")) / "model.onnx"

    def try_one(data: bytes) -> None:
        path.write_bytes(data)
        failure = trial.try_model(path, len(data)).failure
        if failure:
            raise AssertionError(failure)

    atheris.Setup([*sys.argv, f"-max_len={_LARGEST}"], try_one, custom_mutator=mutated)
    atheris.Fuzz()


if __name__ == "__main__":
    main()
