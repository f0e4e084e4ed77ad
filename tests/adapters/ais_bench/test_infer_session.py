"""`InferSession`: descriptions, runs, gears, times and refusals."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import atc_py
from atc_py.adapters.ais_bench import MemorySummary, MultiDeviceSession, Tensor, aclruntime
from atc_py.adapters.ais_bench.infer.interface import InferSession
from atc_py.cost.network import network_cost
from tests.aipp_graph.networks import config, network


def image(*shape: int) -> Any:
    """Return random data."""
    return np.random.default_rng(1).standard_normal(shape).astype(np.float32)


def test_descriptions_have_the_fields_of_ais_bench(om: str) -> None:
    session = InferSession(0, om)
    (x,) = session.get_inputs()
    assert (x.name, x.shape, x.size, x.realsize, x.format) == ("x", [1, 3, 8, 8], 768, 768, 0)
    assert (str(x.datatype), f"{x.datatype}", int(x.datatype)) == (
        "dtype.float32", "dtype.float32", 0,
    )  # fmt: skip
    (y,) = session.get_outputs()
    assert (y.name, y.shape, y.size) == ("Relu_1:0:y", [1, 4, 8, 8], 1024)
    assert session.outputs_names == ["Relu_1:0:y"]


def test_static_inference_is_that_of_the_model(om: str) -> None:
    x = image(1, 3, 8, 8)
    (result,) = InferSession(0, om).infer([x])
    with atc_py.load(om) as model:
        np.testing.assert_array_equal(result, model.run({"x": x})["y"])


def test_published_script_runs_unchanged(om: str, capsys: pytest.CaptureFixture[str]) -> None:
    device_id = 0
    session = InferSession(device_id, om)
    barray = bytearray(session.get_inputs()[0].realsize)
    ndata = np.frombuffer(barray)  # float64: only the bytes count
    outputs = session.infer([ndata])
    print(f"outputs:{outputs[0].shape} type:{type(outputs)}")  # noqa: T201
    print(f"static infer avg:{np.mean(session.sumary().exec_time_list)} ms")  # noqa: T201
    session.free_resource()
    InferSession.finalize()
    lines = capsys.readouterr().out.splitlines()
    assert lines[:4] == [
        "[INFO] acl init success",
        "[INFO] open device 0 success",
        "[INFO] load model one.om success",
        "[INFO] create model description success",
    ]
    assert lines[4] == "outputs:(1, 4, 8, 8) type:<class 'list'>"
    assert lines[5].startswith("static infer avg:")
    assert lines[6].startswith("[INFO] unload model success, model Id is ")
    assert lines[-3:] == [
        "[INFO] end to destroy context",
        "[INFO] end to reset device is 0",
        "[INFO] end to finalize acl",
    ]


def test_times_are_the_estimate_of_the_cost_model(om: str) -> None:
    session = InferSession(0, om, loop=3)
    session.infer([image(1, 3, 8, 8)])
    session.set_loop_count(1)
    session.infer([image(1, 3, 8, 8)])
    with atc_py.load(om) as model:
        expected = network_cost(model.description).time.expected * 1e3
    assert session.sumary().exec_time_list == pytest.approx([expected] * 4)
    spans = session.summary().exec_time_list
    assert [end - start for start, end in spans] == pytest.approx([expected] * 4)
    assert spans[1][0] == spans[0][1]
    session.reset_sumaryinfo()
    assert session.sumary().exec_time_list == []


def test_copies_are_timed(om: str) -> None:
    MemorySummary.reset()
    InferSession(0, om).infer([image(1, 3, 8, 8)])
    assert len(MemorySummary.get_H2D_time_list()) == len(MemorySummary.get_d2h_time_list()) == 1
    MemorySummary.reset()
    assert MemorySummary.get_h2d_time_list() == []


def test_tensors_are_taken_and_returned(om: str) -> None:
    session = InferSession(0, om)
    x = image(1, 3, 8, 8)
    tensor = session.create_tensor_from_arrays_to_device(x)
    outputs = session.run([tensor])
    assert isinstance(outputs[0], Tensor)
    session.convert_tensors_to_host(outputs)
    (result,) = session.convert_tensors_to_arrays(outputs)
    np.testing.assert_array_equal(result, session.infer([x])[0])
    np.testing.assert_array_equal(np.array(outputs[0]), result)
    assert outputs[0].shape == [1, 4, 8, 8]


def test_data_that_are_not_contiguous_are_read_in_order(om: str) -> None:
    session = InferSession(0, om)
    x = image(1, 8, 3, 8).transpose(0, 2, 1, 3)
    assert not x.flags.c_contiguous
    np.testing.assert_array_equal(
        session.infer([x])[0], session.infer([np.ascontiguousarray(x)])[0]
    )


def test_torch_tensor_is_taken(om: str) -> None:
    class FloatTensor:
        """A tensor as torch has it."""

        def __init__(self, array: Any) -> None:
            self.array = array

        def type(self) -> str:
            return "torch.FloatTensor"

        def detach(self) -> FloatTensor:
            return self

        def cpu(self) -> FloatTensor:
            return self

        def numpy(self) -> Any:
            return self.array

    session, x = InferSession(0, om), image(1, 3, 8, 8)
    np.testing.assert_array_equal(session.infer([FloatTensor(x)])[0], session.infer([x])[0])


@pytest.mark.parametrize("feed", [[1.0], "x", 1.0, None])
def test_other_types_are_refused(om: str, feed: object) -> None:
    with pytest.raises(RuntimeError, match=r"type:<class '.*'> invalid"):
        InferSession(0, om).infer([feed])


def test_wrong_number_of_bytes_is_refused_with_both(
    om: str, capsys: pytest.CaptureFixture[str]
) -> None:
    session = InferSession(0, om)
    with pytest.raises(RuntimeError, match="in size:12 needsize:768 not match"):
        session.infer([np.zeros(3, np.float32)])
    assert "[ERROR] Check i:0 name:x in size:12 needsize:768 not match" in capsys.readouterr().out


def test_wrong_number_of_inputs_is_refused(two: str) -> None:
    with pytest.raises(RuntimeError, match="intensors in:1 need:2 not match"):
        InferSession(0, two).infer([image(2, 3)])


def test_file_without_a_model_is_refused() -> None:
    with pytest.raises(RuntimeError, match="ATC2001"):
        InferSession(0, "none.om")


def test_session_that_is_released_is_refused(om: str) -> None:
    session = InferSession(0, om)
    session.free_resource()
    with pytest.raises(RuntimeError, match="unloaded"):
        session.infer([image(1, 3, 8, 8)])


def test_unknown_mode_is_refused(om: str) -> None:
    with pytest.raises(RuntimeError, match="wrong infer_mode:dynamic"):
        InferSession(0, om).infer([image(1, 3, 8, 8)], mode="dynamic")


@pytest.mark.parametrize("mode", ["dymbatch", "dynbatch"])
def test_batch_is_chosen_by_the_data(batches: str, mode: str) -> None:
    session = InferSession(0, batches)
    assert session.get_inputs()[0].shape == [-1, 3, 8, 8]
    assert session.get_outputs()[0].shape == [-1, 4, 8, 8]
    assert session.get_max_dym_batchsize() == 4
    x = image(4, 3, 8, 8)
    (whole,) = session.infer([x], mode=mode)
    (half,) = session.infer([x[:2]], mode=mode)
    assert session.get_inputs()[0].realsize == session.get_inputs()[0].size // 2
    np.testing.assert_array_equal(whole[:2], half)


def test_batch_without_a_gear_is_refused_with_all_gears(
    batches: str, capsys: pytest.CaptureFixture[str]
) -> None:
    session = InferSession(0, batches)
    with pytest.raises(RuntimeError, match="the dymBatch parameter is not correct"):
        session.set_dynamic_batchsize(3)
    assert capsys.readouterr().out.splitlines()[-2:] == [
        "[ERROR] the dymBatch parameter is not correct",
        "[ERROR] model has dynamic batch size:{[1][2][4]}, please set correct dynamic batch size",
    ]


def test_model_with_gears_needs_one_of_them(batches: str) -> None:
    with pytest.raises(RuntimeError, match="model has gears of dynamic_batch_size"):
        InferSession(0, batches).infer([image(1, 3, 8, 8)])


def test_image_size_is_chosen_by_the_data_and_by_hand(images: str) -> None:
    session = InferSession(0, images)
    x = image(1, 3, 16, 12)
    (result,) = session.infer([x], mode="dymhw")
    assert result.shape == (1, 4, 16, 12)
    session.set_dynamic_hw(16, 12)
    np.testing.assert_array_equal(session.run([x], out_array=True)[0], result)
    with pytest.raises(RuntimeError, match="the dymHW parameter is not correct"):
        session.set_dynamic_hw(12, 16)


def test_dims_are_chosen_by_the_data_and_by_hand(
    dims: str, capsys: pytest.CaptureFixture[str]
) -> None:
    session = InferSession(0, dims)
    x = image(1, 3, 16, 12)
    (result,) = session.infer([x], mode="dymdims")
    session.set_dynamic_dims("x:1,3,16,12")
    np.testing.assert_array_equal(session.run([x], out_array=True)[0], result)
    capsys.readouterr()
    with pytest.raises(RuntimeError, match="the dynamic_dims parameter is not correct"):
        session.set_dynamic_dims("x:1,3,9,9")
    assert "[ERROR] dims[1]:[1][3][16][12]" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("mode", "message"),
    [
        ("dymbatch", "not a dymbatch model!"),
        ("dymhw", "not a dymhw model!"),
        ("dymdims", "the dynamic_dims parameter is not specified for model conversion"),
    ],
)
def test_gears_of_a_model_without_any_are_refused(om: str, mode: str, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        InferSession(0, om).infer([image(1, 3, 8, 8)], mode=mode)


def test_gear_of_another_kind_is_refused(batches: str) -> None:
    session = InferSession(0, batches)
    with pytest.raises(RuntimeError, match="dynamic_image_size parameter is not specified"):
        session.set_dynamic_hw(8, 8)


def test_dims_with_ranges_are_set_for_each_run(ranges: str) -> None:
    session = InferSession(0, ranges)
    assert session.get_inputs()[0].shape == [-1, 3, -1, 8]
    assert session.get_inputs()[0].size == 0
    with atc_py.load(ranges) as model:
        for x in (image(2, 3, 8, 8), image(4, 3, 16, 8)):
            (result,) = session.infer([x], mode="dymshape")
            (expected,) = model.run({"x": x}).values()
            np.testing.assert_array_equal(result, expected)
    for shape in ((5, 3, 8, 8), (2, 4, 8, 8), (2, 3, 8)):
        with pytest.raises(RuntimeError, match="converted for x:1~4,3,-1,8"):
            session.infer([image(*shape)], mode="dymshape")
    session.set_dynamic_shape("x:2,3,8,8")
    with pytest.raises(RuntimeError, match="in size:768 needsize:1536 not match"):
        session.run([image(1, 3, 8, 8)])
    with pytest.raises(RuntimeError, match="set the shapes of its inputs"):
        session.infer([image(1, 3, 8, 8)])


def test_shapes_of_the_model_are_taken_and_others_refused(om: str) -> None:
    session, x = InferSession(0, om), image(1, 3, 8, 8)
    (result,) = session.infer([x], mode="dymshape", custom_sizes=[100000])
    np.testing.assert_array_equal(result, session.infer([x])[0])
    with pytest.raises(RuntimeError, match="converted for"):
        session.infer([image(2, 3, 8, 8)], mode="dymshape")
    with pytest.raises(RuntimeError, match="please check input name"):
        session.set_dynamic_shape("z:1,3,8,8")
    with pytest.raises(RuntimeError, match="om has 1 input, but dymShape parametet give 2"):
        session.set_dynamic_shape("x:1,3,8,8;z:1")
    wrong: Any = "1"
    with pytest.raises(RuntimeError, match="custom_sizes:1 type:<class 'str'> invalid"):
        session.infer([x], mode="dymshape", custom_sizes=wrong)


def test_pipeline_and_iteration(two: str) -> None:
    session = InferSession(0, two)
    a, b = image(2, 3), np.arange(4, dtype=np.int32).reshape(2, 2)
    first, second = session.infer_pipeline([[a, b], [2 * a, b]])
    np.testing.assert_array_equal(2 * first[0], second[0])
    s, n = session.infer_iteration([a, b], in_out_list=[0, 1], iteration_times=3)
    np.testing.assert_array_equal(s, 8 * a)
    np.testing.assert_array_equal(n, -b)
    with pytest.raises(RuntimeError, match="length of in_out_list"):
        session.infer_iteration([a, b], in_out_list=[0])


def test_several_devices_run_one_after_another(om: str) -> None:
    session = MultiDeviceSession(om)
    x = image(1, 3, 8, 8)
    outputs = session.infer({0: [[x], [x]], 1: [[x]]})
    assert [len(outputs[device]) for device in (0, 1)] == [2, 1]
    np.testing.assert_array_equal(outputs[0][1][0], outputs[1][0][0])
    assert len(session.summary()[0]) == 2


def test_names_of_aclruntime(om: str) -> None:
    options = aclruntime.session_options()
    options.loop = 2
    session = aclruntime.InferenceSession(om, 0, options)
    x = image(1, 3, 8, 8)
    tensor = aclruntime.Tensor(x)
    tensor.to_device(0)
    (result,) = session.run([each.name for each in session.get_outputs()], [tensor])
    result.to_host()
    assert np.array(result).shape == (1, 4, 8, 8)
    assert len(session.sumary().exec_time_list) == 2
    assert "#0    x  (1, 3, 8, 8)  float32  768  768" in repr(session)


SETTINGS = "input_format = RGB888_U8\nsrc_image_size_w = 12\nsrc_image_size_h = 8\n"


def with_pictures(folder: Path, text: str) -> str:
    """Convert a network of pictures of 8 x 12 with AIPP; return the offline model."""
    model = network(folder / "m.onnx")
    atc_py.convert(model, folder / "a.om", aipp=config(folder, text))
    return str(folder / "a.om")


def test_dynamic_aipp_takes_its_settings_from_an_ini_file(tmp_path: Path) -> None:
    om = with_pictures(tmp_path, "  aipp_mode: dynamic\n  max_src_image_size: 288\n")
    plain = tmp_path / "plain.om"
    atc_py.convert(tmp_path / "m.onnx", plain)
    Path("run.config").write_text(
        f"[aipp_op]\n{SETTINGS}" + "".join(f"var_reci_chn_{at} = 1\n" for at in range(3)),
        encoding="utf-8",
    )
    session = InferSession(0, om)
    (x,) = session.get_inputs()  # the input with the settings is not listed
    assert (x.name, x.realsize) == ("x0", 288)
    assert session.get_dym_aipp_input_exist() == 1
    data = np.random.default_rng(0).integers(0, 256, (1, 8, 12, 3)).astype(np.uint8)
    with pytest.raises(RuntimeError, match="can't find config file"):
        session.infer([data])
    session.load_aipp_config_file("run.config", 1)
    session.check_dym_aipp_input_exist()
    (result,) = session.infer([data])
    (expected,) = InferSession(0, str(plain)).infer([data.transpose(0, 3, 1, 2).astype(np.float32)])
    np.testing.assert_array_equal(result, expected)


def test_static_aipp_needs_no_settings(tmp_path: Path) -> None:
    session = InferSession(
        0, with_pictures(tmp_path, "  aipp_mode: static\n  input_format: RGB888_U8\n")
    )
    assert session.get_dym_aipp_input_exist() == 0
    (x,) = session.get_inputs()
    assert (str(x.datatype), x.realsize) == ("dtype.uint8", 288)
    with pytest.raises(RuntimeError, match="not one input"):
        session.check_dym_aipp_input_exist()


@pytest.mark.parametrize(
    "text",
    ["", "[aipp_op]\n", "[other]\na = 1\n", f"[aipp_op]\n{SETTINGS}novelty = 1\n",
     f"[aipp_op]\n{SETTINGS.replace('12', '13')}"],
)  # fmt: skip
def test_settings_that_make_no_sense_are_refused(tmp_path: Path, text: str) -> None:
    om = with_pictures(tmp_path, "  aipp_mode: dynamic\n  max_src_image_size: 288\n")
    Path("run.config").write_text(text, encoding="utf-8")
    with pytest.raises(RuntimeError, match="ATC"):
        InferSession(0, om).load_aipp_config_file("run.config", 1)


def test_pictures_have_gears_of_batches(tmp_path: Path) -> None:
    model = network(tmp_path / "m.onnx", [("n", 3, 8, 12)])
    given = config(tmp_path, "  aipp_mode: static\n  input_format: RGB888_U8\n")
    atc_py.convert(
        model, tmp_path / "a.om", aipp=given, input_shape="x0:-1,3,8,12", batch_sizes="1,2"
    )
    session = InferSession(0, str(tmp_path / "a.om"))
    assert session.get_inputs()[0].shape == [-1, 8, 12, 3]
    data = np.random.default_rng(0).integers(0, 256, (2, 8, 12, 3)).astype(np.uint8)
    (both,) = session.infer([data], mode="dymbatch")
    (one,) = session.infer([data[:1]], mode="dymbatch")
    np.testing.assert_array_equal(both[:1], one)
