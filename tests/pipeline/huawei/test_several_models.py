"""Files with several models: `info` lists them, `diff` pairs them, a command that needs one takes a name."""

from pathlib import Path

import numpy as np
import pytest

import atc_py
from atc_py.compare.offline.diff import diff_models
from atc_py.diag import AtcError
from atc_py.package.ge.model import open_huawei
from atc_py.pipeline.huawei_facts import huawei_facts
from tests.fuzz.trial import run_command
from tests.package.ge.om_files import Partitions, om_file
from tests.pipeline.huawei.small_models import SmallModel, Tensor, halves


def one_operator(name: str, operator: str) -> Partitions:
    made = SmallModel(name=name)
    made.names.on = False
    made.input("x", Tensor((2, 4)))
    made.launch("a", operator, ["x"], Tensor((2, 4)), {}, ["node"], operands=["x"])
    made.output("a", "y")
    return made.partitions()


def several(path: Path, *models: Partitions) -> Path:
    path.write_bytes(om_file(*models))
    return path


def bundle(path: Path, *models: Partitions) -> Path:
    path.write_bytes(om_file([(24, om_file(each)) for each in models], model_type=5))
    return path


@pytest.fixture(params=[several, bundle])
def pair(tmp_path: Path, request: pytest.FixtureRequest) -> Path:
    write = request.param
    path: Path = write(
        tmp_path / "m.om", one_operator("first", "Relu"), one_operator("other", "Abs")
    )
    return path


def test_model_is_named_by_position_or_name(pair: Path, tmp_path: Path) -> None:
    with open_huawei(pair) as file:
        names = [model.name for model in huawei_facts(file).models]
    position = str(names.index("other"))
    x = halves(24, 2, 4)
    for submodel in ("other", position):
        with atc_py.load(pair, submodel=submodel) as model:
            np.testing.assert_array_equal(model.run({"x": x})["y"], np.abs(x))
    assert atc_py.profile_model(pair, submodel="first").costs[0].kernels[0].op == "Relu"
    done = atc_py.export_model(pair, tmp_path / "o.onnx", submodel="first")
    assert done.operators == {"Relu": 1}
    for command in ("run", "profile", "kernels", "export", "report"):
        more = ["--random", "1"] if command == "run" else []
        target = {"export": "y.onnx", "report": "y.html"}.get(command)
        more += ["-o", str(tmp_path / target)] if target else []
        assert run_command(command, str(pair), "--model", position, *more).status == 0, command


def test_choice_is_asked_for(pair: Path) -> None:
    with pytest.raises(AtcError, match=r"it has 2 models: . first, . other") as raised:
        atc_py.load(pair)
    assert "--submodel" in (raised.value.diagnostics[0].help or "")
    with pytest.raises(AtcError, match=r"it has no model '7'; it has . first, . other"):
        atc_py.load(pair, submodel="7")


def test_submodel_of_another_file_is_refused(tmp_path: Path) -> None:
    with pytest.raises(AtcError, match="--submodel applies to files of Huawei's atc"):
        atc_py.load(tmp_path / "none.om", submodel="1")


def test_models_of_two_files_are_paired_by_name(pair: Path, tmp_path: Path) -> None:
    other = several(tmp_path / "o.om", one_operator("other", "Abs"), one_operator("first", "Exp"))
    found = diff_models(pair, other)
    assert found.score == 0.5
    (differing,) = (group for group in found.launches if group.differs)
    assert differing.first[0].nodes == ("first:node",)
