"""Networks of opsets 17 and 18 compile under --list cann-9.0 and agree with onnxruntime."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from tests.networks.builders.agreement import FLOAT16_MODES, expect_agreement
from tests.networks.builders.newer_opsets import build_resnet

if TYPE_CHECKING:
    from pathlib import Path

NEWER_LIST = "cann-9.0"
KEEP = "must_keep_origin_dtype"


@pytest.mark.parametrize("mode", [*FLOAT16_MODES, KEEP])
@pytest.mark.parametrize("opset", [17, 18])
def test_resnet_agrees_with_onnxruntime(opset: int, mode: str, tmp_path: Path) -> None:
    image = np.random.default_rng(3).standard_normal((1, 3, 32, 32)).astype(np.float32)
    expect_agreement(build_resnet(opset), [{"image": image}], mode, tmp_path, NEWER_LIST)
