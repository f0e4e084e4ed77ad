"""A host with the stand-in: its environment, and kits that run on it."""

import os
import stat
import subprocess
import sys
from pathlib import Path

FOLDER = Path(__file__).resolve().parent
ROOT = FOLDER.parents[2]
PROGRAMS = {"atc": "compiler", "msprof": "profiler"}

NPU_SMI = """\
+------------------------------------------------------------------------------------------------+
| npu-smi 23.0.rc3                 Version: 23.0.rc3                                             |
+---------------------------+---------------+----------------------------------------------------+
| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|
| Chip                      | Bus-Id        | AICore(%)   Memory-Usage(MB)                       |
+===========================+===============+====================================================+
| 0     {chip:<20}| OK            | 15.8        42                0    / 0             |
| 0                         | 0000:C1:00.0  | 0           1853 / 21527                           |
+===========================+===============+====================================================+
"""


class Host:
    """A folder with commands of CANN in `bin` and the module acl.

    Attributes:
        variables: environment of programs there.
    """

    def __init__(
        self,
        folder: Path,
        *,
        soc: str = "Ascend310P3",
        cann: str = "2024",
        fault: str = "",
        python: str = sys.executable,
        bench: bool = False,
    ) -> None:
        commands = folder / "bin"
        commands.mkdir(parents=True)
        for name, program in PROGRAMS.items():
            line = f"PYTHONPATH={ROOT} exec {sys.executable} -m tests.board.standin.{program}"
            _script(commands / name, f'{line} "$@"')
        chip = soc.removeprefix("Ascend")
        table = folder / "npu-smi.txt"
        table.write_text(NPU_SMI.format(chip=chip))
        _script(commands / "npu-smi", f'[ "$#" = 1 ] && cat {table}')
        home = folder / "home"
        home.mkdir()
        toolkit = folder / "toolkit"
        (toolkit / "x86_64-linux").mkdir(parents=True)
        info = "package_name=Ascend-cann-toolkit\nversion=8.0.0\narch=x86_64\n"
        (toolkit / "x86_64-linux" / "ascend_toolkit_install.info").write_text(info)
        self.python = python
        self.variables = {
            "PATH": f"{commands}:/usr/bin:/bin",
            "PYTHONPATH": f"{FOLDER / 'python'}{f':{FOLDER}/tools' if bench else ''}",
            "HOME": str(home),
            "ASCEND_TOOLKIT_HOME": str(toolkit),
            "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", str(Path.home() / ".cache")),
            "STANDIN_PYTHON": sys.executable,
            "STANDIN_ROOT": str(ROOT),
            "STANDIN_SOC": soc,
            "STANDIN_CANN": cann,
            "STANDIN_FAULT": fault,
            "OPENBLAS_NUM_THREADS": "1",
        }

    def run(self, kit: Path, *words: str) -> subprocess.CompletedProcess[str]:
        """Run a kit's script."""
        return subprocess.run(
            [self.python, "run_on_board.py", *words],
            cwd=kit,
            env=self.variables,
            capture_output=True,
            text=True,
            check=False,
        )


def _script(path: Path, line: str) -> None:
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)


def without(host: Host, name: str) -> None:
    """Take a command away, or the module acl."""
    if name == "acl":
        host.variables.pop("PYTHONPATH")
    else:
        Path(host.variables["PATH"].partition(":")[0], name).unlink()


def with_atc(host: Host, line: str) -> None:
    """Let one line of shell be atc."""
    _script(Path(host.variables["PATH"].partition(":")[0], "atc"), line)


EMPTY_OM = 'for word; do case $word in --output=*) : > "${word#*=}.om";; esac; done'
"""An atc that writes an empty file, for steps that never load it."""
