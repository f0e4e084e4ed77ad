"""Rules of tensors with several layouts: dims by the rank, and conditions on the rank."""

import pytest

from atc_py.check.condition_words import predicate_of, when_words
from atc_py.check.conditions import ask
from atc_py.check.reading import State
from atc_py.onnx_graph.source import SourceTensor
from atc_py.options.compile_options import PrecisionMode
from atc_py.spec.implied import rules_of
from atc_py.spec.loader import parse_spec
from atc_py.spec.rule import DimIs, OfRank, When
from atc_py.spec.rules import DimInRange, DtypeAmong, RankInRange
from atc_py.tensor.dtypes import DType
from tests.check.bound_nodes import NO_RANK, bound, said, tensor

SPEC = parse_spec(
    """\
op: Deep
opsets: [13]
summary: {en: A demo, zh: 示例}
inputs:
  - {name: X, dtypes: [float16, float32], layouts: [NCHW, NCDHW]}
outputs:
  - {name: Y, dtypes: same_as X}
""",
    "op_specs/demo/deep.yaml",
)
IMAGE, VOLUME = tensor(1, 2, 3, 4), tensor(1, 2, 9, 3, 4)


def test_layouts_imply_their_ranks() -> None:
    (rule,) = [rule for rule in rules_of(SPEC) if isinstance(rule, RankInRange)]
    assert (rule.tensor, rule.range) == ("X", (4, 5))
    assert SPEC.inputs[0].has_rank(5)
    assert not SPEC.inputs[0].has_rank(3)


@pytest.mark.parametrize(
    ("dim", "x", "wanted"),
    [
        ("W", IMAGE, "fails: 4, X is 1x2x3x4"),
        ("W", VOLUME, "fails: 4, X is 1x2x9x3x4"),
        ("D", VOLUME, "fails: 9, X is 1x2x9x3x4"),
        ("D", IMAGE, "holds"),
        ("W", tensor(1, 2, 3), "holds"),
        ("H", tensor(1, 2, 9, 3, 4), "holds"),
    ],
)
def test_letters_are_those_of_the_ranks_layout(dim: str, x: SourceTensor, wanted: str) -> None:
    found = said(DimInRange(tensor="X", dim=dim, range=(1, 3)), bound(SPEC, X=x))
    assert found.split(",")[0].split(" (")[0] == wanted.split(",", maxsplit=1)[0]


def state(when: When, x: SourceTensor) -> State:
    """Return the state of a rule that no tensor of float32 keeps where dtypes are kept."""
    rule = DtypeAmong(tensor="X", dtypes=(DType.FLOAT16,), when=when)
    node = bound(SPEC, mode=PrecisionMode.MUST_KEEP_ORIGIN_DTYPE, X=x)
    return ask(rule, predicate_of(DtypeAmong), node).state


def test_rule_for_a_rank_is_asked_of_that_rank() -> None:
    when = When(ranks=(OfRank(tensor="X", rank=5),))
    assert state(when, VOLUME) is State.FAILS
    assert state(when, IMAGE) is State.HOLDS
    assert state(when, NO_RANK) is State.UNKNOWN
    assert when_words(when).en == "X has rank 5"
    assert when_words(when).zh == "X 的秩为 5"


def test_condition_on_a_dim_counts_axes_of_the_ranks_layout() -> None:
    for dim, x, wanted in (
        ("W", IMAGE, State.FAILS),
        ("W", VOLUME, State.FAILS),
        ("H", VOLUME, State.HOLDS),
    ):
        when = When(dims=(DimIs(tensor="X", dim=dim, equals=4),))
        assert state(when, x) is wanted


def test_precision_mode_may_give_a_dtype_among_those() -> None:
    rule = DtypeAmong(tensor="X", dtypes=(DType.FLOAT16,))
    assert said(rule, bound(SPEC, X=VOLUME)) == "holds"
    kept = bound(SPEC, mode=PrecisionMode.MUST_KEEP_ORIGIN_DTYPE, X=VOLUME)
    assert said(rule, kept) == "fails: float32"
    assert said(rule, bound(SPEC, X=tensor(1, 2, 3, 4, 5, element="int8"))) == "fails: int8"
