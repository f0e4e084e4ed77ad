"""Runs: sharing of memory, checks of inputs, failures, profiles and the life of a device."""

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from atc_py.device.backend import DeviceBackend
from atc_py.device.sim.backend import SimBackend
from atc_py.device.sim.execution import loading
from atc_py.device.sim.kernel import Call, Kernel, find_kernel
from atc_py.diag import AtcError
from atc_py.diag.codes import BAD_RUN_INPUT, DEVICE_FAILED, DEVICE_MEMORY, MISSING_RUN_INPUT
from atc_py.package.schema import OmTensor
from atc_py.system.structs import replace
from tests.device.models import (
    Array,
    Attributes,
    MemoryModel,
    ModelBuilder,
    random_array,
    run_model,
)
from tests.sampling import examples

HALF = np.dtype(np.float16)
SHAPE = [2, 3]
X = np.array([[-1.0, 2.0, -3.0], [4.0, -5.0, 6.0]], np.float16)


@pytest.fixture
def device() -> Iterator[SimBackend]:
    """Yield an open device."""
    backend = SimBackend()
    backend.open()
    yield backend
    backend.close()


def builder_with_input(dtype: str = "float16") -> tuple[ModelBuilder, int]:
    """Return a builder with input "x"."""
    builder = ModelBuilder()
    return builder, builder.input("x", dtype, SHAPE)


def relu(builder: ModelBuilder, tensor: int, shape: Sequence[int] = (2, 3)) -> int:
    """Append a Relu, which works in place where it may."""
    dtype = builder.tensors[tensor].dtype
    return builder.node("Relu", [tensor], [(dtype, shape)])[0]


def muls(builder: ModelBuilder, tensor: int, value: float) -> int:
    """Append a Muls, which works in place where it may."""
    dtype, shape = builder.tensors[tensor].dtype, builder.tensors[tensor].shape
    return builder.node("Muls", [tensor], [(dtype, shape)], {"value": value})[0]


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_in_place_kernels_leave_inputs_of_the_model_alone(dtype: str) -> None:
    builder, x = builder_with_input(dtype)
    builder.output("y", relu(builder, x))
    fed = X.astype(dtype)
    fed.flags.writeable = False
    outputs = run_model(builder.build(), {"x": fed})
    np.testing.assert_array_equal(outputs["y"], np.maximum(fed, 0))
    np.testing.assert_array_equal(fed, X)


@pytest.mark.parametrize("dtype", [np.float16, np.float32])
def test_in_place_kernels_leave_constants_alone(device: SimBackend, dtype: type) -> None:
    builder, x = builder_with_input(np.dtype(dtype).name)
    constant = builder.constant(X.astype(dtype))
    rectified = relu(builder, constant)
    (y,) = builder.node("Add", [x, rectified], [(np.dtype(dtype).name, SHAPE)])
    (z,) = builder.node("Add", [y, constant], [(np.dtype(dtype).name, SHAPE)])
    builder.output("z", z)
    handle = device.load(builder.build())
    for _ in range(2):
        outputs = device.run(handle, {"x": X.astype(dtype)})
        np.testing.assert_array_equal(outputs["z"], X + np.maximum(X, 0) + X)


def test_value_used_twice_survives_the_first_use() -> None:
    builder, x = builder_with_input()
    doubled = muls(builder, x, 2.0)
    first = relu(builder, doubled)
    (y,) = builder.node("Add", [first, doubled], [("float16", SHAPE)])
    builder.output("y", y)
    outputs = run_model(builder.build(), {"x": X})
    np.testing.assert_array_equal(outputs["y"], np.maximum(2 * X, 0) + 2 * X)


def test_value_used_twice_by_one_node_is_not_overwritten_early() -> None:
    builder, x = builder_with_input()
    doubled = muls(builder, x, 2.0)
    (y,) = builder.node("Mul", [doubled, doubled], [("float16", SHAPE)])
    (z,) = builder.node("AccumulateNV2", [y, y, y], [("float16", SHAPE)], {"N": 3})
    builder.output("z", z)
    np.testing.assert_array_equal(run_model(builder.build(), {"x": X})["z"], 12 * X * X)


@pytest.mark.parametrize("alias", ["Reshape", "Flatten", "Unsqueeze"])
@pytest.mark.parametrize("of_input", [True, False])
def test_alias_does_not_pass_its_memory_on_while_the_value_lives(
    alias: str, of_input: bool
) -> None:
    builder, x = builder_with_input("float32")
    value = x if of_input else muls(builder, x, 2.0)
    shape = {"Reshape": [6], "Flatten": [1, 6], "Unsqueeze": [1, 2, 3]}[alias]
    inputs = [value, *([builder.constant(np.array([6]))] if alias == "Reshape" else [])]
    choices: dict[str, Attributes] = {"Flatten": {"axis": 0}, "Unsqueeze": {"axes": [0]}}
    (view,) = builder.node(alias, inputs, [("float32", shape)], choices.get(alias))
    rectified = relu(builder, view, shape)
    builder.output("rectified", rectified)
    builder.output("value", value)
    builder.output("again", muls(builder, value, 1.0))
    fed = X.astype(np.float32)
    outputs = run_model(builder.build(), {"x": fed})
    expected = fed if of_input else 2 * fed
    np.testing.assert_array_equal(outputs["rectified"], np.maximum(expected, 0).reshape(shape))
    np.testing.assert_array_equal(outputs["value"], expected)
    np.testing.assert_array_equal(outputs["again"], expected)
    np.testing.assert_array_equal(fed, X)


def test_alias_of_an_alias_keeps_the_memory_alive() -> None:
    builder, x = builder_with_input()
    doubled = muls(builder, x, 2.0)
    (flat,) = builder.node("Flatten", [doubled], [("float16", [1, 6])], {"axis": 0})
    (deep,) = builder.node("Unsqueeze", [flat], [("float16", [1, 1, 6])], {"axes": [0]})
    others = x
    for _ in range(4):
        others = muls(builder, others, -1.0)
    builder.output("deep", deep)
    builder.output("others", others)
    outputs = run_model(builder.build(), {"x": X})
    np.testing.assert_array_equal(outputs["deep"].reshape(2, 3), 2 * X)
    np.testing.assert_array_equal(outputs["others"], X)


def test_in_place_kernels_do_not_reuse_memory_of_another_shape_or_dtype() -> None:
    builder, x = builder_with_input("float32")
    row = builder.input("row", "float32", [1, 3])
    doubled = muls(builder, row, 2.0)
    (total,) = builder.node("Add", [doubled, x], [("float32", SHAPE)])
    (whole,) = builder.node("Cast", [total], [("int32", SHAPE)], {"dst_type": "int32"})
    builder.output("y", whole)
    fed = np.array([[np.nan, 0.5, 3e9]], np.float32)
    outputs = run_model(builder.build(), {"x": X.astype(np.float32), "row": fed})
    top = 2**31 - 1
    assert outputs["y"].tolist() == [[0, 3, top], [0, -4, top]]


def test_outputs_are_arrays_of_their_own(device: SimBackend) -> None:
    builder, x = builder_with_input("float32")
    y = muls(builder, x, 2.0)
    constant = builder.constant(X)
    for name, tensor in (("x", x), ("a", y), ("b", y), ("c", constant)):
        builder.output(name, tensor)
    handle = device.load(builder.build())
    fed = X.astype(np.float32)
    outputs = device.run(handle, {"x": fed})
    for array in outputs.values():
        array[...] = 99
    np.testing.assert_array_equal(fed, X)
    again = device.run(handle, {"x": fed})
    np.testing.assert_array_equal(again["x"], X)
    np.testing.assert_array_equal(again["a"], 2 * X)
    np.testing.assert_array_equal(again["b"], 2 * X)
    np.testing.assert_array_equal(again["c"], X)


def test_results_of_a_run_survive_the_next(device: SimBackend) -> None:
    builder, x = builder_with_input()
    builder.output("y", muls(builder, x, 2.0))
    handle = device.load(builder.build())
    first = device.run(handle, {"x": X})["y"]
    device.run(handle, {"x": 3 * X})
    np.testing.assert_array_equal(first, 2 * X)


def test_input_may_be_strided_scalar_or_of_foreign_byte_order(device: SimBackend) -> None:
    builder, x = builder_with_input("float32")
    builder.output("y", relu(builder, x))
    handle = device.load(builder.build())
    wide = np.zeros((3, 4), np.float32)
    wide[:, ::2] = X.T
    for fed in (wide[:, ::2].T, X.astype(">f4")):
        np.testing.assert_array_equal(device.run(handle, {"x": fed})["y"], np.maximum(X, 0))
    scalar = ModelBuilder()
    scalar.output("y", muls(scalar, scalar.input("x", "float16", []), 2.0))
    assert run_model(scalar.build(), {"x": np.float16(4)})["y"].item() == 8.0


def test_tensors_without_elements_pass_through() -> None:
    builder = ModelBuilder()
    x = builder.input("x", "float16", [0, 3])
    (y,) = builder.node("SoftmaxV2", [x], [("float16", [0, 3])])
    builder.output("y", y)
    outputs = run_model(builder.build(), {"x": np.empty((0, 3), np.float16)})
    assert outputs["y"].shape == (0, 3)


@given(seed=st.integers(0, 10**6), length=st.integers(1, 25))
@examples(60)
def test_random_graphs_agree_with_plain_numpy(seed: int, length: int) -> None:
    """Check that every value may be an output, with every input drawn anew."""
    generator = np.random.default_rng(seed)
    builder = ModelBuilder()
    known: dict[int, Array] = {}
    for name in ("a", "b"):
        known[builder.input(name, "int32", SHAPE)] = generator.integers(-9, 9, SHAPE, np.int32)
    feeds = dict(zip(("a", "b"), list(known.values()), strict=True))
    constant = generator.integers(-9, 9, SHAPE, np.int32)
    known[builder.constant(constant)] = constant
    kinds: list[tuple[str, int, Callable[..., Array]]] = [
        ("Relu", 1, lambda x: np.maximum(x, 0)),
        ("Add", 2, np.add),
        ("Mul", 2, np.multiply),
        ("AccumulateNV2", 3, lambda x, y, z: x + y + z),
        ("Reshape", 1, lambda x: x),
    ]
    shape = builder.constant(np.array(SHAPE))
    for _ in range(length):
        op, arity, compute = kinds[generator.integers(len(kinds))]
        inputs = [int(t) for t in generator.choice(list(known), arity)]
        extra = [shape] if op == "Reshape" else []
        attributes = {"N": 3} if op == "AccumulateNV2" else {}
        (made,) = builder.node(op, inputs + extra, [("int32", SHAPE)], attributes)
        known[made] = compute(*(known[tensor] for tensor in inputs))
    wanted = {int(t) for t in generator.choice(list(known), 3)} | {made}
    for tensor in wanted:
        builder.output(f"y{tensor}", tensor)
    outputs = run_model(builder.build(), feeds)
    for tensor in wanted:
        np.testing.assert_array_equal(outputs[f"y{tensor}"], known[tensor])


def two_inputs() -> MemoryModel:
    """Return adds "x" and "y", both float16 2x3."""
    builder, x = builder_with_input()
    y = builder.input("y", "float16", SHAPE)
    builder.output("z", builder.node("Add", [x, y], [("float16", SHAPE)])[0])
    return builder.build()


def test_missing_inputs_are_all_listed() -> None:
    with pytest.raises(AtcError) as caught:
        run_model(two_inputs(), {})
    (finding,) = caught.value.diagnostics
    assert finding.code is MISSING_RUN_INPUT
    assert "'x' (float16 2x3), 'y' (float16 2x3)" in finding.message


@pytest.mark.parametrize(
    ("array", "message", "remedy"),
    [
        (X.astype(np.float32), "must be float16 2x3, found float32 2x3", "astype('float16')"),
        (X.astype(np.int16), "found int16 2x3", "astype('float16')"),
        (X.T, "must be float16 2x3, found float16 3x2", "must be [2, 3]"),
        (np.float16(1), "found float16 scalar", "must be [2, 3]"),
    ],
)
def test_input_that_does_not_fit_is_refused(array: Array, message: str, remedy: str) -> None:
    with pytest.raises(AtcError) as caught:
        run_model(two_inputs(), {"x": array, "y": X})
    (finding,) = caught.value.diagnostics
    assert finding.code is BAD_RUN_INPUT
    assert message in finding.message
    assert remedy in (finding.help or "")


def test_input_of_another_name_or_type_is_refused_along_with_the_missing() -> None:
    inputs = {"X": X, "y": [[1.0]]}
    with pytest.raises(AtcError) as caught:
        run_model(two_inputs(), inputs)  # type: ignore[arg-type]
    codes = [finding.code for finding in caught.value.diagnostics]
    assert codes == [MISSING_RUN_INPUT, BAD_RUN_INPUT, BAD_RUN_INPUT]
    assert caught.value.diagnostics[1].help == "its inputs are: x, y"
    assert "must be a numpy array, found list" in caught.value.diagnostics[2].message


def failing(monkeypatch: pytest.MonkeyPatch, error: Exception) -> None:
    """Let the kernel of Add raise `error`."""

    def run(_: Call) -> None:
        raise error

    sound = find_kernel("Add")
    assert sound is not None
    broken = replace(sound, run=run, bind=None)

    def find(op: str) -> Kernel | None:
        return broken if op == "Add" else find_kernel(op)

    monkeypatch.setattr(loading, "find_kernel", find)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("boom"), "the kernel stopped: ValueError: boom"),
        (MemoryError("no 3 GiB"), "memory ran out; the node's results are float16 2x3: no 3 GiB"),
    ],
)
def test_failing_kernel_is_reported_with_its_node(
    monkeypatch: pytest.MonkeyPatch, device: SimBackend, error: Exception, message: str
) -> None:
    failing(monkeypatch, error)
    handle = device.load(two_inputs())
    with pytest.raises(AtcError) as caught:
        device.run(handle, {"x": X, "y": X})
    (finding,) = caught.value.diagnostics
    assert finding.code is (DEVICE_MEMORY if isinstance(error, MemoryError) else DEVICE_FAILED)
    assert message in finding.message
    assert str(finding.place) == 'node 0 "Add_0" (Add)'
    assert device.profile(handle) == ()


def test_result_that_no_memory_holds_is_reported_with_its_node() -> None:
    builder = ModelBuilder()
    small = builder.input("x", "float32", [1, 1])
    huge = [2**58, 1]  # more than an address space holds, however much is overcommitted
    tall = builder.constant(np.zeros((1, 1), np.float32))
    tensor = builder.tensors[tall]
    assert tensor.member is not None
    builder.tensors[tall] = OmTensor(tensor.name, "float32", [*huge], "ND", tensor.member)
    builder.arrays[tensor.member] = np.broadcast_to(np.zeros((1, 1), np.float32), huge)
    (y,) = builder.node("Add", [tall, small], [("float32", huge)])
    builder.output("y", y)
    model = builder.build()
    with pytest.raises(AtcError) as caught:
        run_model(model, {"x": np.zeros((1, 1), np.float32)})
    (finding,) = caught.value.diagnostics
    assert finding.code is DEVICE_MEMORY
    assert "the Add here needs the most, with results of 1.0 EiB" in finding.message
    assert str(finding.place) == 'node 0 "Add_0" (Add)'


def test_profile_has_every_node_of_the_last_run(device: SimBackend) -> None:
    builder, x = builder_with_input()
    y = relu(builder, x)
    builder.output("y", builder.node("Cast", [y], [("float32", SHAPE)], {"dst_type": "float32"})[0])
    handle = device.load(builder.build())
    assert device.profile(handle) == ()
    for _ in range(2):
        device.run(handle, {"x": X})
        rows = device.profile(handle)
        assert [(row.name, row.op, row.engine) for row in rows] == [
            ("Relu_0", "Relu", "aicore"),
            ("Cast_1", "Cast", "aicore"),
        ]
        assert [row.output_bytes for row in rows] == [12, 24]
        assert all(row.seconds > 0 for row in rows)


def test_device_out_of_order_is_refused() -> None:
    device = SimBackend()
    with pytest.raises(AtcError, match="not open"):
        device.load(two_inputs())
    device.open()
    handle = device.load(two_inputs())
    other = SimBackend()
    other.open()
    with pytest.raises(AtcError, match="not loaded"):
        other.run(handle, {"x": X, "y": X})
    device.close()
    device.close()
    with pytest.raises(AtcError, match="not open"):
        device.run(handle, {"x": X, "y": X})
    device.open()
    with pytest.raises(AtcError, match="not loaded") as caught:
        device.profile(handle)
    assert caught.value.diagnostics[0].code is DEVICE_FAILED


def test_simulator_follows_the_protocol() -> None:
    backend: DeviceBackend = SimBackend()
    assert isinstance(backend, DeviceBackend)
    assert backend.name == "sim"


def test_same_model_gives_the_same_bits(device: SimBackend) -> None:
    builder = ModelBuilder()
    x = builder.input("x", "float16", [1, 16, 14, 14])
    filters = builder.constant(random_array(1, (32, 16, 3, 3)).astype(HALF))
    attributes = {"strides": [1, 1, 1, 1], "pads": [1, 1, 1, 1]}
    (y,) = builder.node("Conv2D", [x, filters], [("float16", [1, 32, 14, 14])], attributes)
    builder.output("y", y)
    handle = device.load(builder.build())
    feeds = {"x": random_array(2, (1, 16, 14, 14)).astype(HALF)}
    first = device.run(handle, feeds)["y"].tobytes()
    assert all(device.run(handle, feeds)["y"].tobytes() == first for _ in range(5))
