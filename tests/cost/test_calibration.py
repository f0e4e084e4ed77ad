"""Refitting factors: what was hidden in measurements is found again; bad files are refused."""

import json
import random
from collections import Counter
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from onnx import TensorProto, helper, save

from atc_py.cost.calibration import calibrate, load_fit, save_fit
from atc_py.cost.estimate import estimate, timed_pipes
from atc_py.cost.factors import EXPECTED, Factors
from atc_py.cost.measurements import LeftOut, Measurement, read_measurements
from atc_py.cost.operation import Source, Tensor
from atc_py.cost.work import memory_of
from atc_py.diag import AtcError
from atc_py.package.reader import OfflineModel
from atc_py.pipeline.convert import convert
from atc_py.pipeline.opened import opened_model
from atc_py.pipeline.profile import fitted_factors
from atc_py.report.profile.text import calibration_tables
from atc_py.system import structs
from atc_py.target import find_soc
from atc_py.tensor.dtypes import DType
from tests.cost.launches import convolution, elementwise, kernel, matmul, operation

SOC = find_soc("Ascend310P3")
HIDDEN = structs.replace(
    EXPECTED.factors, cube=0.5, vector=0.33, bandwidth=0.75, launch=6e-6
)  # fmt: skip
HEAD = "op,shape,dtype,time_us,output_shape"


def measured(factors: Factors, noise: float = 0.0) -> list[Measurement]:
    """Return kernels whose times follow from factors, up to noise."""
    launches = [
        *(matmul(m, k, n) for m in (64, 2048) for k in (256, 2048) for n in (128, 4096)),
        *(elementwise(op, side, side) for op in ("Relu", "GeluV2") for side in (16, 256, 4096)),
        *(convolution((1, 64, side, side), 64, 3, 1) for side in (14, 56, 112)),
    ]
    chance = random.Random(3)  # noqa: S311  (noise on measurements)
    case = structs.replace(EXPECTED, factors=factors)
    return [
        Measurement(
            each.operations[0].row.name, "", "float16",
            timed_pipes(each, SOC, case, memory_of(each, SOC, case))[0] * chance.lognormvariate(0, noise), each, line,
        )
        for line, each in enumerate(launches)
    ]  # fmt: skip


@pytest.mark.parametrize(("noise", "near"), [(0.0, 0.04), (0.05, 0.12)])
def test_hidden_factors_are_found(noise: float, near: float) -> None:
    done = calibrate({"": measured(HIDDEN, noise)}, SOC)
    found, hidden = done.fit.factors.as_json(), HIDDEN.as_json()
    for name in ("cube", "vector", "bandwidth", "launch"):  # the others bound none of the kernels
        assert found[name] == pytest.approx(hidden[name], rel=near)
    assert done.before > 0.3
    assert done.fit.spread < noise + 0.01
    assert {each.op for each in done.operators} == {"Conv2D", "GeluV2", "MatMulV2", "Relu"}
    assert sum(each.count for each in done.operators) == done.count == 17


def test_what_measurements_leave_open_stays_as_built_in() -> None:
    relus = [each for each in measured(HIDDEN) if each.op == "Relu"]
    done = calibrate({"": relus}, SOC)
    assert done.fit.factors.cube == pytest.approx(EXPECTED.factors.cube)
    assert done.fit.factors.launch == pytest.approx(HIDDEN.launch, rel=0.05)


def test_steps_of_a_layer_wait_for_each_other_in_a_fit_too() -> None:
    shapes = [(64, 1, 256), (512, 1024), (1024,)]
    inputs = [Tensor(shape, DType.FLOAT16) for shape in shapes]
    out = Tensor((64, 1, 256), DType.FLOAT16)
    layer = kernel([operation("DynamicRNN", inputs, out)], weights=2)
    seconds = timed_pipes(layer, SOC, EXPECTED, memory_of(layer, SOC, EXPECTED))[0]
    done = calibrate({"": [Measurement("DynamicRNN", "", "float16", seconds, layer, 1)]}, SOC)
    assert done.before == pytest.approx(0, abs=1e-9)


def test_impossible_measurements_never_give_more_than_the_peak_rate() -> None:
    fast = [replace(each, seconds=each.seconds / 1e4) for each in measured(HIDDEN)]
    done = calibrate({"": fast}, SOC)
    found = done.fit.factors
    assert max(found.cube, found.vector, found.bandwidth) <= 1
    cost = estimate(matmul(4096, 4096, 4096), SOC, done.fit)
    assert cost.low >= cost.limit


def test_kept_factors_are_read_as_they_were(tmp_path: Path) -> None:
    done = calibrate({"": measured(HIDDEN, 0.05)}, SOC)
    save_fit(tmp_path / "kept.json", done)
    assert load_fit(tmp_path / "kept.json") == ("Ascend310P3", done.fit)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"format": "other"}, "must have the format"),
        ({"version": 9}, "the format version must be 2, found 9"),
        ({"soc": 3}, "must name the SoC"),
        ({"spread": -1}, "spread must be a number of at least 0, found -1"),
        ({"factors": {"cube": 1}}, "factors must be cube, depthwise, vector"),
        ({"factors": {**HIDDEN.as_json(), "cube": 1.5}}, "cube must be a number above 0 up to 1"),
        (
            {"factors": {**HIDDEN.as_json(), "launch": 0}},
            "launch must be a number above 0, found 0",
        ),
        ({"factors": {**HIDDEN.as_json(), "vector": True}}, "vector must be a number"),
    ],
)
def test_impossible_kept_factors_are_refused(
    change: dict[str, object], message: str, tmp_path: Path
) -> None:
    path = tmp_path / "kept.json"
    save_fit(path, calibrate({"": measured(HIDDEN)}, SOC))
    path.write_text(json.dumps({**json.loads(path.read_text()), **change}))
    with pytest.raises(AtcError, match=message) as caught:
        load_fit(path)
    assert caught.value.diagnostics[0].code.name == "bad-cost-factors"


@pytest.mark.parametrize(
    ("text", "code"),
    [("{", "bad-cost-factors"), ("[1]", "bad-cost-factors"), (None, "file-not-found")],
)
def test_other_files_are_no_factors(text: str | None, code: str, tmp_path: Path) -> None:
    path = tmp_path / "kept.json"
    if text is not None:
        path.write_text(text)
    with pytest.raises(AtcError) as caught:
        load_fit(path)
    assert caught.value.diagnostics[0].code.name == code


def table(tmp_path: Path, *lines: str, head: str = HEAD) -> Path:
    """Return a CSV file."""
    path = tmp_path / "measured.csv"
    path.write_text("\n".join((head, *lines)) + "\n", encoding="utf-8")
    return path


def test_table_is_read_with_shapes_that_follow(tmp_path: Path) -> None:
    path = table(
        tmp_path,
        'MatMulV2,"64,128;128,32",float16,10,',
        "Relu,[4x16],FLOAT16,2.5,",
        'Add,"4,1;1,8",float,3,',
        "",
        'Conv2D,"1,3,8,8;16,3,3,3",DT_FLOAT16,4,"1,16,4,4"',
        'MatMulV2,"128,64;128,32",float16,10,"64,32"',
    )
    found = read_measurements(path)
    assert [each.line for each in found] == [2, 3, 4, 6, 7]
    assert [each.seconds for each in found] == pytest.approx([1e-5, 2.5e-6, 3e-6, 4e-6, 1e-5])
    outs = [each.launch.operations[0].outputs[0].shape for each in found]
    assert outs == [(64, 32), (4, 16), (4, 8), (1, 16, 4, 4), (64, 32)]
    assert [each.source for each in found[0].launch.reads] == [Source.RESULT, Source.WEIGHTS]
    macs = [estimate(each.launch, SOC).macs for each in found]
    assert macs == [64 * 128 * 32, 0, 0, 16 * 4 * 4 * 27, 64 * 128 * 32]
    assert found[3].launch.operations[0].numbers("strides") == (1, 1, 2, 2)


def test_strides_of_a_transposed_convolution_follow_from_its_result(tmp_path: Path) -> None:
    line = 'Conv2DTransposeD,"1,16,4,4;16,3,2,2",float16,4,"1,3,8,12"'
    done = read_measurements(table(tmp_path, *[line] * 4))[0].launch.operations[0]
    assert done.numbers("strides") == (1, 1, 2, 3)


def test_tensors_have_as_many_elements_as_a_shape_may(tmp_path: Path) -> None:
    found = read_measurements(table(tmp_path, *['Relu,"1048576,1048576",float16,1e7,'] * 4))
    assert found[0].launch.operations[0].outputs[0].shape == (1 << 20, 1 << 20)


def test_table_of_msprof_is_read(tmp_path: Path) -> None:
    head = "Op Name,OP Type,Task Duration(us),Input Shapes,Input Data Types,Output Shapes"
    row = '{name},MatMulV2,12.5,"""8,16;16,8""",FLOAT16;FLOAT16,"""8,8"""'
    rows = [row.format(name=name) for name in "abcd"]
    found = read_measurements(table(tmp_path, *rows, head=head))
    assert found[0].seconds == pytest.approx(12.5e-6)
    assert found[0].launch.operations[0].outputs[0].shape == (8, 8)


def test_kernels_that_no_operator_launches_are_left_out_and_named(tmp_path: Path) -> None:
    """CANN's names may have another version at the end; what is no operator refuses nothing."""
    lines = [
        f'{op},"64,64",float16,1,"64,64"' for op in ("Gelu", "Mish", "Mish", "Reshape", "Relu")
    ]
    left_out: Counter[LeftOut] = Counter()
    path = table(tmp_path, *lines, *lines, *lines)
    found = read_measurements(path, left_out)
    assert {each.op for each in found} == {"GeluV2", "Relu"}
    why = "no target operator launches it"
    assert left_out == {("Mish", why): 6, ("Reshape", why): 3}
    done = calibrate({"": found}, SOC, left_out)
    assert done.left_out == ((("Mish", why), 6), (("Reshape", why), 3))
    assert ("left out", f"{why}: Mish (6), Reshape (3)") in calibration_tables(done)[0].rows
    with pytest.raises(AtcError, match=rf"found 0; {why}: Mish \(4\)"):
        read_measurements(table(tmp_path, *[lines[1]] * 4))


def test_several_files_are_fitted_together_and_listed(tmp_path: Path) -> None:
    line = 'Relu,"{n},512",float16,{time},'
    paths = []
    for at, sizes in enumerate(((512, 1024, 2048), (4096,))):
        path = tmp_path / f"{at}.csv"
        rows = (line.format(n=size, time=size / 60) for size in sizes)
        path.write_text("\n".join([HEAD, *rows]))
        paths.append(path)
    _, done = fitted_factors(None, paths, ["Ascend310P3"])
    assert done is not None
    assert [(each.op, each.count) for each in done.files] == [
        (str(paths[0]), 3),
        (str(paths[1]), 1),
    ]
    assert [(each.op, each.count) for each in done.operators] == [("Relu", 4)]
    assert calibration_tables(done)[-1].title == "Error by file"
    with pytest.raises(AtcError, match="needs 1 measurements or more, found 0"):
        fitted_factors(None, [paths[0], table(tmp_path)], ["Ascend310P3"])


def network(folder: Path) -> Path:
    """An ONNX model of one Relu with an open batch."""
    shape = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["b", 4096]) for name in "xy"]
    graph = helper.make_graph([helper.make_node("Relu", ["x"], ["y"])], "g", shape[:1], shape[1:])
    opsets = [helper.make_opsetid("", 13)]
    save(helper.make_model(graph, opset_imports=opsets, ir_version=8), folder / "net.onnx")
    return folder / "net.onnx"


def test_times_of_whole_networks_alone_refit_factors(tmp_path: Path) -> None:
    """Their runs have the overhead of a run; models stand beside the table."""
    network(tmp_path)
    lines = [f'net.onnx,"x:{256 * size},4096",{0.1 + size / 8}' for size in (1, 4, 8, 16)]
    path = table(tmp_path, *lines, head="model,input_shape,time_ms")
    fit, done = fitted_factors(None, [path], ["Ascend310P3"])
    assert fit is not None
    assert done is not None
    assert [(each.op, each.count) for each in done.operators] == [("net.onnx", 4)]
    assert done.fit.spread < min(0.1, done.before)
    with pytest.raises(AtcError, match="there must be a column time_us") as caught:
        fitted_factors(None, [table(tmp_path, *lines, head="model,input_shape,ms")], [])
    assert "model, input_shape and time_us" in str(caught.value.diagnostics[0].help)


def test_every_network_that_is_not_the_measured_one_is_refused_at_its_line(tmp_path: Path) -> None:
    convert(network(tmp_path), tmp_path / "net.om", soc="Ascend310", input_shape="x:1,4096")
    lines = [
        "net.om,,1",
        'net.om,"bogus:9",1',
        'net.onnx,"x:-1,4096",1',
        'net.onnx,"bogus:9",1',
        "net.onnx,,1",
        "gone.onnx,,1",
        ",,1",
    ]
    path = table(tmp_path, 'net.onnx,"x:1,4096",1', *lines, head="model,input_shape,time_ms")
    with pytest.raises(AtcError) as caught:
        fitted_factors(None, [path], ["Ascend310P3"])
    found = caught.value.diagnostics
    assert [each.place and (each.place.file, each.place.line) for each in found] == [
        (str(path), line) for line in range(3, 10)
    ]
    assert {each.code.name for each in found} == {"bad-measurements"}
    starts = (
        "net.om is compiled for Ascend310, found --soc Ascend310P3",
        "net.om is compiled for its shapes; leave input_shape empty",
        "net.onnx has dims that are open; give all of them in input_shape",
        "net.onnx: the model has no input 'bogus'",
        "net.onnx: input 'x' has shape bx4096: axis 0 (b) has no value",
        "gone.onnx: cannot read",
        "model must name a file, found nothing",
    )
    for each, start in zip(found, starts, strict=True):
        assert each.message.startswith(start)


def test_equal_lines_of_a_network_compile_it_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    network(tmp_path)
    opened = []

    def counted(path: Path, **options: Any) -> AbstractContextManager[OfflineModel]:
        opened.append(path)
        return opened_model(path, **options)

    monkeypatch.setattr("atc_py.pipeline.profile.opened_model", counted)
    lines = ['net.onnx,"x:256,4096",1'] * 3 + ['net.onnx,"x:512,4096",2']
    path = table(tmp_path, *lines, head="model,input_shape,time_ms")
    _, done = fitted_factors(None, [path], ["Ascend310P3"])
    assert done is not None
    assert (done.count, len(opened)) == (4, 2)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ('MatMulV2,"3,4;5,6",float16,1,', "3x4 and 5x6 do not multiply"),
        ('Relu,"3,x",float16,1,', "a shape must be numbers joined by commas, found '3,x'"),
        ('Relu,"3,0",float16,1,', "dims must be 1 or more"),
        ('Relu,"1048576,1048577",float16,1,', "at most 1099511627776 elements in all"),
        ("Relu,,float16,1,", "shape must have the dims of an input, found nothing"),
        ("Relu,3,float17,1,", "no dtype is called 'float17'"),
        ("Relu,3,float16,-1,", "the time must be more than 0, found -1"),
        ("Relu,3,float16,nan,", "the time must be more than 0, found nan"),
        ("Relu,3,float16,fast,", "the time must be a number, found 'fast'"),
        ("Relu,3,float16", "the time must be a number, found ''"),
        ('Add,"3;4",float16,1,', "do not broadcast"),
        ('Conv2D,"1,3,8,8;8,3,3,3",float16,2,', "Conv2D needs output_shape"),
        ('Conv2D,"8,8",float16,2,"8,8"', "the shapes 8,8 do not fit Conv2D"),
        ('MatMulV2,"8,8",float16,2,"8,8"', "the shapes 8,8 do not fit MatMulV2"),
    ],
)
def test_line_without_meaning_is_refused_at_its_place(
    line: str, message: str, tmp_path: Path
) -> None:
    path = table(tmp_path, 'Relu,"8,8",float16,1,', line)
    with pytest.raises(AtcError) as caught:
        read_measurements(path)
    finding = caught.value.diagnostics[0]
    assert finding.code.name == "bad-measurements"
    assert message in finding.message
    assert finding.place is not None
    assert finding.place.line == 3
    assert finding.help


@pytest.mark.parametrize(
    ("head", "lines", "message"),
    [
        ("op,shape,dtype", ["Relu,3,float16"], "must be a column time_us, found op, shape, dtype"),
        ("", [], "the file is empty"),
        (HEAD, ["Relu,3,float16,1,"] * 3, "needs 4 measurements or more, found 3"),
    ],
)
def test_file_that_is_not_a_table_is_refused(
    head: str, lines: list[str], message: str, tmp_path: Path
) -> None:
    with pytest.raises(AtcError, match=message) as caught:
        read_measurements(table(tmp_path, *lines, head=head))
    assert caught.value.diagnostics[0].code.name == "bad-measurements"


def test_file_that_cannot_be_read_is_refused(tmp_path: Path) -> None:
    (tmp_path / "binary.csv").write_bytes(b"\xff\xfe\x00")
    for name, code in (("none.csv", "file-not-found"), ("binary.csv", "file-not-text")):
        with pytest.raises(AtcError) as caught:
            read_measurements(tmp_path / name)
        assert caught.value.diagnostics[0].code.name == code
