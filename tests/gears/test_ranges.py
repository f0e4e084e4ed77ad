"""Ranges and -1 in --input-shape: dims that each run decides, where the graph compiles with them."""

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import onnxruntime
import pytest

import atc_py
from atc_py.diag import AtcError, Diagnostic
from atc_py.diag.codes import BAD_INPUT_SHAPE, BAD_RUN_INPUT, OM_CONTENT, OPEN_DIMS_NOT_COMPILED
from atc_py.options.ranges import DimRange, format_ranges, has_ranges, parse_ranges
from atc_py.package.reader import open_model
from atc_py.pipeline.range_inputs import gears_advised
from tests.gears.models import image_model
from tests.hostile.test_gears import changed

TEXT = """<ir_version: 8, opset_import: ["" : 13]>
net (int64[n,s] ids, float[1,4] bias) => (y)
<float[8,4] table = {1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,
                     3,1,4,1,5,9,2,6,5,3,5,8,9,7,9,3}> {
  a = Gather (table, ids)
  b = Add (a, bias)
  m = ReduceMean <axes = [-1]> (b)
  d = Sub (b, m)
  t = Transpose <perm = [0,2,1]> (d)
  p = MatMul (d, t)
  y = Softmax <axis = -1> (p)
}"""


@pytest.fixture
def source(tmp_path: Path) -> Path:
    """Return a small model for sequences."""
    onnx.save(onnx.parser.parse_model(TEXT), tmp_path / "net.onnx")
    return tmp_path / "net.onnx"


def feeds(*shape: int) -> dict[str, Any]:
    """Return data for sequences of a shape."""
    random = np.random.default_rng(sum(shape))
    return {
        "ids": random.integers(0, 8, shape).astype(np.int64),
        "bias": random.standard_normal((1, 4)).astype(np.float32),
    }


def refused(source: Path, shape: str) -> tuple[Diagnostic, ...]:
    """Return the findings with which a conversion is refused."""
    with pytest.raises(AtcError) as caught:
        atc_py.convert(source, source.with_name("never.om"), input_shape=shape)
    assert not source.with_name("never.om").exists()
    return caught.value.diagnostics


def range_advice(text: str) -> tuple[Diagnostic, ...]:
    """Return the note that stands below the findings about a model with ranges."""
    with pytest.raises(AtcError) as caught, gears_advised(parse_ranges(text)):
        raise AtcError
    return caught.value.diagnostics


def test_ranges_are_read_and_written() -> None:
    ranges = parse_ranges(" x:1~8, 3,-1 ;y:2;s:")
    assert ranges["x"] == (DimRange(1, 8), DimRange(3, 3), DimRange(1, None))
    assert format_ranges(ranges) == "x:1~8,3,-1;y:2;s:"
    assert parse_ranges(format_ranges(ranges)) == ranges
    assert [has_ranges(text) for text in ("x:1,2", "x-1:1", "x:-1", "x:1~2")] == [
        *(False, False, True, True)
    ]


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("x:[1~8,3]", "E10002"),
        ("x:1~a", "E10002"),
        ("x:1~-1", "E10048"),
        ("x:1-20,-1", "E10048"),
        ("x:8~1", "E10048"),
        ("x:0~0", "E10048"),
        ("x:1~99999999999", "E10048"),
        ("x:~3", "E10048"),
        ("1~2", "E10048"),
        ("x:1~2;x:3", "E10048"),
    ],
)
def test_ranges_without_meaning(source: Path, text: str, code: str) -> None:
    (found,) = refused(source, text)
    assert found.code is BAD_INPUT_SHAPE
    assert found.atc is not None
    assert found.atc.code == code


@pytest.mark.parametrize(
    ("text", "code"),
    [
        ("ids:-1", "E10049"),
        ("ids:-1,-1;bias:2~4,4", "E10050"),
        ("other:-1,3", "E10016"),
    ],
)
def test_ranges_that_do_not_fit_the_model(source: Path, text: str, code: str) -> None:
    found = refused(source, text)[0]
    assert found.atc is not None
    assert found.atc.code == code


@pytest.mark.parametrize("storage", ["logical", "exact"])
def test_every_shape_gives_what_its_own_model_gives(
    source: Path, tmp_path: Path, storage: str
) -> None:
    shapes = "ids:1~4,-1;bias:1,4"
    atc_py.convert(source, tmp_path / "net.om", input_shape=shapes)
    with atc_py.load(tmp_path / "net.om", storage=storage) as model:
        assert model.inputs[0].shape == (None, None)
        for shape in ((1, 3), (4, 7), (2, 1)):
            atc_py.convert(source, tmp_path / "one.om", input_shape={"ids": shape})
            with atc_py.load(tmp_path / "one.om") as single:
                expected = single.run(feeds(*shape))["y"]
            found = model.run(feeds(*shape))["y"]
            assert (found.shape, found.tobytes()) == (expected.shape, expected.tobytes())
        with pytest.raises(AtcError) as caught:
            model.run(feeds(5, 3))
    (finding,) = caught.value.diagnostics
    assert finding.code is BAD_RUN_INPUT
    assert "5x3, which is not in ids:1~4,-1" in finding.message


def test_other_ways_to_run(source: Path, tmp_path: Path) -> None:
    atc_py.convert(source, tmp_path / "net.om", input_shape="ids:1~4,2~6")
    with atc_py.load(tmp_path / "net.om") as model:
        expected = {shape: model.run(feeds(*shape))["y"] for shape in ((1, 3), (4, 6), (2, 2))}
        with pytest.raises(AtcError) as caught:
            model.run({**feeds(1, 3), "ids": np.zeros((1, 3, 1), np.int64)})
        assert caught.value.diagnostics[0].code is BAD_RUN_INPUT
    with atc_py.InferenceSession(tmp_path / "net.om", keep=1) as session:
        for shape, result in expected.items():
            assert session.run(None, feeds(*shape))[0].tobytes() == result.tobytes()
    with atc_py.load(tmp_path / "net.om", device="ort") as model:
        for shape, result in expected.items():
            assert np.allclose(model.run(feeds(*shape))["y"], result, atol=2e-3)


def test_dim_that_the_file_fixes_may_be_open(source: Path, tmp_path: Path) -> None:
    atc_py.convert(source, tmp_path / "net.om", input_shape="ids:2,3;bias:1~2,4")
    with atc_py.load(tmp_path / "net.om") as model:
        assert model.inputs[1].shape == (None, 4)
        assert model.run(feeds(2, 3))["y"].shape == (2, 3, 3)


@pytest.mark.parametrize(
    ("shapes", "tried"),
    [
        ("x:1~8,3,16,16", ((1, 3, 16, 16), (5, 3, 16, 16))),
        ("x:1,3,16~32,-1", ((1, 3, 16, 24), (1, 3, 31, 20))),
        ("x:-1,3,-1,-1", ((2, 3, 17, 24),)),
    ],
)
@pytest.mark.parametrize("storage", ["logical", "exact"])
def test_images_of_any_size(
    tmp_path: Path, shapes: str, tried: tuple[tuple[int, ...], ...], storage: str
) -> None:
    source = image_model(tmp_path / "net.onnx")
    atc_py.convert(source, tmp_path / "net.om", input_shape=shapes)
    with atc_py.load(tmp_path / "net.om", storage=storage) as model:
        for shape in tried:
            data = {"x": np.random.default_rng(3).standard_normal(shape).astype(np.float32)}
            atc_py.convert(source, tmp_path / "one.om", input_shape={"x": shape})
            with atc_py.load(tmp_path / "one.om") as single:
                expected = single.run(data)
            found = model.run(data)
            assert all(found[name].tobytes() == expected[name].tobytes() for name in expected)
            assert found["scores"].any()


COMPUTED = {
    "expansion as torch writes it": """(float[1,n] x) => (y)
<int64[2] none = {-1,-1}, int64[2] ones = {1,1}, int64[1] zero = {0}, int64[1] one = {1}, int64 a = {0}, int64 b = {1}> {
  dims = Shape (x)
  n = Gather <axis = 0> (dims, b)
  places = Range (a, n, b)
  column = Unsqueeze (places, one)
  row = Unsqueeze (places, zero)
  seen = LessOrEqual (row, column)
  nn = Unsqueeze (n, zero)
  square = Concat <axis = 0> (nn, nn)
  unknown = Equal (square, none)
  shape = Where (unknown, ones, square)
  wide = Expand (x, shape)
  y = Where (seen, wide, x)
}""",
    "resized to another": """(float[1,1,n,4] x) => (y)
<float[1,1,2,2] w = {1,2,3,4}> {
  c = Conv <strides = [2,2], pads = [1,1,1,1]> (x, w)
  dims = Shape (x)
  r = Resize <mode = "linear"> (c, , , dims)
  y = Add (r, x)
}""",
}


@pytest.mark.parametrize("form", COMPUTED)
def test_shapes_that_the_run_computes(form: str, tmp_path: Path) -> None:
    text = f'<ir_version: 8, opset_import: ["" : 16]> net {COMPUTED[form]}'
    source, rest = tmp_path / "net.onnx", (1, 4) if "[1,1,n,4]" in text else ()
    onnx.save(onnx.parser.parse_model(text), source)
    dims = ("1", "1", "1~9", "4") if rest else ("1", "1~9")
    atc_py.convert(source, tmp_path / "net.om", input_shape=f"x:{','.join(dims)}")
    session = onnxruntime.InferenceSession(source)
    with atc_py.load(tmp_path / "net.om") as model:
        for size in (1, 9, 5):
            x = np.random.default_rng(size).integers(-8, 8, (1, *rest[:1], size, *rest[1:]))
            fed = {"x": x.astype(np.float32)}
            (expected,) = session.run(None, fed)
            np.testing.assert_allclose(
                np.asarray(model.run(fed)["y"], np.float32),
                np.asarray(expected, np.float32),
                atol=0.05,
            )


SAME = """<ir_version: 8, opset_import: ["" : 11]>
net (float[n,2,h,w] x) => (y) {
  y = MaxPool <auto_pad = "SAME_UPPER", kernel_shape = [3,3], strides = [2,2]> (x)
}"""


def test_graph_that_needs_its_dims_is_refused_with_gears(tmp_path: Path) -> None:
    source = tmp_path / "net.onnx"
    onnx.save(onnx.parser.parse_model(SAME), source)
    *findings, note = refused(source, "x:1,2,16~32,-1")
    assert findings
    assert note.code is OPEN_DIMS_NOT_COMPILED
    assert '--input-shape "x:1,2,-1,-1" --dims "16,1;32,2"' in (note.help or "")
    advised = {"input_shape": "x:1,2,-1,-1", "dims": "16,1;32,2"}
    atc_py.convert(source, tmp_path / "net.om", **advised)  # type: ignore[arg-type]
    (advice,) = range_advice("x:2~8,3,16,16;y:1~4,2")
    assert '--input-shape "x:-1,3,16,16;y:-1,2" --batch-sizes 2,4' in (advice.help or "")


def test_description_without_its_ranges_is_refused(source: Path, tmp_path: Path) -> None:
    atc_py.convert(source, tmp_path / "net.om", input_shape="ids:1~4,-1")
    for text in ("", "ids:1~4,3", "ids:-1", "other:-1,-1", "ids:a~b"):

        def change(found: dict[str, Any], text: str = text) -> None:
            found["options"].update(input_shape_range=text)

        data = changed((tmp_path / "net.om").read_bytes(), change)
        (tmp_path / "m.om").write_bytes(data)
        with pytest.raises(AtcError) as caught:
            open_model(tmp_path / "m.om")
        assert caught.value.diagnostics[0].code is OM_CONTENT


def test_ranges_are_refused_where_one_shape_runs(source: Path) -> None:
    with pytest.raises(AtcError, match="a comparison runs one shape"):
        atc_py.compare_model(source, input_shape="ids:-1,3")
    with pytest.raises(AtcError, match="for the shapes that are fed"):
        atc_py.InferenceSession(source, input_shape="ids:-1,3")
