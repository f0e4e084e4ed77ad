"""Tables of msprof: names of columns of all releases, marks, damage."""

from pathlib import Path

import pytest

from atc_py.cost import msprof_tables
from atc_py.cost.msprof_tables import read_kernels
from atc_py.diag import AtcError

GENERATIONS = {
    "2022": (("Model Name,Model ID,Task ID,Stream ID,Infer ID,Op Name,OP Type,Task Type,Task Start Time,"
             "Task Duration(us),Task Wait Time(us),Block Dim"),
             "net,1,{task},1,0,{name},Conv2D,AI_CORE,100.5,{time},1.5,8"),
    "2024": (("Device_id,Model ID,Task ID,Stream ID,Op Name,OP Type,OP State,Task Type,Task Start Time(us),"
             "Task Duration(us),Task Wait Time(us),Block Dim,Mix Block Dim"),
             '0,1,{task},1,{name},Conv2D,static,AI_CORE,"1736413971558972.912\t",{time},1.5,8,0'),
    "2026": (("Device_id,Model ID,Task ID,Stream ID,Op Name,OP Type,OP State,Task Type,Task Start Time(us),"
             "Task Duration(us),Task Wait Time(us),Block Num,Mix Block Num"),
             "0,1,{task},1,{name},Conv2D,static,AI_CORE,1788186112069418.015\t,{time},1.5,8,0"),
    "torch": (("Step Id,Model ID,Task ID,Stream ID,Name,Type,Accelerator Core,Start Time(us),Duration(us),"
              "Wait Time(us),Block Dim"),
              "2,1,{task},1,{name},Conv2D,AI_CORE,1.5\t,{time},1.5,8"),
}  # fmt: skip


def table(folder: Path, text: str) -> Path:
    path = folder / "op_summary_0.csv"
    path.write_text(text)
    return path


def test_kernels_are_medians_without_the_first_execution(tmp_path: Path) -> None:
    for head, row in GENERATIONS.values():
        rows = [
            row.format(name=name, task=task, time=time)
            for time in ("900", "10", "30", "20")
            for task, name in enumerate(("/conv", "/relu"))
        ]
        done = read_kernels([table(tmp_path, "\n".join([head, *rows]))])
        first = done.kernels[0]
        assert [each.name for each in done.kernels] == ["/conv", "/relu"]
        assert (first.op, first.unit, first.executions, first.blocks) == ("Conv2D", "AI_CORE", 4, 8)
        spread = pytest.approx((10e-6, 20e-6, 30e-6))
        assert (first.least, first.seconds, first.most) == spread
        assert done.seconds == pytest.approx(40e-6)
        assert done.waits == pytest.approx(1.5e-6)


def test_ops_alone_are_left_out_beside_a_model_and_odd_rows_are_counted(tmp_path: Path) -> None:
    head = "Model ID,Task ID,Op Name,OP Type,Task Duration(us),Output Shapes,Output Data Types"
    rows = [
        '1,1,a,Relu,2,"""1,16;2""",DT_BF16;INT8',
        "4294967295,2,aclnnX,Relu,2,N/A,N/A",
        "1,3,b,Relu,AI_CORE,N/A,N/A",
        "1,4,N/A,Relu,2,N/A,N/A",
    ]
    done = read_kernels([table(tmp_path, "\n".join([head, *rows]))])
    assert [each.name for each in done.kernels] == ["a"]
    assert done.kernels[0].outputs[:2] == ("1,16;2", "DT_BF16;INT8")
    assert done.left_out == 1


def test_damage_is_a_coded_error(tmp_path: Path) -> None:
    damaged = {
        "no column op name": "a,b\n1,2\n",
        "more than 1048576 bytes": "Op Name,Task Duration(us)\n" + "a" * (1 << 20) + "\n",
        "not text": "Op Name,Task Duration(us)\n\0\n",
        "not CSV": 'Op Name,Task Duration(us)\n"' + "a\n" * 100_000,
    }
    for words, text in damaged.items():
        with pytest.raises(AtcError) as error:
            read_kernels([table(tmp_path, text)])
        assert error.value.diagnostics[0].code.name == "bad-board-table"
        assert words in error.value.diagnostics[0].message


@pytest.mark.parametrize("name", ["ROWS", "KERNELS"])
def test_rows_and_kernels_are_counted_over_all_tables(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(msprof_tables, f"MOST_{name}", 5)
    head, row = GENERATIONS["2026"]
    paths = [tmp_path / "op_summary_0.csv", tmp_path / "op_summary_1.csv"]
    for at, path in enumerate(paths):
        rows = [row.format(task=task, name=f"k{at}", time=2) for task in range(3)]
        path.write_text("\n".join([head, *rows]))
    assert len(read_kernels(paths[:1]).kernels) == 3
    with pytest.raises(AtcError, match=f"more than 5 {name.lower()}"):
        read_kernels(paths)
