"""`--max-memory`: what models and data ask for is refused before it is allocated."""

import resource
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from tests.cli.conftest import Result
from tests.faults.models import model_of, small_model

Atc = Callable[..., Result]

HUGE = 10**11
"""Elements: less than a model may say a tensor has, more than any machine holds."""

SIDE = 310_000
"""Of a square of about as many."""

node = helper.make_node


def ints(*values: int) -> np.ndarray[Any, np.dtype[np.int64]]:
    return np.array(values, np.int64)


ONE = np.ones(1, np.float32)
FOLDED: dict[str, tuple[list[onnx.NodeProto], dict[str, Any]]] = {
    "ConstantOfShape": ([node("ConstantOfShape", ["s"], ["c"], name="big")], {"s": ints(SIDE, SIDE)}),
    "Expand": ([node("Expand", ["a", "s"], ["c"], name="big")], {"a": ONE, "s": ints(HUGE)}),
    "Tile": ([node("Tile", ["a", "s"], ["c"], name="big")], {"a": ONE, "s": ints(HUGE)}),
    "Range": (
        [node("Range", ["a", "s", "d"], ["i"], name="big"), node("Cast", ["i"], ["c"], to=1)],
        {"a": np.int64(0), "s": np.int64(HUGE), "d": np.int64(1)},
    ),
    "Pad": ([node("Pad", ["a", "s"], ["c"], name="big")], {"a": ONE, "s": ints(0, HUGE)}),
    "OneHot": (
        [node("OneHot", ["i", "s", "v"], ["c"], name="big")],
        {"i": ints(1), "s": ints(HUGE), "v": np.array([0, 1], np.float32)},
    ),
}  # fmt: skip


def save(nodes: list[onnx.NodeProto], weights: dict[str, Any], shape: list[int]) -> Path:
    arrays = {name: np.asarray(value) for name, value in weights.items()}
    onnx.save(model_of(nodes, arrays, shape), "big.onnx")
    return Path("big.onnx")


def peak() -> int:
    """Return most bytes that this process ever held."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


@pytest.mark.parametrize("operator", FOLDED)
def test_constant_beyond_all_machines_is_refused_with_its_node(atc: Atc, operator: str) -> None:
    nodes, weights = FOLDED[operator]
    model = save([*nodes, node("Add", ["x", "c"], ["y"])], weights, [1])
    before = peak()
    for command in ("check", "convert", "compare", "profile"):
        done = atc(command, model)
        assert done.status == 1
        assert 'node 0 "big"' in done.out + done.err
    assert "ATC3006" in done.err
    assert "bytes; the limit is" in done.err
    assert peak() - before < 300e6


def test_constants_that_are_large_together_are_refused(atc: Atc) -> None:
    nodes, value = [], "x"
    for at in range(6):
        nodes.append(node("ConstantOfShape", ["s"], [f"c{at}"], name=f"made{at}"))
        nodes.append(node("Add", [value, f"c{at}"], [f"v{at}"]))
        value = f"v{at}"
    nodes.append(node("Relu", [value], ["y"]))
    model = save(nodes, {"s": ints(1 << 20)}, [1])
    assert atc("convert", model, "--max-memory", "32M").status == 0
    done = atc("convert", model, "--max-memory", "14M")
    assert done.status == 1
    assert done.err.count("error[ATC3006") == 3
    assert "constants take 16.0 MiB (16777216 bytes); the limit is 14.0 MiB" in done.err
    assert 'node 6 "made3"' in done.err
    assert "help: raise --max-memory" in done.err


def test_result_of_a_run_is_refused_with_its_node(atc: Atc) -> None:
    model = save(
        [node("Expand", ["x", "s"], ["c"], name="grow"), node("Relu", ["c"], ["y"])],
        {"s": ints(SIDE, SIDE)},
        [1],
    )
    assert atc("convert", model).status == 0
    before = peak()
    for command in (("run", "big.om", "--random", "1"), ("compare", model)):
        done = atc(*command)
        assert (done.status, done.err[:29]) == (4, "error[ATC7020 device-memory]:")
        assert "a run takes" in done.err
        assert "needs the most, with results of" in done.err
        assert "GiB" in done.err or "TiB" in done.err
    assert peak() - before < 300e6


def test_limit_decides_whether_a_run_may_begin(atc: Atc) -> None:
    model = save([node("Relu", ["x"], ["r"]), node("Tanh", ["r"], ["y"])], {}, [1 << 20])
    assert atc("convert", model).status == 0
    np.save("x.npy", np.ones(1 << 20, np.float32))
    refused = atc("run", "big.om", "-i", "x.npy", "--max-memory", "5M")
    assert (refused.status, refused.err[:14]) == (4, "error[ATC7020 ")
    assert "the limit is 5.0 MiB (5242880 bytes)" in refused.err
    assert atc("run", "big.om", "--random", "1", "--max-memory", "100M").status == 0


def test_result_that_only_the_run_knows_is_refused(atc: Atc) -> None:
    nodes = [
        node("Range", ["zero", "x", "one"], ["r"], name="count"),
        node("Relu", ["r"], ["y"]),
    ]
    zero, one = np.float32(0), np.float32(1)
    proto = model_of(nodes, {"zero": np.asarray(zero), "one": np.asarray(one)}, [])
    onnx.save(proto, "big.onnx")
    assert atc("convert", "big.onnx", "--precision-mode", "must_keep_origin_dtype").status == 0
    np.save("x.npy", np.float32(1e9))
    np.save("small.npy", np.float32(1e3))
    done = atc("run", "big.om", "-i", "x.npy", "--max-memory", "64M")
    assert (done.status, done.err[:14]) == (4, "error[ATC7020 ")
    assert "3.7 GiB" in done.err
    assert "Range" in done.err
    assert atc("run", "big.om", "-i", "small.npy", "--max-memory", "64M").status == 0


def test_inputs_that_are_too_large_are_refused(atc: Atc) -> None:
    model = save([node("Relu", ["x"], ["y"])], {}, [SIDE, SIDE])
    assert atc("convert", model).status == 0
    Path("x.npy").write_bytes(b"\x93NUMPY")
    Path("x.bin").touch()
    Path("x.pb").write_bytes(numpy_helper.from_array(ONE).SerializeToString())
    for name in ("x.npy", "x.pb"):
        with Path(name).open("r+b") as file:
            file.truncate(4 * HUGE)  # a file of holes, which takes no disk
    for given in (["--random", "1"], *(["-i", name] for name in ("x.npy", "x.bin", "x.pb"))):
        done = atc("run", "big.om", *given)
        assert done.status == 3, given
        assert done.err.startswith("error[ATC2040 memory-limit]: ")
        assert "GiB" in done.err or "TiB" in done.err


@pytest.mark.parametrize(
    "command", ["convert", "check", "run", "compare", "profile", "kernels", "quantize"]
)
def test_every_command_with_data_takes_the_limit(atc: Atc, command: str) -> None:
    done = atc(command, "gone.onnx", "--max-memory", "lots")
    assert (done.status, done.err[:14]) == (2, "error[ATC1001 ")
    assert "'lots' is not a valid memory size" in done.err
    assert atc(command, "gone.onnx", "--max-memory", "1G").status == 3


def test_limit_leaves_sound_models_alone(atc: Atc, tmp_path: Path) -> None:
    small_model(tmp_path)
    assert atc("convert", "small.onnx", "--max-memory", "1M").status == 0
    assert atc("run", "small.om", "--random", "0", "--max-memory", "4M").status == 0
