"""What reports say of dims that a model leaves open."""

import json

import pytest

from atc_py.check.findings import Standing
from atc_py.onnx_graph.source import OpenDim
from atc_py.report.check.formats import render_check
from atc_py.report.check.json_document import check_document
from tests.report.check_samples import HOSTILE, UNDECIDED, model_check, report

HEIGHT = OpenDim("height", (("x", 2),), 4)
WIDTH = OpenDim("width", (("x", 3),), 4)
LENGTH = OpenDim("length", (("ids", 1), ("mask", 1)), 2)
NAMELESS = OpenDim("", (("x", 3),), 4)


@pytest.mark.parametrize(
    ("dims", "english", "chinese"),
    [
        ((), "", ""),
        ((HEIGHT,), "; depends on height of x", "；取决于 x 的 height"),
        ((HEIGHT, WIDTH), "; depends on height and width of x", "；取决于 x 的 height、width"),
        ((NAMELESS,), "; depends on axis 3 of x", "；取决于 x 的轴 3"),
        ((LENGTH,), "; depends on length of ids and mask", "；取决于 ids、mask 的 length"),
        (
            (HEIGHT, LENGTH),
            "; depends on height of x and length of ids and mask",
            "；取决于 x 的 height 和 ids、mask 的 length",
        ),
    ],
)
def test_verdict_names_the_dims_that_decide(
    dims: tuple[OpenDim, ...], english: str, chinese: str
) -> None:
    check = model_check(UNDECIDED, deciding=dims)
    first = render_check("text", check_document(report(check)), Standing.ERROR).splitlines()[0]
    assert first == f"nets/resnet.onnx: not decided: 1 of 71 nodes{english}"
    document = check_document(report(check), "zh")
    first = render_check("text", document, Standing.ERROR).splitlines()[0]
    assert first == f"nets/resnet.onnx：无法判定：71 个节点中的 1 个{chinese}"


@pytest.mark.parametrize("form", ["text", "html"])
def test_proposal_says_whether_it_was_found_to_fit(form: str) -> None:
    fits = model_check(UNDECIDED, shape_hint="x:1,3,64,64", hint_fits=True, hint_tries=2)
    text = render_check(form, check_document(report(fits)), Standing.ERROR)
    assert "The model accepts these proposed dims" in text
    assert text.count("propose") == 1
    stops = model_check(UNDECIDED, shape_hint="x:1,16", hint_fits=True, hint_runs=False)
    text = render_check(form, check_document(report(stops)), Standing.ERROR)
    assert "no run with them gave numbers" in text
    assert "propose" not in text
    none = model_check(UNDECIDED, shape_hint="x:1,3,height,width", hint_tries=32)
    text = render_check(form, check_document(report(none)), Standing.ERROR)
    assert "None of the 32 choices that were tried fits the model" in text


def test_json_has_the_axes_that_decide() -> None:
    check = model_check(
        UNDECIDED, shape_hint="ids:1,16", hint_fits=True, hint_tries=1, deciding=(LENGTH,)
    )
    text = render_check("json", check_document(report(check)), Standing.ERROR)
    (model,) = json.loads(text)["models"]
    assert (model["shape_hint"], model["shape_hint_fits"], model["shape_hint_tries"]) == (
        "ids:1,16", True, 1,
    )  # fmt: skip
    assert model["deciding"] == [
        {"input": "ids", "axis": 1, "name": "length"},
        {"input": "mask", "axis": 1, "name": "length"},
    ]


def test_hostile_names_are_escaped() -> None:
    dim = OpenDim(HOSTILE, ((HOSTILE, 0),), 1)
    check = model_check(UNDECIDED, deciding=(dim,), shape_hint=f"{HOSTILE}:1", hint_fits=True)
    text = render_check("text", check_document(report(check)), Standing.ERROR)
    assert "\x1b" not in text
    assert "\u202e" not in text
