"""ONNX's back end interface on the simulated device."""

import gc
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx.backend.base
import pytest
from onnx import helper

from atc_py import backend
from atc_py.diag import AtcError
from atc_py.diag.codes import BAD_OPTION, BAD_RUN_INPUT
from tests.check.checks import residual_network
from tests.end_to_end import run_with_onnxruntime
from tests.onnx_graph import onnx_files

IMAGE = np.random.default_rng(0).standard_normal((1, 3, 8, 8), dtype=np.float32)
KEEP = {"precision_mode": "must_keep_origin_dtype"}


def close(found: Any, expected: Any) -> None:
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-6 * np.abs(expected).max())


def test_it_is_a_back_end_of_onnx() -> None:
    assert issubclass(backend.AtcBackend, onnx.backend.base.Backend)
    assert issubclass(backend.AtcBackendRep, onnx.backend.base.BackendRep)
    assert backend.supports_device("CPU")
    assert backend.supports_device("CPU:0")
    assert not backend.supports_device("CUDA")


@pytest.mark.parametrize("form", [lambda x: {"x": x}, lambda x: [x], lambda x: x])
def test_model_takes_inputs_in_every_form(form: Callable[[Any], Any]) -> None:
    model = residual_network(13)
    (found,) = backend.run_model(model, form(IMAGE), **KEEP)
    close(found, run_with_onnxruntime(model, {"x": IMAGE})["y"])


def test_prepared_model_runs_again_and_leaves_no_files() -> None:
    prepared = backend.prepare(residual_network(13), "CPU", **KEEP)
    folder = prepared.folder
    first, second = prepared.run([IMAGE]), prepared.run([IMAGE])
    np.testing.assert_array_equal(first[0], second[0])
    assert folder.exists()
    del prepared
    gc.collect()
    assert not folder.exists()


def test_node_runs_by_itself() -> None:
    node = helper.make_node("Add", ["a", "b"], ["c"])
    a, b = np.arange(6, dtype=np.int32).reshape(2, 3), np.ones(3, np.int32)
    (found,) = backend.run_node(node, [a, b])
    np.testing.assert_array_equal(found, a + b)
    (stated,) = backend.run_node(node, [a, b], outputs_info=[(np.dtype(np.int32), (2, 3))])
    np.testing.assert_array_equal(stated, found)


def test_compatible_is_what_the_list_has() -> None:
    assert backend.AtcBackend.is_compatible(residual_network(13))
    assert not backend.AtcBackend.is_compatible(residual_network(13), "CUDA")
    other = onnx_files.model(
        [helper.make_node("Mish", ["x"], ["y"])], {"x": (1, [2])}, ["y"], opsets={"": 18}
    )
    assert not backend.AtcBackend.is_compatible(other)


def test_other_device_and_wrong_number_of_inputs_are_refused() -> None:
    with pytest.raises(AtcError) as caught:
        backend.prepare(residual_network(13), "CUDA")
    assert caught.value.diagnostics[0].code is BAD_OPTION
    with pytest.raises(AtcError) as caught:
        backend.run_model(residual_network(13), [IMAGE, IMAGE])
    assert caught.value.diagnostics[0].code is BAD_RUN_INPUT
