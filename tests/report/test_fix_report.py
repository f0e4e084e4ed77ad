"""Reports of a fixed model: text, JSON and one HTML file."""

import json
import re
from collections.abc import Callable
from html import unescape
from pathlib import Path

import pytest

import atc_py
from atc_py.fix.rule import load_rules
from atc_py.report.fix.tables import fixing_html, fixing_text
from atc_py.results.fixing import (
    Difference,
    Fixing,
    Left,
    NewNodePlace,
    Rewrite,
    TargetError,
    TargetProof,
)
from atc_py.system.structs import replace
from atc_py.text import Words, verbatim
from atc_py.text.language import speaking
from tests.cli.conftest import Result
from tests.cli.conftest import atc as atc
from tests.cli.test_fixed_origins import model
from tests.fix.cases import write_case

Atc = Callable[..., Result]

pytestmark = pytest.mark.usefixtures("base_list")


NASTY = "a<script>alert(1)</script>\u202e"


def rewrite(at: int, error: float, name: str = "") -> Rewrite:
    """Return a rewritten HardSwish."""
    return Rewrite(
        node=at,
        name=name or f"act{at}",
        operator="HardSwish",
        rules=("function-body",),
        exactness="reordered",
        after=("HardSigmoid", "Mul"),
        difference=Difference(error, 3, 100),
        limit=1e-5,
        assumptions=(Words("dims are known", "形状已知"),),
        new=(NewNodePlace(at, f"act{at}/HardSigmoid", "HardSigmoid"),),
        microseconds=2.0,
    )


def record(*rewrites: Rewrite, left: tuple[Left, ...] = ()) -> Fixing:
    """Return a record with a target."""
    target = TargetProof("sim", "force_fp16", {"y": TargetError(0.99998, 0.0004)}, 123.0)
    return Fixing(
        model=Path("net.onnx"),
        output=Path("net.fixed.onnx"),
        operator_list="base",
        opset=(14, 12),
        errors=(len(rewrites) + len(left), len(left)),
        rewrites=rewrites,
        left=left,
        seeds=(0, 1, 2),
        outputs={"y": Difference(1e-7, 5, 300)},
        verdicts=("error", "error" if left else "supported"),
        target=target,
    )


def test_text_has_rewrites_assumptions_errors_costs_and_the_target() -> None:
    text = fixing_text(record(rewrite(1, 1e-7), rewrite(4, 3e-7)))
    lines = [" ".join(line.split()) for line in text.splitlines()]
    assert text.startswith("net.onnx: both errors are removed; 2 nodes were rewritten\n")
    row = "2 HardSwish function-body HardSigmoid Mul sums in another order 3e-07 1e-05 4.0 µs"
    assert row in lines
    assert "HardSwish function-body dims are known" in lines
    assert "verdict refused (2 errors) -> supported" in lines
    assert "output y differs by 1e-07 of its range, in 5 of 300 elements" in lines
    wanted = "y, force_fp16, sim cosine 0.999980, largest error 0.0004 of its range"
    assert wanted in lines
    assert "estimated time 123.0 µs, sim" in lines


def test_findings_alike_that_are_left_share_a_row() -> None:
    why = (("int64-as-int32", Words("bounds are known", "范围已知")),)
    words = Words("A must be float", "A 须为浮点")
    left = tuple(Left(at, "Less", "ATC4002", words, why) for at in (4, 4, 7))
    text = fixing_text(record(rewrite(1, 0.0), left=left))
    assert "1 of 4 errors is removed, 3 are left" in text
    assert (
        "4, 7  Less      ATC4002  A must be float  int64-as-int32 needs: bounds are known" in text
    )
    assert "没有" not in text
    with speaking("zh"):
        chinese = fixing_text(record(rewrite(1, 0.0), left=left))
    assert "int64-as-int32 要求: 范围已知" in chinese
    assert "Rewrites" not in chinese


def test_list_of_many_nodes_is_in_the_language_of_the_report() -> None:
    words = Words("A must be float", "A 须为浮点")
    left = tuple(Left(at, "Less", "ATC4002", words, ()) for at in range(9))
    assert "0, 1, 2 and 6 more  Less" in fixing_text(record(rewrite(1, 0.0), left=left))
    with speaking("zh"):
        assert "0, 1, 2，另有 6 个  Less" in fixing_text(record(rewrite(1, 0.0), left=left))


def test_many_findings_of_one_reason_share_a_row_and_the_deciding_input_is_named() -> None:
    why = (("if-as-where", Words("dims are known", "形状已知")),)
    left = tuple(Left(2, "Conv", "ATC4003", verbatim(f"rank {at}"), why) for at in range(12))
    text = fixing_text(replace(record(left=left), output=None, deciding={"sr": (16000, 8000)}))
    assert text.startswith("net.onnx: no error is removed, 12 are left; no node was rewritten\n")
    assert "Conv      ATC4003  rank 0; 11 more  if-as-where needs: dims are known" in text
    choice = "sr decides which branch runs; --bind sr=16000 or --bind sr=8000 keeps one of them"
    assert choice in text


def shown_part(page: str) -> str:
    """Return a page without its other language."""
    shown, _, other = page.partition("<template")
    assert "</template>" in other
    return shown


def test_page_has_every_rewrite_and_escapes_names() -> None:
    page = shown_part(fixing_html(record(rewrite(1, 1e-7, NASTY), rewrite(4, 3e-7))))
    assert page.count('class="finding"') == 1
    assert "<script>alert" not in page
    assert "\u202e" not in page
    text = re.sub(
        r"\s+",
        " ",
        unescape(re.sub(r"<(style|script)>.*?</\1>|<[^>]+>", " ", page, flags=re.DOTALL)),
    )
    for part in (
        "both errors are removed", "refused (2 errors) → supported", "act4/HardSigmoid",
        "function-body", "dims are known", "3e-07", "cosine 0.999980", "123.0 µs", "4.0 µs",
    ):  # fmt: skip
        assert part in text, part
    assert re.search(r"default-src 'none'; style-src 'sha256-", unescape(page))


def test_page_shows_the_differences(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = atc_py.fix_model(model(), bind={"rate": 16000}, dry_run=True)
    with speaking("zh"):
        page = shown_part(fixing_html(done))
    assert '<html lang="zh-CN">' in page
    assert page.count('class="gone"') >= 3
    assert unescape(page).count("- Conv inner (r[1,4,14], v[4,4,3])") == 1
    assert "已全部消除" in page


def test_findings_that_are_left_show_their_codes(atc: Atc) -> None:
    case = load_rules()["integers-as-float32"].near_miss
    assert case is not None
    path = write_case(case, Path("m.onnx"))
    (code,) = {row["code"] for row in atc("fix", path, "--json").json["left"]}
    assert code == "ATC4002"
    done = atc("fix", path)
    assert done.status == 1
    assert code in done.out
    assert code in atc("fix", path, "--format", "html").out


@pytest.mark.parametrize("name", ["r.html", "r.json", "r.txt"])
def test_report_goes_to_a_file_in_the_format_of_its_suffix(atc: Atc, name: str) -> None:
    done = atc("fix", model(), "--bind", "rate=16000", "--report", name)
    assert done.status == 0, done.err
    assert "all 8 errors are removed" in done.out
    assert f"report: {name}" in done.out
    text = Path(name).read_text(encoding="utf-8")
    if name == "r.json":
        assert json.loads(text)["errors"] == {"before": 8, "after": 0}
    else:
        assert text.startswith("<!DOCTYPE html>" if name == "r.html" else "m.onnx: all 8 errors")


def test_formats_on_standard_output(atc: Atc) -> None:
    arguments = ("fix", model(), "--bind", "rate=16000", "--format")
    assert atc(*arguments, "html").out.startswith("<!DOCTYPE html>")
    assert atc(*arguments, "json").json["errors"] == {"before": 8, "after": 0}
    assert atc(*arguments, "html", "--json").status == 2


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--report", "m.onnx"), "is a file that is read"),
        (("--report", "same", "-o", "same"), "cannot be the same file"),
        (("--report", "."), "--report"),
    ],
)
def test_files_that_cannot_be_reports_are_refused(
    atc: Atc,
    arguments: tuple[str, ...],
    words: str,
) -> None:
    done = atc("fix", model(), *arguments)
    assert done.status in {2, 3}
    assert words in done.err
    assert [*Path().iterdir()] == [Path("m.onnx")]
