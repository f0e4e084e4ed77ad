"""Formulas of one element: known to both devices, and the same in any memory."""

import numpy as np

from atc_py.device.formulas import FORMULAS
from atc_py.device.ort.body import EMULATIONS
from atc_py.device.sim.execution.parallel import ELEMENTS_AT_ONCE, Workers
from atc_py.device.sim.kernel import KERNELS, Call, Workspace, find_kernel
from atc_py.package.node_view import NodeView, TensorFacts
from atc_py.target import find_operator
from atc_py.target.row import AttributeValue
from atc_py.tensor.dtypes import DType
from tests.failures import in_one_item

SIZE = ELEMENTS_AT_ONCE + 3
"""Two blocks, the second one of few elements."""

CASES: list[tuple[str, dict[str, AttributeValue]]] = [
    ("Celu", {}),
    ("Elu", {"alpha": 0.3}),
    ("Elu", {"alpha": 2.0, "scale": -1.5, "input_scale": 0.5}),
    ("Erf", {}),
    ("GeluV2", {"approximate": "none"}),
    ("GeluV2", {"approximate": "tanh"}),
    ("HardSigmoid", {"alpha": 0.2, "beta": 0.5}),
    ("HardSwish", {}),
    ("LeakyRelu", {"negative_slope": 0.1}),
    ("LeakyRelu", {"negative_slope": -0.5}),
    ("Power", {"scale": 1.5, "shift": 0.2, "power": 0.5}),
    ("Selu", {}),
    ("Shrink", {"lambd": 0.5, "bias": 0.3}),
    ("Sigmoid", {}),
    ("Softplus", {}),
    ("Softsign", {}),
    ("Swish", {"scale": 1.702}),
    ("Threshold", {"threshold": 0.1}),
]


@in_one_item(("op", "attributes"), CASES)
def test_results_in_the_memory_of_x_have_the_same_bits(
    op: str, attributes: dict[str, AttributeValue]
) -> None:
    row, kernel = find_operator(op), find_kernel(op)
    assert row is not None
    assert kernel is not None
    defaults = {each.name: each.default for each in row.attributes if each.default is not None}
    facts = (TensorFacts(DType.FLOAT32, (SIZE,)),)
    node = NodeView(op, op, "aicore", facts, facts, {**defaults, **attributes})
    x = np.random.default_rng(3).normal(size=SIZE).astype(np.float32) * 4
    x[:6] = 0, -0.0, np.inf, -np.inf, np.nan, 1
    before, apart = x.copy(), np.empty_like(x)
    with np.errstate(all="ignore"):
        kernel.launch(Call(node, (x,), (apart,), Workspace(), Workers(1)))()
        np.testing.assert_array_equal(x.view(np.uint32), before.view(np.uint32))
        kernel.launch(Call(node, (x,), (x,), Workspace(), Workers(1)))()
    np.testing.assert_array_equal(x.view(np.uint32), apart.view(np.uint32))


def test_every_formula_is_used_by_both_devices() -> None:
    assert FORMULAS.keys() <= KERNELS.all().keys()
    assert FORMULAS.keys() <= EMULATIONS.all().keys()
