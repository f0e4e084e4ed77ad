"""The convention of biases in a file of the deploy form: how it is found, and the mark for it.

A file with AscendQuant, layers on int8 and AscendDequant does not show whether its int32 biases
have the offset of the data in them. Those of AMCT and of atc-py do not; those of atc-py from before
it wrote the mark do.
"""

from collections.abc import Iterator

from onnx import GraphProto, ModelProto, NodeProto

from atc_py.onnx_graph.source import BiasConvention, BiasSource
from atc_py.onnx_graph.typing.rules.quantized import ASCEND_OPERATORS
from atc_py.options.compile_options import QuantBias

MARK = "atc_py.quant_bias"
"""The key among the model's metadata whose value is the convention's name."""

PRODUCER = "atc-py"
"""The producer of files that atc-py writes."""

_FORMS = {each.value: each for each in QuantBias}


def bias_convention(proto: ModelProto, asked: QuantBias | None = None) -> BiasConvention | None:
    """The convention of the biases in a model; None if it is not in the deploy form.

    Args:
        proto: the model.
        asked: what the user says; None leaves it to the file.
    """
    if not any(node.op_type in ASCEND_OPERATORS for node in _all_nodes(proto.graph)):
        return None
    if asked is not None:
        return BiasConvention(asked, BiasSource.OPTION)
    marks = (entry.value for entry in proto.metadata_props if entry.key == MARK)
    marked = _FORMS.get(next(marks, ""))
    if marked is not None:
        return BiasConvention(marked, BiasSource.MARK)
    if proto.producer_name == PRODUCER:
        return BiasConvention(QuantBias.FOLDED, BiasSource.PRODUCER)
    return BiasConvention(QuantBias.UNFOLDED, BiasSource.ASSUMED)


def _all_nodes(graph: GraphProto) -> Iterator[NodeProto]:
    graphs = [graph]
    while graphs:
        for node in graphs.pop().node:
            yield node
            for attribute in node.attribute:
                graphs += [attribute.g] if attribute.HasField("g") else []
                graphs += attribute.graphs
