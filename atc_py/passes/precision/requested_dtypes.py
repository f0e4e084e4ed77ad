"""The request of a precision mode for a node: dtypes by position, what it may narrow, its rule."""

from collections.abc import Callable, Iterator, Sequence

import msgspec

from atc_py.diag import KEPT_NARROWER, NO_16_BIT_KERNEL, Code
from atc_py.options.compile_options import PrecisionMode
from atc_py.passes.precision.controls import Custom
from atc_py.passes.precision.mix_lists import CUBE_LIST, MixList
from atc_py.system.structs import replace
from atc_py.tensor.dtypes import DType
from atc_py.text import Text

F16, BF16, F32 = DType.FLOAT16, DType.BFLOAT16, DType.FLOAT32
_CHANGED = frozenset({F16, BF16, F32})
"""The floats that modes change; float64 is never chosen for them nor they for it."""

SHORT = frozenset({F16, BF16})
"""The 16-bit floats."""

_TO_F16 = frozenset({(F32, F16), (BF16, F16)})
_TO_BF16 = frozenset({(F32, BF16)})
_TO_EITHER = _TO_F16 | _TO_BF16
_BIAS = 2

_MIXED_BF16 = PrecisionMode.ALLOW_MIX_PRECISION_BF16


class NodeTensors(msgspec.Struct, frozen=True):
    """A node as the rules see it."""

    op: str
    inputs: tuple[DType | None, ...]  # the model's own dtypes; None where an input is absent
    outputs: tuple[DType, ...]  # the model's own dtypes
    fixed: frozenset[int]  # inputs that keep their dtype in every mode: those read as numbers
    place: MixList  # the list that it is on in the mixed modes
    # what gives the node its first float input, by the order of the mixed modes, and the dtype of
    # that; or None
    before: tuple[str, DType] | None
    # the SoC family whose published lists decided `place`; "" where it was another
    list_of: str = ""

    @property
    def floats_alone(self) -> bool:
        data = [each for position, each in enumerate(self.inputs) if position not in self.fixed]
        return all(each is None or each.is_float for each in (*data, *self.outputs))

    @property
    def has_floats(self) -> bool:
        data = [each for position, each in enumerate(self.inputs) if position not in self.fixed]
        return any(each in _CHANGED for each in (*data, *self.outputs))


class DtypeRequest(msgspec.Struct, frozen=True):
    """Dtypes that are wanted."""

    inputs: tuple[DType, ...]  # by position; float32 stands where an input is absent
    outputs: tuple[DType, ...]  # by position
    rule: str  # why they are wanted, in a few words
    # pairs of a wanted dtype and a narrower one that the AI Core may take for it
    falls: frozenset[tuple[DType, DType]] = frozenset()
    short: bool = False  # only columns with 16-bit floats will do
    # dtypes of the first inputs for which no other may stand in
    exact_inputs: tuple[DType, ...] = ()
    exact_outputs: tuple[DType, ...] = ()  # dtypes of the first outputs likewise
    # the warning that is due where nothing meets this request, but a later one
    otherwise: Code | None = None


def requests(mode: PrecisionMode, node: NodeTensors) -> Iterator[DtypeRequest]:
    """Yield the dtypes `mode` requests for `node`; later ones are fallbacks."""
    if mode is PrecisionMode.FORCE_FP16:
        yield _all(node, F16, "force_fp16: floats become float16")
    elif mode is PrecisionMode.MUST_KEEP_ORIGIN_DTYPE:
        yield kept(node, "must_keep_origin_dtype: as in the model")
    elif mode is PrecisionMode.ALLOW_FP32_TO_FP16:
        yield _allow_fp16(node, mode.value)
    elif mode is PrecisionMode.ALLOW_FP32_TO_BF16:
        yield kept(node, Text("{mode}: as in the model, else bfloat16", mode=mode.value), _TO_BF16)
    elif mode in {PrecisionMode.FORCE_FP32, PrecisionMode.CUBE_FP16IN_FP32OUT}:
        yield from _force_fp32(node, mode.value)
    elif mode.is_mixed:
        yield from _mixed(node, mode)
    else:
        raise NotImplementedError(f"precision mode {mode.value} requests no dtypes here")


def kept(
    node: NodeTensors, rule: str, falls: frozenset[tuple[DType, DType]] = frozenset()
) -> DtypeRequest:
    return _request(node, lambda dtype: dtype, rule, falls)


def kept_if_possible(node: NodeTensors) -> Iterator[DtypeRequest]:
    """Yield the model's dtypes or wider ones; where none fits, those of allow_fp32_to_fp16.

    CANN takes the rule of allow_fp32_to_fp16 at once, which makes float16 of float32 on the cube;
    its guide says that the dtypes are kept, and that is what users of the option want.
    """
    yield replace(kept(node, "keep-dtype: as in the model"), otherwise=KEPT_NARROWER)
    yield kept(node, "keep-dtype: float16, since no other dtype is available", _TO_F16)


def customised(node: NodeTensors, asked: Custom, otherwise: DtypeRequest) -> DtypeRequest:
    """The user's dtypes, else those of `otherwise`; no float may be an integer.

    Where a dtype is given that the model's own cannot become, no column fits both.
    """
    inputs = _given(asked.inputs, node.inputs, otherwise.inputs)
    outputs = _given(asked.outputs, node.outputs, otherwise.outputs)
    rule = "customize-dtypes: as given"
    return DtypeRequest(
        inputs, outputs, rule, _TO_EITHER, exact_inputs=asked.inputs, exact_outputs=asked.outputs
    )


def _given(
    first: tuple[DType, ...], own: Sequence[DType | None], others: tuple[DType, ...]
) -> tuple[DType, ...]:
    """`first` where the model's own dtypes can become them, then the rest of `others`."""
    given = [
        want if mine is None or {want, mine} <= _CHANGED else mine
        for want, mine in zip(first, own, strict=False)
    ]
    return (*given, *others[len(given) :])


def _all(
    node: NodeTensors, dtype: DType, rule: str, falls: frozenset[tuple[DType, DType]] = frozenset()
) -> DtypeRequest:
    return _request(node, lambda each: dtype if each in _CHANGED else each, rule, falls)


def _allow_fp16(node: NodeTensors, mode: str) -> DtypeRequest:
    """Float32 becomes float16 on the cube; elsewhere it does where there is nothing else."""
    if node.op in CUBE_LIST:
        rule = Text("{mode}: float16 on the cube", mode=mode)
        return _request(node, lambda dtype: F16 if dtype is F32 else dtype, rule, _TO_F16)
    return kept(node, Text("{mode}: as in the model, else float16", mode=mode), _TO_F16)


def _force_fp32(node: NodeTensors, mode: str) -> Iterator[DtypeRequest]:
    """Yield float32 for vectors; for the cube 16 bits in and float32 out, else float32, else 16."""
    if node.op in CUBE_LIST and node.floats_alone:
        inputs = [F32 if each is None else (F16 if each is F32 else each) for each in node.inputs]
        inputs[_BIAS:] = [F32] * len(inputs[_BIAS:])
        rule = Text("{mode}: 16 bits into the cube, float32 out", mode=mode)
        yield DtypeRequest(tuple(inputs), (F32,) * len(node.outputs), rule)
    falls = frozenset[tuple[DType, DType]]() if node.place is MixList.BLACK else _TO_EITHER
    yield _all(node, F32, Text("{mode}: floats become float32", mode=mode), falls)


def _mixed(node: NodeTensors, mode: PrecisionMode) -> Iterator[DtypeRequest]:
    """Yield what lists ask: 16 bits for white, the model's for black, the producer's for gray."""
    narrow, falls = (BF16, _TO_BF16) if mode is _MIXED_BF16 else (F16, _TO_F16)
    template = "{mode}: {place} list of {of}" if node.list_of else "{mode}: {place} list"
    where = Text(template, mode=mode.value, place=node.place.value, of=node.list_of)
    if node.place is MixList.BLACK:
        yield kept(node, Text("{where}, as in the model", where=where))
    elif node.place is MixList.WHITE:
        if node.has_floats:
            request = _all(node, narrow, Text("{where}, {dtype}", where=where, dtype=narrow.value))
            yield replace(request, short=True, otherwise=NO_16_BIT_KERNEL)
            yield kept(
                node,
                Text(
                    "{where}, but without a kernel for {narrow}", where=where, narrow=narrow.value
                ),
            )
        else:
            yield kept(node, Text("{where}, but with integers, as in the model", where=where))
    elif node.before is not None:
        op, dtype = node.before
        yield _all(
            node,
            dtype,
            Text("{where}, {dtype} as {op} before it", where=where, dtype=dtype.value, op=op),
            falls,
        )
    elif mode is _MIXED_BF16:
        yield kept(node, Text("{where}, nothing before it, as in the model", where=where), falls)
    else:
        yield _allow_fp16(node, Text("{where}, nothing before it", where=where))


def _request(
    node: NodeTensors,
    change: Callable[[DType], DType],
    rule: str,
    falls: frozenset[tuple[DType, DType]],
) -> DtypeRequest:
    inputs: Sequence[DType] = [
        F32 if each is None else each if position in node.fixed else change(each)
        for position, each in enumerate(node.inputs)
    ]
    return DtypeRequest(tuple(inputs), tuple(map(change, node.outputs)), rule, falls)
