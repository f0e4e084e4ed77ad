"""Host headers: every check is provoked by a wrong kernel, and right ones pass."""

import re
import subprocess
from pathlib import Path

import pytest

from atc_py.compare.kernels.toolchain import find_compiler
from atc_py.system.cache_folders import templates_dir
from tests.failures import in_one_item
from tests.sampling import sampled

FRAME = """
struct Case{number} {{
  static void Run() {{
    TPipe pipe;
    TQue<QuePosition::VECIN, 2> in;
    TQue<QuePosition::VECOUT, 2> out;
    TBuf<QuePosition::VECCALC> scratch;
    GlobalTensor<half> gm;
    gm.SetGlobalBuffer(reinterpret_cast<half*>(Memory()));
    {body}
  }}
}};
"""
QUEUES = "pipe.InitBuffer(in, 2, 256); pipe.InitBuffer(out, 2, 256); "
ALLOC = "auto x = in.AllocTensor<half>(); (void)x; "
PAD = "const DataCopyPadExtParams<half> pad{false, 0, 0, half(0)}; "
L1 = (
    "TQue<QuePosition::A1, 1> a1; pipe.InitBuffer(a1, 1, 512); auto a = a1.AllocTensor<half>(); "
    "(void)a; "
)
L0 = "TQue<QuePosition::A2, 1> a2; pipe.InitBuffer(a2, 1, 512); auto x = a2.AllocTensor<half>(); "
SUMS = (
    "TQue<QuePosition::CO1, 1> c1; pipe.InitBuffer(c1, 1, 1024); auto c = c1.AllocTensor<float>(); "
)

WRONG = {
    "misaligned-copy": (QUEUES + ALLOC + "DataCopy(x, gm, 31);", "62 bytes are no whole blocks"),
    "misaligned-store": (
        QUEUES + "auto y = out.AllocTensor<half>(); out.EnQue(y); y = out.DeQue<half>(); "
        "DataCopy(gm, y, 1);",
        "2 bytes are no whole blocks",
    ),
    "misaligned-start": (
        QUEUES + ALLOC + "Duplicate(x[3], half(1), 16);",
        "the tensor starts 6 bytes past a block of 32",
    ),
    "buffer-overrun-by-copy": (
        QUEUES + ALLOC + "DataCopy(x, gm, 144);",
        "buffer overrun: elements up to 144 of a tensor of 128",
    ),
    "buffer-overrun-by-arithmetic": (
        QUEUES + "auto y = out.AllocTensor<half>(); Relu(y, y, 129);",
        "buffer overrun: elements up to 129 of a tensor of 128",
    ),
    "buffer-overrun-by-scalar": (QUEUES + ALLOC + "x.SetValue(128, half(1));", "buffer overrun"),
    "buffer-overrun-by-runs": (
        QUEUES + ALLOC + PAD + "DataCopyPad(x, gm, DataCopyExtParams{5, 34, 0, 0, 0}, pad);",
        "buffer overrun",
    ),
    "operand-overrun": (
        QUEUES + ALLOC + "DataCopy(x, gm[993], 32);",
        "operand overrun: elements up to 32 where 31 are left",
    ),
    "operand-overrun-by-scalar": ("gm.GetValue(1024);", "operand overrun"),
    "computed-before-enque": (
        QUEUES + ALLOC + "DataCopy(x, gm, 16); auto y = out.AllocTensor<half>(); Relu(y, x, 16);",
        "computed with before EnQue and DeQue",
    ),
    "used-while-queued": (
        QUEUES + ALLOC + "in.EnQue(x); auto y = out.AllocTensor<half>(); Relu(y, x, 16);",
        "used between EnQue and DeQue",
    ),
    "copied-out-before-enque": (
        QUEUES + "auto y = out.AllocTensor<half>(); DataCopy(gm, y, 16);",
        "copied out before EnQue and DeQue",
    ),
    "copied-into-after-deque": (
        QUEUES + ALLOC + "in.EnQue(x); x = in.DeQue<half>(); DataCopy(x, gm, 16);",
        "copied into after DeQue",
    ),
    "used-after-free": (
        QUEUES + ALLOC + "in.FreeTensor(x); DataCopy(x, gm, 16);",
        "used after FreeTensor",
    ),
    "deque-without-enque": (QUEUES + ALLOC + "in.DeQue<half>();", "DeQue without EnQue"),
    "enque-twice": (QUEUES + ALLOC + "in.EnQue(x); in.EnQue(x);", "does not come from AllocTensor"),
    "enque-of-another-queue": (QUEUES + ALLOC + "out.EnQue(x);", "does not belong to this queue"),
    "freed-twice": (QUEUES + ALLOC + "in.FreeTensor(x); in.FreeTensor(x);", "of a free tensor"),
    "freed-while-queued": (
        QUEUES + ALLOC + "in.EnQue(x); in.FreeTensor(x);",
        "FreeTensor between EnQue and DeQue",
    ),
    "queue-leak": (QUEUES + ALLOC, "queue leak: the tensor from this AllocTensor is never freed"),
    "no-free-buffer": (
        QUEUES + ALLOC + "in.AllocTensor<half>(); in.AllocTensor<half>();",
        "AllocTensor finds no free buffer: none of the queue's 2",
    ),
    "alloc-before-init": ("in.AllocTensor<half>();", "AllocTensor before InitBuffer"),
    "get-before-init": ("scratch.Get<float>();", "Get before InitBuffer"),
    "get-too-much": (
        "pipe.InitBuffer(scratch, 64); scratch.Get<float>(17);",
        "Get of more than the buffer has",
    ),
    "deeper-than-the-queue": (
        "pipe.InitBuffer(in, 3, 256);",
        "asks for more buffers than the queue is deep",
    ),
    "tile-larger-than-buffer": (
        "pipe.InitBuffer(in, 2, 131072); pipe.InitBuffer(out, 1, 32);",
        "the tile is larger than the buffer: 262176 bytes of the unified buffer, which has 262144",
    ),
    "never-allocated": ("LocalTensor<half> x; x.GetValue(0);", "the tensor was never allocated"),
    "no-runs": (
        QUEUES + ALLOC + PAD + "DataCopyPad(x, gm, DataCopyExtParams{0, 32, 0, 0, 0}, pad);",
        "takes 1 to 4095 runs",
    ),
    "empty-run": (
        QUEUES + ALLOC + PAD + "DataCopyPad(x, gm, DataCopyExtParams{1, 0, 0, 0, 0}, pad);",
        "takes runs of 1 to 2097151 bytes",
    ),
    "padding-too-wide": (
        QUEUES + ALLOC + "DataCopyPad(x, gm, DataCopyExtParams{1, 32, 0, 0, 0}, "
        "DataCopyPadExtParams<half>{true, 17, 0, half(0)});",
        "pads at most 32 bytes on each side",
    ),
    "misaligned-gather": (
        QUEUES + "pipe.InitBuffer(scratch, 64); auto at = scratch.Get<uint32_t>(); "
        "Duplicate(at, 0u, 16); at.SetValue(3, 5); "
        "auto y = out.AllocTensor<half>(); Duplicate(y, half(0), 16); Gather(y, y, at, 0, 16);",
        "misaligned gather: offset 5 is no multiple of the element's 2 bytes",
    ),
    "gather-overrun": (
        QUEUES + "pipe.InitBuffer(scratch, 64); auto at = scratch.Get<uint32_t>(); "
        "Duplicate(at, 200u, 16); "
        "auto y = out.AllocTensor<half>(); Duplicate(y, half(0), 16); Gather(y, y, at, 56, 16);",
        "gather overrun: offset 256 of a tensor of 256 bytes",
    ),
    "compare-part-of-a-repeat": (
        QUEUES + "pipe.InitBuffer(scratch, 32); auto y = out.AllocTensor<half>(); "
        "CompareScalar(scratch.Get<uint8_t>(), y, half(0), CMPMODE::LT, 100);",
        "whole repeats of 256 bytes",
    ),
    "compare-int32-order": (
        QUEUES + "pipe.InitBuffer(scratch, 32); auto y = out.AllocTensor<int32_t>(); "
        "CompareScalar(scratch.Get<uint8_t>(), y, 0, CMPMODE::LT, 64);",
        "of int32_t the vector unit compares EQ alone",
    ),
    "select-mode": (
        QUEUES + "pipe.InitBuffer(scratch, 32); auto y = out.AllocTensor<half>(); "
        "Select(y, scratch.Get<uint8_t>(), y, y, SELMODE::VSEL_CMPMASK_SPR, 64);",
        "need VSEL_TENSOR_TENSOR_MODE",
    ),
    "cast-that-widens-rounds": (
        QUEUES + "pipe.InitBuffer(scratch, 256); auto y = out.AllocTensor<half>(); "
        "Cast(scratch.Get<float>(), y, RoundMode::CAST_RINT, 16);",
        "takes RoundMode::CAST_NONE",
    ),
    "cast-to-integer-without-rounding": (
        QUEUES + "pipe.InitBuffer(scratch, 256); auto y = out.AllocTensor<half>(); "
        "Cast(scratch.Get<int32_t>(), y, RoundMode::CAST_NONE, 16);",
        "needs a way of rounding",
    ),
    "cast-with-another-rounding": (
        QUEUES + "pipe.InitBuffer(scratch, 256); auto y = out.AllocTensor<half>(); "
        "Cast(y, scratch.Get<float>(), RoundMode::CAST_FLOOR, 16);",
        "takes CAST_RINT and CAST_NONE",
    ),
    "select-value-mode": (
        QUEUES + "pipe.InitBuffer(scratch, 32); auto y = out.AllocTensor<half>(); "
        "Select(y, scratch.Get<uint8_t>(), y, half(0), SELMODE::VSEL_CMPMASK_SPR, 64);",
        "a tensor and a value need VSEL_TENSOR_SCALAR_MODE",
    ),
    "reduce-nothing": (
        "pipe.InitBuffer(scratch, 256); auto s = scratch.Get<float>(); ReduceSum(s, s, s, 0);",
        "a reduction needs an element",
    ),
    "reduce-without-work": (
        (
            "pipe.InitBuffer(scratch, 8192); auto s = scratch.Get<float>(); "
            "ReduceSum(s, s, scratch.Get<float>(8), 2048);"
        ),
        "buffer overrun: elements up to 32 of a tensor of 8",
    ),
    "matrix-without-rows": (
        (
            "TQue<QuePosition::A1, 1> a1; pipe.InitBuffer(a1, 1, 512); auto a = a1.AllocTensor<half>();"
            " Nd2NzParams nd; DataCopy(a, gm, nd);"
        ),
        "nValue must be 1 to 16384",
    ),
    "matrix-without-columns": (
        (
            "TQue<QuePosition::A1, 1> a1; pipe.InitBuffer(a1, 1, 512); auto a = a1.AllocTensor<half>();"
            " Nd2NzParams nd; nd.nValue = 1; DataCopy(a, gm, nd);"
        ),
        "dValue must be 1 to 65535",
    ),
    "no-fractals": (
        (
            "TQue<QuePosition::A1, 1> a1; TQue<QuePosition::A2, 1> a2; pipe.InitBuffer(a1, 1, 512);"
            "pipe.InitBuffer(a2, 1, 512); LoadData2DParams load; load.repeatTimes = 0;"
            "LoadData(a2.AllocTensor<half>(), a1.AllocTensor<half>(), load);"
        ),
        "repeatTimes must be 1 to 255",
    ),
    "sums-in-another-mode": (
        (
            "TQue<QuePosition::CO1, 1> c; pipe.InitBuffer(c, 1, 1024); pipe.InitBuffer(out, 1, 512);"
            "DataCopy(out.AllocTensor<half>(), c.AllocTensor<float>(), DataCopyParams{1, 1, 0, 0},"
            "         DataCopyEnhancedParams{});"
        ),
        "L0C is read in BLOCK_MODE_MATRIX",
    ),
    "sums-in-two-runs": (
        (
            "TQue<QuePosition::CO1, 1> c; pipe.InitBuffer(c, 1, 1024); pipe.InitBuffer(out, 1, 512);"
            "DataCopy(out.AllocTensor<half>(), c.AllocTensor<float>(), DataCopyParams{2, 1, 0, 0},"
            "         DataCopyEnhancedParams{BlockMode::BLOCK_MODE_MATRIX});"
        ),
        "on the host one run of fractals is read at once",
    ),
    "turned-fractals-of-bytes": (
        (
            "TQue<QuePosition::A1, 1> a1; TQue<QuePosition::A2, 1> a2; pipe.InitBuffer(a1, 1, 512);"
            "pipe.InitBuffer(a2, 1, 512); LoadData2DParams load; load.ifTranspose = true;"
            "LoadData(a2.AllocTensor<int8_t>(), a1.AllocTensor<int8_t>(), load);"
        ),
        "ifTranspose turns fractals of 16 bits alone",
    ),
    "empty-product": (
        (
            "TQue<QuePosition::CO1, 1> c; TQue<QuePosition::A2, 1> a; pipe.InitBuffer(c, 1, 1024);"
            "pipe.InitBuffer(a, 1, 512); auto x = a.AllocTensor<half>();"
            "Mmad(c.AllocTensor<float>(), x, x, MmadParams{});"
        ),
        "m, n and k must be at least 1",
    ),
    "matrix-with-far-rows": (
        L1
        + " Nd2NzParams nd; nd.nValue = 1; nd.dValue = 1; nd.srcDValue = 65536; DataCopy(a, gm, nd);",
        "srcDValue must be 1 to 65535",
    ),
    "no-rows-of-blocks": (
        QUEUES + L1 + "DataCopy(a, gm, DataCopyParams{0, 1, 0, 0});",
        "DataCopy takes 1 to 4095 runs",
    ),
    "empty-rows-of-blocks": (
        QUEUES + L1 + "DataCopy(a, gm, DataCopyParams{1, 0, 0, 0});",
        "DataCopy takes runs of at least a block",
    ),
    "rows-of-blocks-past-the-operand": (
        QUEUES + L1 + "DataCopy(a, gm, DataCopyParams{2, 1, 5000, 0});",
        "operand overrun: elements up to 80032",
    ),
    "rows-of-blocks-past-the-buffer": (
        QUEUES + L1 + "DataCopy(a, gm, DataCopyParams{2, 1, 0, 31});",
        "buffer overrun: elements up to 528 of a tensor of 256",
    ),
    "no-rows-to-l1": (
        QUEUES
        + L1
        + "auto y = out.AllocTensor<half>(); DataCopy(a, y, DataCopyParams{0, 1, 0, 0});",
        "DataCopy takes 1 to 4095 runs",
    ),
    "empty-rows-to-l1": (
        QUEUES
        + L1
        + "auto y = out.AllocTensor<half>(); DataCopy(a, y, DataCopyParams{1, 0, 0, 0});",
        "DataCopy takes runs of at least a block",
    ),
    "no-squares": (
        L1 + L0 + "LoadDataWithTranspose(x, a, LoadData2dTransposeParams{});",
        "repeatTimes must be 1 to 255",
    ),
    "even-lines-of-halves": (
        L0 + SUMS + "MmadParams size{1, 1, 1}; size.kDirectionAlign = true; Mmad(c, x, x, size);",
        "kDirectionAlign is for operands of 32 bits",
    ),
    "bias-beside-zero": (
        L0 + SUMS + "Mmad(c, x, x, c, MmadParams{1, 1, 1});",
        "a bias needs cmatrixInitVal false and cmatrixSource true",
    ),
    "sums-of-another-dtype": (
        L1 + SUMS + "Fixpipe(gm, c, FixpipeParamsV220{16, 16, 16, 16});",
        "quantPre must name the dtype of the result",
    ),
    "sums-of-half-a-column": (
        SUMS + "Fixpipe<half, float, CFG_NZ>(gm, c, {8, 16, 16, 16, QuantMode_t::F322F16});",
        "nSize must be whole columns of 16",
    ),
    "halves-of-columns-of-half": (
        SUMS + "Fixpipe<half, float, CFG_NZ>"
        "(gm, c, {16, 16, 16, 16, QuantMode_t::F322F16, false, true});",
        "isChannelSplit is for columns of float",
    ),
    "sums-of-half-a-column-of-8": (
        SUMS + "GlobalTensor<float> wide; Fixpipe<float, float, CFG_NZ>"
        "(wide, c, {4, 16, 16, 16, QuantMode_t::NoQuant, false, true});",
        "nSize must be whole columns of 8",
    ),
    "no-sums": (
        SUMS + "Fixpipe(gm, c, FixpipeParamsV220{0, 0, 0, 16, QuantMode_t::F322F16});",
        "mSize and nSize must be at least 1",
    ),
    "sums-of-too-few-lines": (
        SUMS + "Fixpipe(gm, c, FixpipeParamsV220{16, 16, 15, 16, QuantMode_t::F322F16});",
        "srcStride must be at least mSize",
    ),
    "bias-in-two-runs": (
        L1 + "TQue<QuePosition::C2, 1> table; pipe.InitBuffer(table, 1, 64);"
        "DataCopy(table.AllocTensor<float>(), a, DataCopyParams{2, 1, 0, 0});",
        "on the host a bias is one run",
    ),
    "bias-larger-than-its-table": (
        "TQue<QuePosition::C2, 1> table; pipe.InitBuffer(table, 1, 1056);",
        "1056 bytes of the bias table, which has 1024",
    ),
    "values-in-two-runs": (
        L0 + "InitConstValueParams<half> zeros; zeros.repeatTimes = 2; InitConstValue(x, zeros);",
        "on the host one run of fractals is filled at once",
    ),
    "repeat-of-nothing": (
        QUEUES + "auto y = out.AllocTensor<half>(); Add(y, y, y, 0ull, 1, BinaryRepeatParams{});",
        "the mask must be 1 to the elements of 256 bytes",
    ),
    "no-repeats": (
        QUEUES + "auto y = out.AllocTensor<half>(); Add(y, y, y, 1ull, 0, BinaryRepeatParams{});",
        "repeatTimes must be 1 to 255",
    ),
    "repeat-with-gaps": (
        QUEUES + "auto y = out.AllocTensor<half>(); Add(y, y, y, 1ull, 1, BinaryRepeatParams{2});",
        "on the host the blocks of a repeat follow one another",
    ),
}
"""A wrong kernel and what is said of it."""

RIGHT = (
    QUEUES + ALLOC + "DataCopy(x, gm, 128); in.EnQue(x); x = in.DeQue<half>(); "
    "auto y = out.AllocTensor<half>(); Relu(y, x, 128); in.FreeTensor(x); out.EnQue(y); "
    "y = out.DeQue<half>(); DataCopy(gm, y, 128); out.FreeTensor(y);"
)

MAIN = """
#include "kernel_operator.h"
#include <cstdio>
using namespace AscendC;
alignas(32) static uint8_t memory[2048];
static uint8_t* Memory() {{ return memory; }}
{cases}
template <typename Case>
void Try(int number) {{
  host::machine().faults.clear();
  host::machine().regions = {{{{memory, sizeof(memory)}}}};
  try {{
    Case::Run();
  }} catch (const host::Violation&) {{
  }}
  for (const auto& fault : host::machine().faults) {{
    std::printf("%d %s\\n", number, fault.c_str());
  }}
}}
int main() {{
{calls}
}}
"""


@pytest.fixture(scope="module")
def said(tmp_path_factory: pytest.TempPathFactory) -> dict[int, list[str]]:
    """Return the program's words on each wrong kernel, and on the right one after them."""
    folder = tmp_path_factory.mktemp("shim")
    bodies = [body for body, _ in WRONG.values()] + [RIGHT]
    cases = "".join(FRAME.format(number=n, body=body) for n, body in enumerate(bodies))
    calls = "\n".join(f"  Try<Case{n}>({n});" for n in range(len(bodies)))
    (folder / "main.cpp").write_text(MAIN.format(cases=cases, calls=calls))
    lines = _built_and_run(folder).splitlines()
    found: dict[int, list[str]] = {n: [] for n in range(len(bodies))}
    for line in lines:
        number, _, text = line.partition(" ")
        found[int(number)].append(text)
    return found


def _command(*words: str) -> list[str]:
    language = ("-std=c++17", "-Wall", "-Wextra", "-Werror")
    return [*find_compiler().command, *language, "-I", str(templates_dir() / "host"), *words]


def _built_and_run(folder: Path) -> str:
    files = (str(folder / "main.cpp"), "-o", str(folder / "main"))
    command = _command("-fsanitize=address,undefined", *files)
    built = subprocess.run(command, capture_output=True, text=True, check=False)
    assert built.returncode == 0, built.stderr
    return subprocess.run([folder / "main"], capture_output=True, text=True, check=True).stdout


@in_one_item("name", WRONG)
def test_wrong_kernel_is_reported_with_file_and_line(said: dict[int, list[str]], name: str) -> None:
    number = list(WRONG).index(name)
    text = WRONG[name][1]
    found = [line for line in said[number] if text in line]
    assert found, said[number]
    place = found[0].split(": ")[0]
    file, _, line = place.partition(":")
    assert file == "main.cpp"
    assert int(line) > 1


def test_right_kernel_is_not_reported(said: dict[int, list[str]]) -> None:
    assert said[len(WRONG)] == []


def _texts() -> list[str]:
    """Return the first words of every fault that a header can report."""
    headers = sorted((templates_dir() / "host" / "ascendc").glob("*.h"))
    calls = re.compile(r"\b(?:Require|Fail|Note)\((?:[^;\"]*?)\"([^\"]+)\"", re.DOTALL)
    return [text for path in headers for text in calls.findall(path.read_text(encoding="utf-8"))]


def test_every_fault_that_a_header_reports_is_provoked(said: dict[int, list[str]]) -> None:
    texts = _texts()
    everything = "\n".join(line for lines in said.values() for line in lines)
    assert len(texts) >= 40
    assert [text for text in texts if text.strip() not in everything] == []


@pytest.mark.parametrize("part", sampled([0], [1, 2]))
def test_headers_need_no_more_than_the_language(tmp_path: Path, part: int) -> None:
    """Check that each header compiles alone."""
    for path in sorted((templates_dir() / "host" / "ascendc").glob("*.h"))[part::3]:
        (tmp_path / "main.cpp").write_text(f'#include "ascendc/{path.name}"\n')
        command = _command("-c", str(tmp_path / "main.cpp"), "-o", str(tmp_path / "main.o"))
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr
