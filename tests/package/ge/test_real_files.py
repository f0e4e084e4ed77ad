"""Files that releases of Huawei's atc wrote, beside the project: the facts that are known of each."""

import itertools
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from atc_py.ir import size_of_weights
from atc_py.package.ge.model import HuaweiModel, open_huawei
from atc_py.package.ge.tasks import elf_flags

REAL = Path(__file__).resolve().parents[3].parent / "shared" / "real"
LANENET = "lanenet_310B4_cann8.0.0.om"
VANILLA = "vanillacnn_310_2021.om"
GEMM_310, GEMM_910B = "gemm_310_cann5.1.RC1.om", "gemm_910B_cann7.0.0.om"

pytestmark = pytest.mark.skipif(not REAL.is_dir(), reason="files of other makers stay outside")


@pytest.fixture(params=[LANENET, VANILLA, GEMM_310, GEMM_910B])
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def model(name: str) -> Iterator[HuaweiModel]:
    with open_huawei(REAL / name) as file:
        (model,) = file.models
        yield model


VERSIONS = {
    LANENET: (0x20000000, True, "7.6.0.1.220", "Ascend310B4", "my_122_anenet_0"),
    VANILLA: (0x10000000, False, "1.75.22.0.220", "", "vanila_0"),
    GEMM_310: (0x20000000, False, "1.81.T11.0.B250", "", None),
    GEMM_910B: (0x20000000, True, "7.1.0.3.220", "Ascend910B", None),
}


def test_header_and_versions(name: str, model: HuaweiModel) -> None:
    version, wide, atc, soc, graph = VERSIONS[name]
    assert (model.header.version, model.header.is_wide) == (version, wide)
    assert model.header.platform_version == "1.11.z.0"
    assert model.attributes.text("atc_version") == atc
    assert model.attributes.text("soc_version") == soc
    assert model.definition is not None
    assert graph in {None, model.graphs[0].name}


COUNTS = {
    LANENET: (152, 129, 393, 410),
    VANILLA: (14, 14, 12, 17),
    GEMM_310: (1, 1, 0, 4),
    GEMM_910B: (1, 1, 0, 4),
}


def test_launches_kernels_constants_tasks(name: str, model: HuaweiModel) -> None:
    constants = [op for op in model.ops if op.type == "Const"]
    found = (len(model.launches), len(model.kernels), len(constants), len(model.tasks))
    assert found == COUNTS[name]


def test_constants_are_in_the_weights_one_after_the_other(model: HuaweiModel) -> None:
    spans = sorted(
        found[1] for op in model.ops if op.type == "Const" and (found := model.constant(op))
    )
    assert all(before.end <= after.start for before, after in itertools.pairwise(spans))
    starts = {span.start - spans[0].start for span in spans}
    assert all(start % 512 == 0 for start in starts)


def test_every_operand_has_its_place(model: HuaweiModel) -> None:
    for op in model.launches:
        for row in op.operands():
            assert (row.offset is None) == (row.edge is None) == row.desc.is_absent
            producer = None if row.edge is None else model.graphs[0].by_name[row.edge.producer]
            if producer is not None and not row.is_constant and row.edge is not None:
                assert producer.output_offsets[row.edge.output] == row.offset
                assert producer.outputs[row.edge.output].dims == row.desc.dims


def test_every_attribute_decodes(model: HuaweiModel) -> None:
    for op in model.ops:
        described = (*op.inputs, *op.outputs)
        for attributes in (op.attributes, *(desc.attributes for desc in described)):
            for key, value in attributes.items():
                assert key.isprintable(), key
                assert value is not None, key


def test_lanenet_launches_by_core() -> None:
    with open_huawei(REAL / LANENET) as file:
        launches = file.models[0].launches
        cores = Counter(op.attributes.text("_cube_vector_core_type") for op in launches)
        assert cores == {"AIC": 133, "AIV": 19}
        assert {op.attributes.number("tvm_blockdim") for op in launches} == {1}
        fused = [
            op for op in launches if len(op.attributes.texts("_datadump_original_op_names")) > 1
        ]
        assert any("FIXPIPEFUSIONPASS" in op.attributes.texts("pass_name") for op in fused)


def test_kernels_are_of_the_core(name: str, model: HuaweiModel) -> None:
    flags = {elf_flags(model.source, kernel) for kernel in model.kernels}
    assert flags == {{LANENET: 0x950000, GEMM_910B: 0x860000}.get(name, 0)}


def test_interface_states_plain_sizes() -> None:
    with open_huawei(REAL / LANENET) as file:
        interface = file.models[0].interface
        assert interface is not None
        assert [(port.name, port.dims, port.nbytes) for port in interface.inputs] == [
            ("input_image", (1, 3, 256, 512), 1572864)
        ]
        assert [port.name.rpartition(":")[2] for port in interface.outputs] == [
            "binary_logits",
            "instance_embedding",
        ]


def test_weights_take_what_the_graph_engine_gives_them(model: HuaweiModel) -> None:
    found = [model.constant(op) for graph in model.graphs for op in graph.ops if op.type == "Const"]
    sizes = [span.size for _, span in filter(None, found)]
    padding = 32 if model.header.is_wide else 0
    assert size_of_weights(sizes, 512, padding) == model.attributes.number("weight_size")
