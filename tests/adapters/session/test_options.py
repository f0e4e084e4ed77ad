"""Session options and providers of onnxruntime: ignored, honored, warned of or refused."""

import warnings
from pathlib import Path
from typing import Any

import onnxruntime
import pytest
from onnxruntime.capi.onnxruntime_pybind11_state import (
    InvalidProtobuf,
    NoSuchFile,
    NotImplemented,  # noqa: A004  (onnxruntime's own name)
)

from atc_py import AtcError, InferenceSession
from atc_py.adapters.session.errors import SessionWarning
from atc_py.adapters.session.options import recorded_options
from tests.adapters.session.models import expected, layer, rows
from tests.derived_session import IGNORED, OPTIONS, WARNED

OPEN = layer().SerializeToString()
RECORDED = recorded_options(onnxruntime.SessionOptions)
KINDS = {"onnxruntime's": onnxruntime.SessionOptions, "recorded": RECORDED}


def options_of(kind: str) -> Any:
    """Return new session options."""
    return KINDS[kind]()


CHANGED = {
    "graph_optimization_level": onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL,
    "execution_mode": onnxruntime.ExecutionMode.ORT_PARALLEL,
    "execution_order": onnxruntime.ExecutionOrder.PRIORITY_BASED,
    "logid": "x",
    "profile_file_prefix": "x",
    "add_session_config_entry": ("session.intra_op.allow_spinning", "0"),
    "get_session_config_entry": None,
    "has_providers": (),
    "set_ep_context_data_read_func": (print, 1),
    "clear_ep_context_data_read_func": (),
    "set_load_cancellation_flag": (False,),
}
"""Other values of options, and what methods are called with; the rest are numbers or flags."""


@pytest.mark.parametrize("row", [row for row in OPTIONS if row.standing == IGNORED], ids=str)
def test_option_that_changes_no_number_is_ignored(row: Any) -> None:
    options = onnxruntime.SessionOptions()
    if not hasattr(options, row.name):
        pytest.skip("this onnxruntime does not have the option")
    value = CHANGED.get(row.name, 1)
    if callable(getattr(options, row.name)):
        if isinstance(value, tuple):
            getattr(options, row.name)(*value)
    else:
        setattr(options, row.name, value)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        session = InferenceSession(OPEN, options)
    assert session.run(None, {"x": rows(2)})[0].tobytes() == expected(rows(2)).tobytes()
    assert session.get_session_options() is options


def test_options_that_are_warned_of_are_tried() -> None:
    warned = {row.name for row in OPTIONS if row.standing == WARNED}
    providers = {name for name in warned if "provider" in name}
    assert warned - providers == {"enable_profiling", "optimized_model_filepath"}


def test_provider_of_the_options_is_warned_of() -> None:
    options = onnxruntime.SessionOptions()
    options.add_provider("CPUExecutionProvider", {})
    with pytest.warns(SessionWarning, match="providers that session options choose"):
        InferenceSession(OPEN, options)
    options = onnxruntime.SessionOptions()
    options.set_provider_selection_policy(onnxruntime.OrtExecutionProviderDevicePolicy.PREFER_NPU)
    with pytest.warns(SessionWarning, match="providers that session options choose"):
        InferenceSession(OPEN, options)


@pytest.mark.parametrize("name", ["enable_profiling", "optimized_model_filepath"])
def test_option_that_writes_a_file_is_warned_of(name: str, tmp_path: Path) -> None:
    options = onnxruntime.SessionOptions()
    setattr(options, name, True if name == "enable_profiling" else str(tmp_path / "x"))
    options.profile_file_prefix = str(tmp_path / "profile")
    with pytest.warns(SessionWarning, match=r"^ATC1041: no .* is written"):
        session = InferenceSession(OPEN, options)
    assert session.end_profiling() == ""
    assert list(tmp_path.iterdir()) == []
    assert getattr(options, name)


@pytest.mark.parametrize(("value", "warned"), [("1", True), ("0", False)])
def test_entry_that_changes_numbers_is_warned_of(value: str, *, warned: bool) -> None:
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.set_denormal_as_zero", value)
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        InferenceSession(OPEN, options)
    assert len(found) == warned
    assert all("session.set_denormal_as_zero = 1 has no effect" in str(w.message) for w in found)


@pytest.mark.parametrize("kind", KINDS)
def test_chosen_dims_are_honored(kind: str) -> None:
    options = options_of(kind)
    options.add_free_dimension_override_by_name("N", 2)
    session = InferenceSession(OPEN, options)
    other = onnxruntime.InferenceSession(OPEN, options, providers=["CPUExecutionProvider"])
    assert session.get_inputs()[0].shape == other.get_inputs()[0].shape == [2, 3]
    assert session.get_outputs()[0].shape == other.get_outputs()[0].shape == [2, 3]
    assert len(session.compilations) == 1
    with pytest.raises(AtcError, match="must be"):
        session.run(None, {"x": rows(3)})


@pytest.mark.parametrize("kind", KINDS)
def test_dims_chosen_by_their_meaning_are_honored(kind: str) -> None:
    model = layer(("N", "M"))
    model.graph.input[0].type.tensor_type.shape.dim[0].denotation = "DATA_BATCH"
    options = options_of(kind)
    options.add_free_dimension_override_by_denotation("DATA_BATCH", 2)
    session = InferenceSession(model.SerializeToString(), options)
    assert session.get_inputs()[0].shape == [2, "M"]
    assert session.run(None, {"x": rows(2)})[0].shape == (2, 3)
    with pytest.raises(AtcError, match="must be"):
        session.run(None, {"x": rows(3)})


@pytest.mark.parametrize("kind", KINDS)
def test_options_that_choose_no_dims_leave_them_open(kind: str) -> None:
    options = options_of(kind)
    options.add_free_dimension_override_by_name("other", 2)
    assert InferenceSession(OPEN, options).get_inputs()[0].shape == ["N", 3]


def test_other_initializers_are_refused() -> None:
    options = RECORDED()
    value = onnxruntime.OrtValue.ortvalue_from_numpy(rows(1))
    options.add_initializer("b", value)
    options.add_external_initializers(["b"], [value])
    with pytest.raises(AtcError) as caught:
        InferenceSession(OPEN, options)
    assert [each.code.id for each in caught.value.diagnostics] == ["ATC1040", "ATC1040"]
    assert isinstance(caught.value, NotImplemented)


def test_options_that_onnxruntime_refuses_are_refused() -> None:
    options = onnxruntime.SessionOptions()
    value = onnxruntime.OrtValue.ortvalue_from_numpy(rows(1))
    options.add_external_initializers(["b"], [value])
    with pytest.raises(AtcError, match="does not take the session options") as caught:
        InferenceSession(OPEN, options)
    assert caught.value.diagnostics[0].code.id == "ATC1040"


def test_library_of_operators_is_refused() -> None:
    class Options:
        def register_custom_ops_library(self, path: str) -> None:
            pass

    options = recorded_options(Options)()
    options.register_custom_ops_library("libextra.so")
    with pytest.raises(AtcError, match=r"a library of custom operators 'libextra\.so'"):
        InferenceSession(OPEN, options)


def test_model_of_a_library_is_refused() -> None:
    model = layer()
    model.graph.node[0].domain = "com.example"
    model.opset_import.add(domain="com.example", version=1)
    with pytest.raises(AtcError, match=r"com\.example") as caught:
        InferenceSession(model.SerializeToString())
    assert isinstance(caught.value, NotImplemented)


def test_own_format_of_onnxruntime_is_refused(tmp_path: Path) -> None:
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry("session.load_model_format", "ORT")
    with pytest.raises(AtcError, match="onnxruntime's own format"):
        InferenceSession(OPEN, options)
    data = b"\x1c\0\0\0ORTM" + bytes(20)
    (tmp_path / "model.ort").write_bytes(data)
    for model in (data, tmp_path / "model.ort"):
        with pytest.raises(AtcError, match="onnxruntime's own format") as caught:
            InferenceSession(model)
        assert caught.value.diagnostics[0].code.id == "ATC1040"


def test_bytes_find_their_weights_in_the_folder_of_the_options(tmp_path: Path) -> None:
    from tests.adapters.session.test_kept_models import external

    data = external(tmp_path)
    options = onnxruntime.SessionOptions()
    options.add_session_config_entry(
        "session.model_external_initializers_file_folder_path", str(tmp_path)
    )
    session = InferenceSession(data, options)
    assert session.run(None, {"x": rows(2)})[0].tobytes() == expected(rows(2)).tobytes()


@pytest.mark.parametrize(
    "providers",
    [
        None,
        [],
        ["CPUExecutionProvider"],
        [("CPUExecutionProvider", {"arena": "1"})],
        ("CPUExecutionProvider",),
    ],
    ids=str,
)
def test_known_provider_is_taken(providers: Any) -> None:
    session = InferenceSession(OPEN, providers=providers)
    assert session.get_providers() == ["CPUExecutionProvider"]
    assert session.get_provider_options() == {"CPUExecutionProvider": {}}


def test_other_provider_is_warned_of() -> None:
    wanted = [("CUDAExecutionProvider", {"device_id": 0}), "CPUExecutionProvider"]
    with pytest.warns(SessionWarning, match=r"^ATC1041: .*'CUDAExecutionProvider'") as found:
        session = InferenceSession(OPEN, providers=wanted)
    assert found[0].filename == __file__
    assert session.get_providers() == ["CPUExecutionProvider"]
    with pytest.warns(SessionWarning, match="'CANNExecutionProvider'"):
        session.set_providers(["CANNExecutionProvider"], [{}])


@pytest.mark.parametrize(
    ("providers", "options"),
    [
        ("CPUExecutionProvider", None),
        ([3], None),
        ([("CPUExecutionProvider",)], None),
        ({"CPUExecutionProvider"}, None),
        (["CPUExecutionProvider"], []),
        (["CPUExecutionProvider"], ["x"]),
        ([("CPUExecutionProvider", {})], [{}]),
    ],
    ids=str,
)
def test_providers_of_another_form_are_refused(providers: Any, options: Any) -> None:
    with pytest.raises(AtcError) as caught:
        InferenceSession(OPEN, None, providers, options)
    assert caught.value.diagnostics[0].code.id == "ATC1001"
    assert isinstance(caught.value, ValueError)


@pytest.mark.parametrize(
    ("model", "code", "kind"),
    [
        (b"", "ATC2003", InvalidProtobuf),
        (b"no model", "ATC2003", InvalidProtobuf),
        ("no/such/file.onnx", "ATC2001", NoSuchFile),
        (5, "ATC1001", TypeError),
        (bytearray(OPEN), "ATC1001", TypeError),
        (None, "ATC1001", TypeError),
    ],
    ids=str,
)
def test_what_is_no_model_is_refused(model: Any, code: str, kind: type[Exception]) -> None:
    with pytest.raises(AtcError) as caught:
        InferenceSession(model)
    assert caught.value.diagnostics[0].code.id == code
    assert isinstance(caught.value, kind)
    with pytest.raises(Exception):  # noqa: B017, PT011  (onnxruntime's own classes)
        onnxruntime.InferenceSession(model)


@pytest.mark.parametrize(
    ("option", "code"),
    [
        ({"soc": "nothing"}, "ATC1003"),
        ({"device": "nothing"}, "ATC7001"),
        ({"precision_mode": "nothing"}, "ATC1001"),
        ({"input_shape": {"q": (1,)}}, "ATC1002"),
        ({"input_shape": {"x": (1, 4)}}, "ATC1002"),
        ({"operator_list": "nothing"}, "ATC1001"),
    ],
    ids=str,
)
def test_bad_option_is_refused_by_the_constructor(option: Any, code: str) -> None:
    with pytest.raises(AtcError) as caught:
        InferenceSession(OPEN, **option)
    assert caught.value.diagnostics[0].code.id == code


def test_unknown_keyword_is_refused_and_those_of_onnxruntime_are_not() -> None:
    InferenceSession(OPEN, enable_fallback=0, disabled_optimizers=["x"], read_config_from_model=0)
    with pytest.raises(TypeError, match=r"Did you mean 'precision_mode'\?"):
        InferenceSession(OPEN, precison_mode="force_fp16")  # type: ignore[call-arg]


def test_texts_are_refused() -> None:
    from onnx import TensorProto, helper

    graph = helper.make_graph(
        [helper.make_node("Identity", ["x"], ["y"])],
        "texts",
        [helper.make_tensor_value_info("x", TensorProto.STRING, ["N"])],
        [helper.make_tensor_value_info("y", TensorProto.STRING, ["N"])],
    )
    imports = [helper.make_opsetid("", 13)]
    model = helper.make_model(graph, opset_imports=imports, ir_version=8)
    with pytest.raises(AtcError, match="string") as caught:
        InferenceSession(model.SerializeToString())
    assert caught.value.diagnostics[0].code.id == "ATC2006"
