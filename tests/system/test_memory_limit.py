"""Sizes as texts, limits of the machine, and refusals that name both sizes."""

from pathlib import Path

import pytest

import atc_py
from atc_py.diag import AtcError
from atc_py.diag.codes import BAD_OPTION, MEMORY_LIMIT
from atc_py.system import memory_limit
from atc_py.system.memory_limit import (
    format_size,
    limited_memory,
    machine_memory,
    parse_size,
    require_memory,
    require_own_memory,
)
from tests.failures import in_one_item

MIB, GIB = 1024**2, 1024**3


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("1M", MIB),
        ("1.5g", 3 * GIB // 2),
        ("512 MiB", 512 * MIB),
        ("2GB", 2 * GIB),
        (" 1T ", 1024 * GIB),
        ("2097152", 2 * MIB),
        (2 * MIB, 2 * MIB),
    ],
)
def test_size_is_read(text: int | str, size: int) -> None:
    assert parse_size(text) == size


@in_one_item(
    "text",
    [
        "",
        "4",
        "-1G",
        "1e9",
        "4X",
        "G",
        "4GG",
        "0x10M",
        "nan",
        "inf",
        "1.M",
        "9" * 40,
        "\u0664G",
        -5,
    ],
)
def test_text_that_is_not_a_size_is_refused(text: int | str) -> None:
    with pytest.raises(AtcError) as caught:
        parse_size(text)
    (finding,) = caught.value.diagnostics
    assert finding.code is BAD_OPTION
    assert "--max-memory 4G" in (finding.help or "")


def test_refusal_names_both_sizes_and_a_hint() -> None:
    with limited_memory("64M"), pytest.raises(AtcError) as caught:
        require_memory(3 * GIB, "its array")
    (finding,) = caught.value.diagnostics
    assert finding.code is MEMORY_LIMIT
    assert finding.message == (
        "its array would take 3.0 GiB (3221225472 bytes); the limit is 64.0 MiB (67108864 bytes)"
    )
    assert "--max-memory" in (finding.help or "")
    require_memory(3 * 1024, "its array")


def test_limit_holds_inside_its_block_alone() -> None:
    usual = memory_limit.memory_limit()
    with atc_py.limited_memory("2G"):
        with limited_memory(5 * MIB), limited_memory(None):
            assert memory_limit.memory_limit() == 5 * MIB
        assert memory_limit.memory_limit() == 2 * GIB
    assert memory_limit.memory_limit() == usual == int(machine_memory() * 0.75)


def test_group_limits_are_those_of_the_group_and_of_all_above(tmp_path: Path) -> None:
    root, listing = tmp_path / "cgroup", tmp_path / "listing"
    inner = root / "a" / "b"
    inner.mkdir(parents=True)
    (inner / "memory.max").write_text("max\n")
    (root / "a" / "memory.max").write_text("8000000\n")
    old = root / "memory" / "c"
    old.mkdir(parents=True)
    (old / "memory.limit_in_bytes").write_text("9223372036854771712\n")
    (root / "memory" / "memory.limit_in_bytes").write_text("7000000\n")
    listing.write_text("9:name=systemd:/x\n4:cpu,memory:/c\n0::/a/b\nnonsense\n")
    assert sorted(memory_limit._group_limits(listing, root)) == [7000000, 8000000]
    assert memory_limit._group_limits(tmp_path / "none", root) == []


def test_machine_that_tells_nothing_has_a_default(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memory_limit, "_physical", lambda: 0)
    monkeypatch.setattr(memory_limit, "_group_limits", lambda *_: [])
    monkeypatch.setattr(memory_limit, "_process_limits", list)
    machine_memory.cache_clear()
    assert machine_memory() == 8 * GIB
    monkeypatch.setattr(memory_limit, "_process_limits", lambda: [GIB])
    machine_memory.cache_clear()
    assert machine_memory() == GIB
    machine_memory.cache_clear()


@pytest.mark.parametrize(("threads", "refused"), [("1", False), ("8", True), ("x", True)])
def test_limit_below_what_libraries_take_is_refused_at_once(
    monkeypatch: pytest.MonkeyPatch, threads: str, refused: bool
) -> None:
    monkeypatch.setattr(memory_limit, "_process_limits", lambda: [400 * MIB])
    monkeypatch.setattr("os.cpu_count", lambda: 16)
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", threads)
    if not refused:
        require_own_memory()
        return
    with pytest.raises(AtcError, match=r"threads of BLAS, `ulimit` leaves 400\.0 MiB") as caught:
        require_own_memory()
    assert "OPENBLAS_NUM_THREADS=1" in (caught.value.diagnostics[0].help or "")


def test_sizes_are_shown_to_read_and_to_compare() -> None:
    assert format_size(1023) == "1023 bytes"
    assert format_size(1536) == "1.5 KiB (1536 bytes)"
    assert format_size(4 * 10**12) == "3.6 TiB (4000000000000 bytes)"
