"""What launches a step over and over does what its first run does, with the data of each run."""

import threading
from functools import partial

import msgspec
import numpy as np
import pytest

from atc_py.device.sim.execution.loading import build_program
from atc_py.device.sim.execution.parallel import Workers
from atc_py.device.sim.execution.program import settled
from atc_py.device.sim.execution.session import SimModel
from atc_py.device.sim.kernel import Launch, sequence, split_among_workers
from tests.device.models import Array, Attributes, MemoryModel, ModelBuilder

X, FILTERS = [2, 8, 16, 16], [12, 8, 3, 3]
Y = [2, 12, 16, 16]
HALF = "float16"
WINDOW: Attributes = {"strides": [1] * 4, "pads": [1] * 4, "dilations": [1] * 4, "groups": 1}


def convolution(bound: str, low: float = 0.0, *, merged: bool = True) -> MemoryModel:
    """Return a convolution and what holds its result to bounds, one launch or two."""
    builder, rng = ModelBuilder(), np.random.default_rng(3)
    x = builder.input("x", HALF, X)
    (fed,) = builder.node("Neg", [x], [(HALF, X)])
    weights = builder.constant(rng.normal(scale=0.1, size=FILTERS).astype(np.float16))
    bias = builder.constant(rng.normal(size=[12]).astype(np.float16))
    (sums,) = builder.node("Conv2D", [fed, weights, bias], [(HALF, Y)], WINDOW)
    limits = [np.float16(low), np.float16(2)] if bound == "ClipByValue" else []
    bounds = [builder.constant(np.array(limit)) for limit in limits]
    (y,) = builder.node(bound, [sums, *bounds], [(HALF, Y)])
    builder.output("y", y)
    built = builder.build()
    first, *rest = built.description.nodes
    nodes = [first, *(msgspec.structs.replace(node, scope=int(merged)) for node in rest)]
    return MemoryModel(msgspec.structs.replace(built.description, nodes=nodes), built.arrays)


def feeds(count: int) -> list[Array]:
    """Return data of several runs: of any size, tiny, with infinities and NaN."""
    rng = np.random.default_rng(4)
    scales = (1.0, 1e-6, 300.0, 1.0, 1e-3)
    made = [rng.normal(scale=scales[run % 5], size=X).astype(np.float16) for run in range(count)]
    made[3][0, 0, 0, :3] = [np.nan, np.inf, -np.inf]
    return made


def first_run(model: MemoryModel, x: Array) -> Array:
    """Return the result of a model that has not run before."""
    device = SimModel(model)
    found = device.run({"x": x})["y"]
    device.close()
    return found


@pytest.mark.parametrize(("bound", "low"), [("Relu", 0), ("ClipByValue", 0), ("ClipByValue", -1)])
def test_later_runs_give_what_a_first_run_gives(bound: str, low: float) -> None:
    device = SimModel(convolution(bound, low))
    for x in feeds(5):
        wanted = first_run(convolution(bound, low), x)
        assert device.run({"x": x})["y"].tobytes() == wanted.tobytes()
    device.close()


@pytest.mark.parametrize(("bound", "low"), [("Relu", 0), ("ClipByValue", 0), ("ClipByValue", -1)])
def test_bounds_applied_before_rounding_give_what_they_give_after_it(
    bound: str, low: float
) -> None:
    for x in feeds(5):
        found = first_run(convolution(bound, low), x)
        np.testing.assert_array_equal(found, first_run(convolution(bound, low, merged=False), x))


def test_steps_that_read_what_is_fed_or_shows_it_are_not_settled() -> None:
    builder = ModelBuilder()
    x = builder.input("x", HALF, [2, 3])
    (shown,) = builder.node("Flatten", [x], [(HALF, [2, 3])], {"axis": 1})
    (of_shown,) = builder.node("Neg", [shown], [(HALF, [2, 3])])
    (shown_again,) = builder.node("Flatten", [of_shown], [(HALF, [2, 3])], {"axis": 1})
    (y,) = builder.node("Neg", [shown_again], [(HALF, [2, 3])])
    builder.output("y", y)
    model = builder.build()
    assert settled(build_program(model)) == {2, 3}
    device = SimModel(model)
    for number in range(4):
        x_of_run = np.full((2, 3), number, np.float16)
        assert device.run({"x": x_of_run})["y"].tolist() == x_of_run.tolist()
    device.close()


def test_shared_work_is_built_once_for_each_range_and_thread() -> None:
    workers, built = Workers(2), []
    done = np.zeros(8, int)

    def build(start: int, stop: int) -> Launch:
        built.append((threading.get_ident(), start, stop))

        def launch() -> None:
            done[start:stop] += 1

        return launch

    launch = split_among_workers(workers, 8, build)
    for _ in range(20):
        launch()
    workers.close()
    assert done.tolist() == [20] * 8
    assert len(built) == len(set(built))
    ranges = {(start, stop) for _, start, stop in built}
    assert ranges == {(0, 4), (4, 8)}


def test_launches_in_turn_keep_their_order() -> None:
    seen: list[int] = []
    sequence([partial(seen.append, number) for number in range(3)])()
    sequence([])()
    assert seen == [0, 1, 2]
