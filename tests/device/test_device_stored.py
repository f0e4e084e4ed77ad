"""Device memory: which bytes are where, and what memory holds that nobody wrote."""

import numpy as np
import pytest

from atc_py.device.sim.execution.loading import build_program
from atc_py.device.sim.memory.device_memory import DeviceMemory, Layouts
from atc_py.tensor.dtypes import DType, Format
from atc_py.tensor.packing import pack
from atc_py.tensor.storage import Storage
from tests.device.models import MemoryModel, random_array
from tests.device.stored_models import stored_model

TEXT = """graph @g phase laid_out {
  input %x : float16[1,3,4,4] NCHW
  const %w : float16[3] ND = dense [1.0, 2.0, 3.0]
  %a = TransData(%x) {src_format="NCHW", dst_format="NC1HWC0"} \
: float16[1,3,4,4] NCHW@NC1HWC0 engine=aicore
  %b = Neg(%x) : float16[1,3,4,4] NCHW engine=aicore
  %v = Flatten(%b) {axis=1} : float16[1,48] ND engine=local
  %u = Unsqueeze(%v) {axes=[0]} : float16[1,1,48] ND engine=local
  %z = Neg(%w) : float16[3] ND engine=aicore
  output %a
  output %u
  output %z
}"""
X, W, A, B, V, U = range(6)
PLACES: list[int | str] = ["input", "weights", 0, 512, 512, 512, "output"]
POISON = b"\x7f"
SHAPE = (1, 3, 4, 4)


def made(model: MemoryModel | None = None) -> DeviceMemory:
    """Return memory at the start of a run."""
    whole = stored_model(TEXT, PLACES) if model is None else model
    program = build_program(whole, moves=True)
    layouts = Layouts(program.tensors, whole.description)
    memory = DeviceMemory(program, whole.description, layouts)
    memory.begin()
    return memory


def test_memory_is_poison_before_it_is_written() -> None:
    memory = made()
    assert memory.arena.size == 1024
    assert set(memory.arena.tobytes()) == set(POISON)
    assert not memory.is_alive(A)
    assert memory.elements(A) == 0


def test_tensor_is_stored_packed_in_its_own_dtype_at_its_place() -> None:
    memory, x = made(), random_array(0, SHAPE, DType.FLOAT16)
    memory.write(A, x.astype(np.float32))
    packed = pack(x, Format.NCHW, Storage(Format.NC1HWC0)).tobytes()
    assert len(packed) == 512
    assert memory.arena[:512].tobytes() == packed
    memory.write(B, x.astype(np.float32))
    assert memory.arena[512:].tobytes() == x.tobytes() + POISON * (512 - x.nbytes)
    np.testing.assert_array_equal(memory.read(A), x.astype(np.float32))
    assert memory.elements(A) == x.size


def test_constants_are_there_and_stay() -> None:
    memory = made()
    for _ in range(2):
        assert memory.read(W).tolist() == [1, 2, 3]
        memory.release(W)
        assert memory.read(W).tolist() == [1, 2, 3]
        memory.begin()
    assert memory.nbytes == 1024 + 6


def test_change_of_format_moves_bits() -> None:
    """Check signalling NaN and its payload, which no way through another dtype would keep."""
    memory = made()
    memory.write(X, np.zeros(SHAPE, np.float32))
    given = np.arange(0x7C01, 0x7C31, dtype=np.uint16).reshape(SHAPE)
    memory.piece(X).view(np.uint16)[...] = given.reshape(-1)
    memory.move(X, A)
    wanted = pack(given.view(np.float16), Format.NCHW, Storage(Format.NC1HWC0))
    assert memory.arena[:512].tobytes() == wanted.tobytes()


def test_bytes_go_with_the_last_view_of_them() -> None:
    memory = made()
    memory.write(B, np.ones(SHAPE, np.float32))
    memory.show(V, (1, 48))
    memory.release(B)
    memory.show(U, (1, 1, 48))
    memory.release(V)
    assert memory.read(U).tolist() == [[[1.0] * 48]]
    memory.release(U)
    assert set(memory.arena[512:].tobytes()) == set(POISON)
    memory.release(U)


def test_place_of_a_result_is_poisoned_unless_the_launch_works_in_place() -> None:
    text = """graph @g phase laid_out {
      input %x : float16[256] ND
      %a = Neg(%x) : float16[256] ND engine=aicore
      %b = OP(%a) : float16[256] ND engine=aicore
      output %b
    }"""
    for op, kept in (("Abs", True), ("SoftmaxV2", False)):
        attributes = "" if kept else " {axes=[-1]}"
        model = stored_model(text.replace("OP(%a)", f"{op}(%a){attributes}"), ["input", 0, 0])
        memory = made(model)
        memory.write(1, np.ones(256, np.float32))
        memory.expect([2], [1])
        assert (memory.arena.tobytes() == np.ones(256, np.float16).tobytes()) is kept
        memory.write(2, np.zeros(256, np.float32))
        memory.release(1)
        assert (not memory.arena.any()) is kept


@pytest.mark.parametrize("engine", ["aicore", "aicpu"])
def test_only_the_ai_core_works_in_place(engine: str) -> None:
    text = f"""graph @g phase laid_out {{
      input %x : float16[256] ND
      %a = Neg(%x) : float16[256] ND engine=aicore
      %b = Abs(%a) : float16[256] ND engine={engine}
      output %b
    }}"""
    memory = made(stored_model(text, ["input", 0, 0]))
    memory.write(1, np.ones(256, np.float32))
    memory.expect([2], [1])
    assert (memory.read(1) == 1).all() == (engine == "aicore")
