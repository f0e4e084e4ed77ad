"""`atc-py diff`: tables, JSON, a page, the exit status, Chinese."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.cli.conftest import Result
from tests.package.ge.om_files import small_model

Atc = Callable[..., Result]


@pytest.fixture
def real(tmp_path: Path) -> Path:
    """Return a small file as Huawei's atc writes them."""
    path = tmp_path / "real.om"
    path.write_bytes(small_model())
    return path


def test_equal_files(atc: Atc, real: Path) -> None:
    done = atc("diff", real, real)
    assert (done.status, done.err) == (0, "")
    assert done.out.startswith("100.0 % of the launches are equal")
    assert "Launches that differ" not in done.out
    assert atc("diff", real, real, "--json").json["score"] == 1.0


def test_real_and_own(atc: Atc, real: Path, om: Path) -> None:
    done = atc("diff", real, om)
    assert "Launches that differ" in done.out
    assert atc("diff", om, real).status == 0
    found = atc("diff", om, real, "--json").json
    assert 0 <= found["score"] < 1
    assert found["second"]["soc"] == "Ascend310B4"


def test_status_is_that_of_the_score(atc: Atc, real: Path, om: Path) -> None:
    assert atc("diff", real, real, "--fail-under", "1").status == 0
    assert atc("diff", real, om, "--fail-under", "0.99").status == 1
    assert atc("diff", real, om, "--fail-under", "2").status == 2


def test_page_is_written_and_never_over_a_model(atc: Atc, real: Path) -> None:
    done = atc("diff", real, real, "--html", "diff.html")
    assert done.status == 0
    assert "<h1>Differences of two offline models</h1>" in Path("diff.html").read_text("utf-8")
    assert atc("diff", real, real, "--html", real).status == 2
    assert real.read_bytes() == small_model()


def test_text_is_chinese_where_that_is_asked_for(atc: Atc, real: Path, om: Path) -> None:
    done = atc("diff", real, om, "--lang", "zh", "--html", "diff.html")
    for text in ("的启动在节点、算子、数据类型和格式上相等", "不同的启动", "常量"):
        assert text in done.out
    assert "两个离线模型的差异" in Path("diff.html").read_text("utf-8")
