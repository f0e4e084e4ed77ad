"""Random graphs through all passes: stored as the passes planned it, they give the same bits."""

from hypothesis import HealthCheck, given, settings

from atc_py.ir.parser import parse_graph
from atc_py.options.compile_options import PrecisionMode
from atc_py.passes.base import PassContext
from atc_py.passes.manager import run_passes
from atc_py.target import find_soc
from atc_py.tensor.dtypes import DType
from tests.device.models import random_array
from tests.device.stored_models import model_of, run_both
from tests.passes.test_storage_is_cheapest import graphs
from tests.sampling import examples


@given(graphs())
@settings(examples(80), suppress_health_check=[HealthCheck.too_slow])
def test_random_graph_gives_the_same_bits_in_its_storage(text: str) -> None:
    graph = parse_graph(text)
    run_passes(graph, PassContext(find_soc("sim"), PrecisionMode.FORCE_FP16, "model.onnx"))
    assert graph.memory is not None
    feeds = {
        value.name: random_array(at, value.type.shape, DType.FLOAT16)
        for at, value in enumerate(graph.inputs)
    }
    run_both(model_of(graph), feeds)
