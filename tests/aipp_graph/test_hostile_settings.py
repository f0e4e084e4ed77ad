"""Offline models whose AIPP settings are not what they should be: refused with the attribute."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

import atc_py
from atc_py.diag import AtcError
from atc_py.diag.codes import OM_CONTENT
from atc_py.package.reader import open_model
from atc_py.package.schema import OmModel
from atc_py.results.picture_inputs import picture_inputs
from tests.aipp_graph.networks import NV12, config, network


@pytest.fixture
def description(tmp_path: Path) -> OmModel:
    """Return the description of a sound model."""
    om = tmp_path / "a.om"
    atc_py.convert(network(tmp_path / "m.onnx"), om, aipp=config(tmp_path, NV12))
    with open_model(om) as package:
        return package.description


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("matrix", "298"),
        ("matrix", [1, 2, 3]),
        ("min_chn", [1.0, "2", 3.0, 4.0]),
        ("src_image_size_w", 2.5),
        ("input_format", 3),
        ("padding_value", "0"),
    ],
)
def test_attribute_of_another_type_is_refused(name: str, value: Any, description: OmModel) -> None:
    nodes = [
        msgspec.structs.replace(node, attributes={**node.attributes, name: value})
        if node.op == "Aipp"
        else node
        for node in description.nodes
    ]
    with pytest.raises(AtcError) as caught:
        picture_inputs(msgspec.structs.replace(description, nodes=nodes))
    (found,) = caught.value.diagnostics
    assert found.code is OM_CONTENT
    assert name in found.message


def test_whole_numbers_are_floats_too(description: OmModel) -> None:
    """JSON writes 0.0 as 0."""
    (found,) = picture_inputs(description)
    assert found.settings.var_reci_chn[3] == 1
