"""`atc-py report`: the page that it writes, its exit statuses, and bad input."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

from tests.cli.conftest import Result, small_model
from tests.report.page_document import document_of

Atc = Callable[..., Result]


def model_of(page: str) -> Any:
    """Return what the page shows of its only model."""
    (found,) = document_of(Path(page).read_text(encoding="utf-8"))["models"]
    return found


@pytest.fixture
def net(tmp_path: Path) -> str:
    onnx.save(small_model(), tmp_path / "net.onnx")
    return "net.onnx"


def test_page_has_every_part(atc: Atc, net: str) -> None:
    done = atc("report", net, "-o", "page.html", "--soc", "sim", "--soc", "Ascend910B4")
    assert (done.status, done.out.splitlines()) == (0, ["net.onnx: compiles", "report: page.html"])
    found = model_of("page.html")
    assert found["state"] == "compiles"
    assert [row[2] for row in found["source"]["nodes"]] == ["Conv", "Relu"]
    assert {row[1] for row in found["compiled"]["nodes"]} >= {"Conv2D", "Relu"}
    assert [each["soc"] for each in found["time"]["socs"]] == ["sim", "Ascend910B4"]
    assert [each["name"] for each in found["precision"]["outputs"]] == ["y"]
    assert found["check"]["verdict"] == "supported"
    assert found["kernels"]
    facts = found["facts"]
    assert facts["parameters"] == 4 * 3 * 3 * 3
    assert facts["bytes"] == Path(net).stat().st_size
    assert facts["compiled_bytes"] > 0
    assert found["options"] == ["--soc sim", "--soc Ascend910B4"]
    assert found["actions"][-1]["command"] == "atc-py convert net.onnx --soc sim"


def test_layers_and_kernels_link_both_graphs(atc: Atc, net: str) -> None:
    assert atc("report", net).status == 0
    found = model_of("net.report.html")
    compiled = found["compiled"]["nodes"]
    assert {at for row in compiled for at in row[7]} == {0, 1}
    for layer in found["precision"]["layers"]:
        assert 0 <= layer[0] < len(compiled)
    names = [row[0] for row in compiled]
    assert {kernel[0] for kernel in found["time"]["socs"][0]["kernels"]} <= {*names}
    dims = {row[0]: row[2] for row in found["source"]["values"] if len(row) > 2}
    assert dims["c"] == dims["y"] == [1, 4, 8, 8]


def test_model_that_is_refused_gets_a_page_that_says_why_and_where(atc: Atc) -> None:
    model = small_model(operator="Sinh")
    model.graph.node[1].domain = "my.own"
    model.opset_import.append(helper.make_opsetid("my.own", 1))
    onnx.save(model, "bad.onnx")
    done = atc("report", "bad.onnx", "-o", "page.html")
    assert (done.status, done.out.splitlines()[0]) == (1, "bad.onnx: does not compile")
    found = model_of("page.html")
    assert (found["state"], found["compiled"], found["time"]) == ("refused", None, None)
    assert [each["node"] for each in found["check"]["findings"]] == [1, None]
    assert found["actions"][0]["node"] == "s1"
    assert len(found["source"]["nodes"]) == 2


def test_open_dims_are_a_refusal_with_a_command(atc: Atc) -> None:
    onnx.save(small_model(free=True), "free.onnx")
    done = atc("report", "free.onnx", "-o", "page.html")
    assert done.status == 1
    found = model_of("page.html")
    assert found["state"] == "refused"
    assert found["refusals"]
    done = atc("report", "free.onnx", "-o", "page.html", "--input-shape", "x:2,3,8,8")
    assert done.status == 0
    assert model_of("page.html")["options"] == ["--input-shape x:2,3,8,8"]


def test_offline_model_has_time_and_its_graph(atc: Atc, net: str) -> None:
    assert atc("convert", net, "-o", "net.om").status == 0
    done = atc("report", "net.om", "-o", "page.html")
    assert done.status == 0
    found = model_of("page.html")
    assert (found["source"], found["check"], found["precision"]) == (None, None, None)
    assert found["time"]["socs"][0]["kernels"]
    assert found["compiled"]["nodes"]
    assert atc("report", "net.om", "--input-shape", "x:1,3,8,8").status == 2


def test_missed_target_and_no_comparison(atc: Atc, net: str) -> None:
    done = atc("report", net, "-o", "page.html", "--fail-under", "snr=500")
    assert done.status == 4
    found = model_of("page.html")
    assert found["precision"]["passed"] is False
    assert found["missed"]
    assert "--suggest keep.txt" in found["actions"][0]["command"]
    assert atc("report", net, "-o", "page.html", "--no-compare").status == 0
    assert model_of("page.html")["precision"] is None


def test_comparison_that_fails_leaves_the_rest(atc: Atc, net: str) -> None:
    np.save("x.npy", np.zeros((1, 3, 4, 4), np.float32))
    done = atc("report", net, "-o", "page.html", "-i", "x=x.npy")
    assert done.status in {1, 2, 4}
    assert "Traceback" not in done.err


@pytest.mark.parametrize(
    ("arguments", "status"),
    [
        (("missing.onnx",), 3),
        (("net.onnx", "-o", "net.onnx"), 2),
        (("net.onnx", "-o", "no/such/folder/page.html"), 3),
        (("net.onnx", "--soc", "Ascend999"), 2),
        (("net.onnx", "--fail-under", "cosine=nothing"), 2),
        (("net.onnx", "--device", "none"), 2),
        (("text.onnx",), 3),
        ((), 2),
    ],
)
@pytest.mark.usefixtures("net")
def test_bad_input_is_refused(atc: Atc, arguments: tuple[str, ...], status: int) -> None:
    Path("text.onnx").write_text("no model", encoding="utf-8")
    done = atc("report", *arguments)
    assert done.status == status, done.err
    assert not [*Path().glob("*.html")]


def test_page_opens_in_the_language_asked_for(atc: Atc, net: str) -> None:
    assert atc("report", net, "--no-compare", "--lang", "zh").status == 0
    text = Path("net.report.html").read_text(encoding="utf-8")
    assert '<html lang="zh-CN">' in text
    assert document_of(text)["lang"] == "zh"
    english, chinese = document_of(text)["models"][0]["check"]["headline"]
    assert (english[:9], chinese[:2]) == ("supported", "支持")


def test_hostile_names_cannot_leave_the_document(atc: Atc) -> None:
    model = small_model()
    model.graph.node[0].name = "</script><script>alert(1)</script>"
    model.graph.node[1].name = "\u202eevil" + "x" * 10_000
    onnx.save(model, "net.onnx")
    assert atc("report", "net.onnx", "-o", "page.html").status == 0
    text = Path("page.html").read_text(encoding="utf-8")
    assert text.count("</script>") == 3
    assert "\u202e" not in text
    names = [row[1] for row in model_of("page.html")["source"]["nodes"]]
    assert names[0] == "</script><script>alert(1)</script>"
    assert names[1].startswith("\\u202eevilxx")
    assert len(names[1]) < 2_100
