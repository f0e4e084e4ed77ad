"""External data that would reach other files, wait for ever, or be somewhere else than it says."""

import os
import socket
import stat
from pathlib import Path

import numpy as np
import pytest

from atc_py.diag.codes import BAD_TENSOR, EXTERNAL_DATA_MISSING, EXTERNAL_DATA_OUTSIDE
from atc_py.onnx_graph.reading.read import read_model
from tests.onnx_graph import onnx_files
from tests.onnx_graph.test_external import VALUES, external_model


def refused(folder: Path, *entries: dict[str, str]) -> str:
    """Return the findings on the weights of a model; each is one that is not there."""
    path = onnx_files.save(external_model(*entries), folder)
    codes = [EXTERNAL_DATA_MISSING] * len(entries)
    return str(onnx_files.fails(lambda: read_model(path), *codes))


def test_pipe_is_refused_and_never_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "w.bin")
    assert "'w.bin' cannot be read: it is a pipe, a device or a socket" in refused(
        tmp_path, {"location": "w.bin"}
    )


def test_socket_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)  # the names of sockets must be short
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("w.bin")
        assert "'w.bin' cannot be read" in refused(tmp_path, {"location": "w.bin"})


def test_device_is_refused(tmp_path: Path) -> None:
    try:
        os.mknod(tmp_path / "w.bin", stat.S_IFCHR | 0o600, os.makedev(1, 5))  # /dev/zero
    except PermissionError:
        pytest.skip("only root makes devices")
    assert "'w.bin' cannot be read: it is a pipe, a device or a socket" in refused(
        tmp_path, {"location": "w.bin"}
    )


@pytest.mark.parametrize("target", ["/dev/zero", "/proc/self/mem", "/etc/passwd", "/"])
def test_link_to_a_file_elsewhere_is_refused(tmp_path: Path, target: str) -> None:
    (tmp_path / "w.bin").symlink_to(target)
    path = onnx_files.save(external_model({"location": "w.bin"}), tmp_path)
    onnx_files.fails(lambda: read_model(path), EXTERNAL_DATA_OUTSIDE)


def test_chain_of_links_that_ends_outside_is_refused(tmp_path: Path) -> None:
    folder = tmp_path / "model"
    folder.mkdir()
    (tmp_path / "w.bin").write_bytes(VALUES.tobytes())
    (folder / "c").symlink_to(folder / "b")
    (folder / "b").symlink_to(folder / "a")
    (folder / "a").symlink_to(tmp_path / "w.bin")
    path = onnx_files.save(external_model({"location": "c"}), folder)
    onnx_files.fails(lambda: read_model(path), EXTERNAL_DATA_OUTSIDE)


def test_model_that_is_a_link_finds_its_weights_where_the_link_is(tmp_path: Path) -> None:
    for name in ("real", "linked"):
        (tmp_path / name).mkdir()
    path = onnx_files.save(external_model({"location": "w.bin"}), tmp_path / "real")
    link = tmp_path / "linked" / path.name
    link.symlink_to(path)
    (tmp_path / "real" / "w.bin").write_bytes(VALUES.tobytes())
    onnx_files.fails(lambda: read_model(link), EXTERNAL_DATA_MISSING)
    (tmp_path / "linked" / "w.bin").write_bytes(VALUES.tobytes())
    assert read_model(link).contents.weight_bytes == VALUES.nbytes


def test_empty_file_holds_no_weight(tmp_path: Path) -> None:
    (tmp_path / "w.bin").touch()
    assert "bytes 0 to 48 of 'w.bin', which has 0" in refused(tmp_path, {"location": "w.bin"})


@pytest.mark.parametrize(
    ("offset", "said"),
    [("48", "bytes 48 to 96"), ("1", "bytes 1 to 49"), ("9" * 18, "which has 48")],
)
def test_stretch_past_the_end_is_refused(tmp_path: Path, offset: str, said: str) -> None:
    (tmp_path / "w.bin").write_bytes(VALUES.tobytes())
    assert said in refused(tmp_path, {"location": "w.bin", "offset": offset, "length": "48"})


@pytest.mark.parametrize("key", ["offset", "length"])
@pytest.mark.parametrize("text", ["-1", "-48", "+1", " 1", "1.0", "1e1", "", "\u0661", "9" * 19])
def test_number_that_is_none_is_refused(tmp_path: Path, key: str, text: str) -> None:
    (tmp_path / "w.bin").write_bytes(VALUES.tobytes())
    path = onnx_files.save(external_model({"location": "w.bin", key: text}), tmp_path)
    onnx_files.fails(lambda: read_model(path), BAD_TENSOR)


@pytest.mark.parametrize("length", ["0", "47", "49", "96"])
def test_length_that_disagrees_with_the_shape_is_refused(tmp_path: Path, length: str) -> None:
    (tmp_path / "w.bin").write_bytes(VALUES.tobytes() * 2)
    path = onnx_files.save(external_model({"location": "w.bin", "length": length}), tmp_path)
    error = onnx_files.fails(lambda: read_model(path), BAD_TENSOR)
    assert f"{length} bytes of external data, but dtype and shape ask for 48" in str(error)


@pytest.mark.parametrize("offsets", [("0", "0"), ("0", "8"), ("16", "0")])
def test_weights_may_overlap(tmp_path: Path, offsets: tuple[str, str]) -> None:
    data = np.arange(16, dtype=np.float32)
    (tmp_path / "w.bin").write_bytes(data.tobytes())
    entries = [{"location": "w.bin", "offset": offset} for offset in offsets]
    model = onnx_files.source(external_model(*entries), tmp_path)
    consts = [node.inputs[1].const for node in model.nodes if node.inputs[1]]
    starts = [int(offset) // 4 for offset in offsets]
    found = [const.numpy().reshape(-1).tolist() for const in consts if const]
    assert found == [data[start : start + 12].tolist() for start in starts]


def test_file_of_holes_takes_no_memory(tmp_path: Path) -> None:
    with (tmp_path / "w.bin").open("wb") as file:
        file.truncate(1 << 40)
    entries = {"location": "w.bin", "offset": str((1 << 40) - 48)}
    model = onnx_files.source(external_model(entries), tmp_path)
    assert model.weight_bytes == 48


def test_many_tensors_of_one_file_map_it_once(tmp_path: Path) -> None:
    (tmp_path / "w.bin").write_bytes(VALUES.tobytes())
    before = len(os.listdir("/proc/self/fd")) if os.path.isdir("/proc/self/fd") else 0  # noqa: PTH112, PTH208
    model = onnx_files.source(external_model(*[{"location": "w.bin"}] * 300), tmp_path)
    after = len(os.listdir("/proc/self/fd")) if before else 0  # noqa: PTH208
    assert len(model.nodes) == 300
    assert after - before <= 4
