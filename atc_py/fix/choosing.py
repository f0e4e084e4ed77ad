"""The form of a node: of the rules that fit it, the one whose nodes take the least time.

The cost model proper looks at kernels, which a form has only once the whole model is compiled. Here
each node is a launch that reads its operands and writes its results once, and computes its products
on the cube; shares of the peak rates and the time of a launch are the expected ones of the cost
model. Views move nothing, and nodes whose operands are all constant are folded. It is good enough to
put forms in order; a report has the estimate of the compiled model.
"""

from collections.abc import Callable, Iterable, Sequence
from math import prod

from atc_py.cost.factors import expected_case
from atc_py.fix.context import RuleContext
from atc_py.fix.fixed import Unfit
from atc_py.fix.rule import FixRule
from atc_py.fix.unfit import UnfitError, begin_rule
from atc_py.onnx_graph.graph import OnnxGraph, OnnxNode, ValueType
from atc_py.onnx_graph.reading.history import history
from atc_py.onnx_graph.reading.tensors import dtype_of_element, element_of_dtype, known_type
from atc_py.onnx_graph.source import SourceNode
from atc_py.onnx_graph.typing.infer import infer_types
from atc_py.target import Soc
from atc_py.tensor.dtypes import DType


def has_defined_dtypes(node: SourceNode) -> bool:
    """True unless ONNX has no definition of a node's operator for the dtypes of its inputs.

    It has none, either, where an input that is not optional is absent; dtypes that are not known
    are taken for ones that it has. Operators that ONNX does not have are those of other domains,
    and of onnxruntime, which also has some at older opsets than ONNX does, such as
    LayerNormalization; these are judged by ONNX's first definition.
    """
    versions = () if node.domain else history().versions(node.op_type)
    if not versions:
        return True
    schema = history().at(node.op_type, node.opset) or versions[0]
    shared: dict[str, str] = {}
    for position, tensor in enumerate(node.inputs):
        formal = schema.input_at(position)
        if tensor is None and formal is not None and not formal.optional:
            return False
        if tensor is None or tensor.dtype is None or formal is None:
            continue
        dtype = tensor.dtype.value
        if dtype not in formal.elements:
            return False
        if not formal.variadic and shared.setdefault(formal.type_name, dtype) != dtype:
            return False
    return True


_VIEWS = frozenset({"Flatten", "Identity", "Reshape", "Squeeze", "Unsqueeze"})
# Multiplications of float16 in a cycle of one core's cube.
_CUBE_CYCLE = 16**3

# Bytes of a float on the device, which computes in float16 unless told otherwise.
_FLOAT_BYTES = 2


def form_seconds(ctx: RuleContext, graph: OnnxGraph, soc: Soc) -> float:
    """The time of the nodes that a rule wrote for a node of `graph`, on one SoC."""
    form = _graph_of(ctx, graph)
    infer_types(form)
    constant = set(form.consts)
    seconds = 0.0
    for node in form.nodes:
        if constant.issuperset(node.reads):
            constant.update(node.writes)
        elif node.op_type not in _VIEWS:
            seconds += _node_seconds(form, node, soc)
    return seconds


def _graph_of(ctx: RuleContext, graph: OnnxGraph) -> OnnxGraph:
    made = {name for node in ctx.made for name in node.writes}
    read = dict.fromkeys(name for node in ctx.made for name in node.reads)
    around = [name for name in read if name not in made and name not in ctx.consts]
    inputs = {name: graph.types.get(name) or graph.inputs.get(name) for name in around}
    inputs.update(
        (tensor.name, ValueType(element_of_dtype(tensor.dtype), tensor.dims))
        for tensor in ctx.node.inputs
        if tensor is not None and tensor.dtype is not None and tensor.name in inputs
    )
    consts = {name: graph.consts[name] for name in around if name in graph.consts}
    return OnnxGraph(
        path=graph.path,
        opsets=graph.opsets,
        nodes=ctx.made,
        inputs={
            name: known
            for name, known in inputs.items()
            if known is not None and name not in consts
        },
        outputs=(),
        consts={**consts, **ctx.consts},
    )


def _node_seconds(form: OnnxGraph, node: OnnxNode, soc: Soc) -> float:
    factors = expected_case(soc).factors
    hertz = soc.mhz * 1e6
    moved = sum(_nbytes(form, name) for name in (*node.reads, *node.writes))
    memory = moved / (soc.gm_read * soc.aicores * hertz * factors.bandwidth)
    cube = _products(form, node) / (_CUBE_CYCLE * soc.aicores * hertz * factors.cube)
    return factors.launch + max(memory, cube)


def _nbytes(form: OnnxGraph, name: str) -> int:
    """The bytes of a value on the device; 0 where its dims are open."""
    known = known_type(form, name)
    if known is None or known.shape is None:
        return 0
    dtype = dtype_of_element(known.element)
    narrow = dtype in {None, DType.FLOAT32, DType.FLOAT64}
    return prod(known.shape) * (_FLOAT_BYTES if narrow or dtype is None else dtype.itemsize)


def _products(form: OnnxGraph, node: OnnxNode) -> int:
    found = (form.static_shape(name) for name in node.input_names[:2])
    shapes = [shape for shape in found if shape is not None]
    result = form.static_shape(node.output_names[0])
    if len(shapes) < 2 or result is None:  # noqa: PLR2004  (two operands)
        return 0
    if node.op_type == "Conv":
        return prod(result) * prod(shapes[1][1:])
    if node.op_type == "ConvTranspose":
        return prod(shapes[0]) * prod(shapes[1][1:])
    if node.op_type in {"Gemm", "MatMul"}:
        return prod(result) * (shapes[0][-1] if shapes[0] else 1)
    return 0


_NO_SUCH_DTYPES = "ONNX defines the operator for the dtypes of its inputs"
_NOT_SOUND = "the node keeps to ONNX's definition"


def fitting_forms(
    node: SourceNode,
    rules: Iterable[FixRule],
    open_context: Callable[[], RuleContext],
    misfits: list[Unfit],
) -> dict[RuleContext, FixRule]:
    """The forms that rules which fit have written, each with its rule; rules that are `last` only where no other does.

    None fits a node that ONNX does not define: there is nothing that its form would be equal to.
    Each rule gets a context in which nothing is written; `misfits` gains the rules that do not fit.
    """
    begin_rule()
    if not has_defined_dtypes(node):
        misfits += [_misfit(rule, node, UnfitError(_NO_SUCH_DTYPES)) for rule in rules]
        return {}
    results: dict[RuleContext, FixRule] = {}
    for rule in rules:
        if rule.last and results:
            break
        ctx = open_context()
        begin_rule()
        try:
            ctx.results = rule.write(ctx)
        except UnfitError as error:
            if error.reason.en:
                misfits.append(_misfit(rule, node, error))
        except (ArithmeticError, LookupError, TypeError, ValueError):
            # Lists of other lengths than the axes, strides of 0, scales that are infinite, shapes that
            # are numbers: the check has findings on them.
            misfits.append(_misfit(rule, node, UnfitError(_NOT_SOUND)))
        else:
            results[ctx] = rule
            if rule.last:
                break
    return results


def _misfit(rule: FixRule, node: SourceNode, error: UnfitError) -> Unfit:
    return Unfit(rule, node, error.reason, error.unbounded, error.held)


def cheapest(forms: Sequence[RuleContext], graph: OnnxGraph, soc: Soc) -> RuleContext:
    if len(forms) == 1:
        return forms[0]
    return min(forms, key=lambda form: form_seconds(form, graph, soc))
