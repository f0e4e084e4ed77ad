"""Whatever stands in a file or an option, its parser gives a result or a coded refusal."""

import io
import json
import tracemalloc
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from atc_py.cost.calibration import load_fit
from atc_py.cost.measurements import read_measurements
from atc_py.diag import AtcError, Diagnostic, ExitCode
from atc_py.diag.codes import FILE_TOO_LARGE
from atc_py.options.compile_options import PrecisionMode, PrecisionOptions
from atc_py.options.input_shapes import parse_input_shapes
from atc_py.passes.fusion.switch_file import read_switches
from atc_py.passes.pipeline import PIPELINE
from atc_py.passes.precision.control_files import find_controls
from atc_py.passes.precision.controls import ModelNames
from atc_py.pipeline.running.feeds import read_feeds
from atc_py.pipeline.running.model import Port
from atc_py.report.check.baseline import read_baseline
from atc_py.tensor.dtypes import DType
from tests.sampling import examples

NAMES = ModelNames(
    {"conv": ("c",), "a:b": ("x", "y")}, frozenset({"Conv", "Relu", "Conv2D"}), ("in",), ("c", "y")
)
MIXED = PrecisionMode.ALLOW_MIX_PRECISION
PORTS = (Port("x", DType.FLOAT32, (2, 3)), Port("open", DType.INT4, (None,)))


def _controls(**given_: Any) -> object:
    return find_controls(PrecisionOptions(**given_), MIXED, NAMES)


FILES: dict[str, Callable[[Path], object]] = {
    "keep": lambda path: _controls(keep_dtype=path),
    "custom": lambda path: _controls(customize_dtypes=path),
    "mixlist": lambda path: _controls(modify_mixlist=path),
    "implementations": lambda path: _controls(op_precision_mode=path),
    "switches": lambda path: read_switches(path, PIPELINE),
    "measurements": read_measurements,
    "factors": load_fit,
    "baseline": read_baseline,
}

OPTIONS: dict[str, Callable[[str], object]] = {
    "input-shape": parse_input_shapes,
    "output-type": lambda text: _controls(output_type=text),
    "input-fp16-nodes": lambda text: _controls(input_fp16_nodes=text),
    "input": lambda text: read_feeds([text], PORTS),
}

TOKENS = (
    "conv", "a:b", "OpType::", "Conv", "::", ":", ";", ",", "=", "InputDtype:", "OutputDtype:",
    "float16", "FP16", "[ByOpType]", "[ByNodeName]", "high_precision", "on", "off", "ALL",
    "\n", "\r\n", " ", "#", '"', "op", "shape", "dtype", "time_us", "output_shape", "MatMulV2",
    "Conv2D", "SoftmaxV2", "Relu", "256,512;512,64", "1x2", "12.5", "-1", "1e999", "nan", "0",
    "9" * 30, "9" * 5000, "\0", "\x85", "\u2028", "\ufeff", "{", "}", "[", "]", "null", "x=", "in:",
)  # fmt: skip
KEYS = (
    "white-list", "black-list", "to-add", "to-remove", "Switch", "GraphFusion", "UBFusion", "ALL",
    "format", "version", "soc", "factors", "spread", "cube", "vector", "bandwidth", "launch",
    "models", "path", "findings", "faults", "fingerprint",
)  # fmt: skip
VALUES = (
    "Relu", "on", "off", "atc-py cost factors", 1, 0, -1, 10**400, 0.5, float("nan"), 1e308, None,
    True, "sim", "",
)  # fmt: skip

TEXTS = st.one_of(
    st.lists(st.sampled_from(TOKENS), max_size=40).map("".join),
    st.lists(st.sampled_from(TOKENS), max_size=40).map("\n".join),
    st.text(max_size=80),
)
DOCUMENTS = st.recursive(
    st.sampled_from(VALUES),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(KEYS), inner),
    max_leaves=12,
).map(json.dumps)
QUICK = settings(examples(150), suppress_health_check=[HealthCheck.function_scoped_fixture])


def attempt(parse: Callable[[], object]) -> None:
    """Parse, and check that a refusal is not a bug and has help."""
    refused: tuple[Diagnostic, ...] = ()
    try:
        parse()
    except AtcError as error:
        refused = error.diagnostics
    assert all(found.code.exit is not ExitCode.BUG for found in refused)
    assert all(found.help or found.code.remedy for found in refused)


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a file to write over."""
    return tmp_path_factory.mktemp("hostile") / "file"


@pytest.mark.parametrize("reader", FILES)
@QUICK
@given(content=TEXTS | DOCUMENTS | st.binary(max_size=60))
def test_any_file_is_read_or_refused(file: Path, reader: str, content: str | bytes) -> None:
    data = content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass")
    file.write_bytes(data)
    attempt(lambda: FILES[reader](file))


@pytest.mark.parametrize("reader", FILES)
@pytest.mark.parametrize(
    "content",
    ["[" * 100_000, '{"Switch":' * 50_000, "9" * 100_000, "a" * 1_000_000, "," * 200_000, "\n" * 200_000],
    ids=["lists", "objects", "digits", "word", "commas", "lines"],
)  # fmt: skip
def test_long_and_deep_files_are_read_or_refused(file: Path, reader: str, content: str) -> None:
    file.write_text(content, encoding="utf-8")
    attempt(lambda: FILES[reader](file))


@pytest.mark.parametrize("option", OPTIONS)
@QUICK
@given(text=TEXTS)
def test_any_option_is_read_or_refused(option: str, text: str) -> None:
    attempt(lambda: OPTIONS[option](text))


@dataclass(frozen=True)
class Header:
    """The facts that an .npy file states about itself."""

    magic: bytes
    version: tuple[int, int]
    text: str
    claimed: int | None
    data: bytes

    def encoded(self) -> bytes:
        """Return the file."""
        text = self.text.encode("latin-1", "replace")
        width = 2 if self.version == (1, 0) else 4
        length = len(text) if self.claimed is None else self.claimed
        head = self.magic + bytes(self.version) + (length % 256**width).to_bytes(width, "little")
        return b"".join((head, text, self.data))


DESCRIPTIONS = st.builds(
    "{{'descr': {}, 'fortran_order': {}, 'shape': {}, }}\n".format,
    st.sampled_from(["'<f4'", "'>f4'", "'|O'", "'|V2'", "'<U9'", "'<M8[ns]'", "[('a', '<f4')]", "1", "'f'"]),
    st.sampled_from(["False", "True", "None", "2"]),
    st.sampled_from(["()", "(2, 3)", "(-2, -3)", "(2**99,)", "(1 << 40, 1 << 40)", "(9" + "9" * 300 + ",)", "(0, 99999999999999999999)", "[2, 3]", "'x'"]),
)  # fmt: skip
HEADERS = st.builds(
    Header,
    st.sampled_from([b"\x93NUMPY", b"\x93NUMPX", b""]),
    st.sampled_from([(1, 0), (2, 0), (3, 0), (9, 9)]),
    DESCRIPTIONS | st.text(max_size=60) | st.sampled_from(["(" * 9000, "-" * 9000, "{" * 200]),
    st.sampled_from([None, None, None, 0, 5, 2**16 - 1, 2**32 - 1]),
    st.binary(max_size=30),
)
METHODS = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA)


@QUICK
@given(header=HEADERS)
def test_any_npy_file_is_read_or_refused(file: Path, header: Header) -> None:
    path = file.with_suffix(".npy")
    path.write_bytes(header.encoded())
    attempt(lambda: read_feeds([f"x={path}"], PORTS))


@QUICK
@given(
    members=st.lists(
        st.tuples(st.sampled_from(["x.npy", "open.npy", "../x.npy", "x"]), HEADERS), max_size=3
    ),
    method=st.sampled_from(METHODS),
    damage=st.lists(st.tuples(st.floats(0, 1, exclude_max=True), st.integers(0, 255)), max_size=4),
)
@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_any_archive_of_arrays_is_read_or_refused(
    file: Path, members: list[tuple[str, Header]], method: int, damage: list[tuple[float, int]]
) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, header in members:
            archive.writestr(name, header.encoded())
    data = bytearray(buffer.getvalue())
    for place, byte in damage:
        data[int(place * len(data))] = byte
    path = file.with_suffix(".npz")
    path.write_bytes(data)
    attempt(lambda: read_feeds([str(path)], PORTS))


def refused_within(path: Path, most: int) -> str:
    """Return with what words an archive is refused, which may take `most` bytes of memory."""
    tracemalloc.start()
    try:
        with pytest.raises(AtcError) as caught:
            read_feeds([str(path)], PORTS[:1])
        assert tracemalloc.get_traced_memory()[1] < most
    finally:
        tracemalloc.stop()
    return str(caught.value)


def test_bomb_of_arrays_is_refused_unread(tmp_path: Path) -> None:
    """Check 128 MiB of zeros in an eighth of a MiB of archive, for an input of six numbers."""
    path = tmp_path / "bomb.npz"
    head = io.BytesIO()
    facts = {"descr": "<f4", "fortran_order": False, "shape": (1 << 25,)}
    np.lib.format.write_array_header_1_0(head, facts)
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("x.npy", head.getvalue() + bytes(1 << 27))
    assert "claims 134217728 bytes of data, no input accepts more than" in refused_within(
        path, 1 << 22
    )


def test_bomb_of_a_header_is_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "bomb.npz"
    size = 1 << 25
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        head = b"\x93NUMPY\x02\x00" + size.to_bytes(4, "little")
        archive.writestr("x.npy", head + b" " * size)
    assert "its header has 33554432 bytes" in refused_within(path, 1 << 22)


def test_files_larger_than_any_of_their_kind_are_refused_unread(tmp_path: Path) -> None:
    """Check a sparse file of a tebibyte."""
    path = tmp_path / "sparse"
    with path.open("wb") as file:
        file.truncate(1 << 40)
    for read in FILES.values():
        with pytest.raises(AtcError) as caught:
            read(path)
        assert caught.value.diagnostics[0].code is FILE_TOO_LARGE


def test_files_of_very_many_lines_are_refused(file: Path) -> None:
    file.write_text("x\n" * 100_001, encoding="utf-8")
    with pytest.raises(AtcError, match="at most 100000 lines, found 100001"):
        FILES["keep"](file)


def test_the_nearest_names_are_reported_for_the_first_wrong_ones_alone(file: Path) -> None:
    file.write_text("".join(f"wrong{number}\n" for number in range(1000)), encoding="utf-8")
    _, unknown = find_controls(PrecisionOptions(keep_dtype=file), MIXED, NAMES)
    assert len(unknown) == 1000
    assert [found.help is not None for found in unknown] == [True] * 20 + [False] * 980
