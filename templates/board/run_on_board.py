#!/usr/bin/env python3
"""Run a kit of atc-py on a host with CANN and an NPU, and pack what comes out of it.

    source /usr/local/Ascend/ascend-toolkit/set_env.sh
    python3 run_on_board.py

It needs Python 3.7 or later with numpy, `atc`, the module `acl` and, for times, `msprof`: all but numpy
come with CANN. It writes to the folder `results` beside it and to `results.zip`, the file to send back,
and nowhere else. Each step is a process of its own, and its command is printed before it runs. Called
again, it goes on where it stopped: what is done is kept, what failed is tried again.

Exit status: 0 all steps are done, 1 a step failed, 2 the call is wrong, 3 the host lacks something,
4 files of the kit are damaged, 130 interrupted. In all but 2 and 4 there is a results.zip.
"""

import argparse
import ctypes
import glob
import hashlib
import importlib.util
import json
import os
import platform
import re
import shlex
import shutil
import subprocess
import sys
import time
import zipfile
from typing import Any, Dict, Iterable, Iterator, List, NamedTuple, Optional, Sequence, Tuple

ROOT = os.path.dirname(os.path.abspath(__file__))
RESULTS = os.path.join(ROOT, "results")
STATE = os.path.join(RESULTS, "state.json")
ARCHIVE = os.path.join(ROOT, "results.zip")
KINDS = ("host", "atc", "om-json", "plain", "ais-bench", "dump", "msprof")
VERSION = 1

DONE, FAILED, USAGE, MISSING, DAMAGED, INTERRUPTED = 0, 1, 2, 3, 4, 130
STATUS_OF = {"failed": FAILED, "missing": MISSING}

NO_ACL = (
    "no module acl: source set_env.sh of CANN first, such as /usr/local/Ascend/ascend-toolkit/set_env.sh"
    " or /usr/local/Ascend/cann/set_env.sh, and use a Python that this CANN supports"
)
NO_TOOL = "no command {}: source set_env.sh of CANN first; a host with the runtime alone has none"
NO_NUMPY = "no module numpy in {}: install it, or call this script with a Python that has it"

CHINESE = {
    NO_ACL: "没有模块 acl：请先 source CANN 的 set_env.sh，例如 /usr/local/Ascend/ascend-toolkit/set_env.sh"
    " 或 /usr/local/Ascend/cann/set_env.sh，并使用该 CANN 支持的 Python",
    NO_TOOL: "没有命令 {}：请先 source CANN 的 set_env.sh；只装有运行时的主机没有该命令",
    NO_NUMPY: "{} 没有模块 numpy：请安装，或用装有 numpy 的 Python 运行本脚本",
    "done": "完成", "failed": "失败", "missing": "缺少组件", "skipped": "已跳过", "unknown": "未知",
    "manifest.json cannot be read: {}": "无法读取 manifest.json：{}",
    "manifest.json is of another version of kits than this script": "manifest.json 与本脚本的上板包版本不同",
    "the kit has no variant {}": "上板包中没有变体 {}",
    "the kit is damaged, unpack it again:": "上板包已损坏，请重新解压：",
    "warning: tools of CANN may not take the characters in {}": "警告：CANN 的工具可能不支持此路径中的字符：{}",
    "warning: this host has {}, the kit is for {}": "警告：本机是 {}，而上板包面向 {}",
    "steps have {} set, so that CANN writes to {} alone": "各步骤都设置了 {}，使 CANN 只写入 {}",
    "interrupted; call it again to go on": "已中断；再次运行即可继续",
    "send back {} ({} bytes)": "请发回 {}（{} 字节）",
    "[{}] done before": "[{}] 此前已完成",
    "[{}] done in {} s": "[{}] 完成，用时 {} 秒",
    "[{}] $ {}": "[{}] $ {}",
    "[{}] {}: {}": "[{}] {}：{}",
    "there is no .om: {} is not done": "没有 .om：{} 尚未完成",
    "it did not end within {} s": "在 {} 秒内没有结束",
    "it printed nothing": "没有任何输出",
    "exit status {}: {}": "退出码 {}：{}",
    "atc ended with 0 and wrote no .om: {}": "atc 返回 0，但没有写出 .om：{}",
    "atc ended with 0 and wrote no JSON: {}": "atc 返回 0，但没有写出 JSON：{}",
    "the program under msprof did not end: {}": "msprof 下的程序没有正常结束：{}",
    "msprof made no op_summary table; its raw data are packed": "msprof 没有生成 op_summary 表；已打包其原始数据",
    "the .om has {} inputs, the kit expects {}": ".om 有 {} 个输入，上板包应有 {} 个",
    "input {} of the .om takes {} bytes, the kit has {}": ".om 的输入 {} 为 {} 字节，上板包中为 {} 字节",
    "{} is missing": "{} 不存在",
    "{} is not the file that was packed": "{} 与打包时的文件不同",
    "{} cannot be written: {}": "无法写入 {}：{}",
    "{} returned {}": "{} 返回 {}",
}  # fmt: skip
"""What is printed, in Chinese; records, and what steps print to their consoles, are in English."""

HELP = {
    "print the commands and run none": "只打印命令，不运行",
    "number of the NPU (0)": "NPU 的编号（0）",
    "only this variant; may be repeated": "只运行该变体；可重复给出",
    "only steps of this kind; may be repeated": "只运行该类步骤；可重复给出",
    "run also what is done": "已完成的步骤也重新运行",
    "put the .om files into results.zip, too": "把 .om 文件也放入 results.zip",
    "time limit of a step (3600)": "单个步骤的时限（3600）",
    "dump statistics of tensors in place of their values: small, of CANN 8 and later, on some NPUs":
    "只 dump 张量的统计数据而不是数值：体积小，需要 CANN 8 及以后版本，仅部分 NPU 支持",
    __doc__: """在装有 CANN 和 NPU 的主机上运行 atc-py 的上板包，并打包结果。

    source /usr/local/Ascend/ascend-toolkit/set_env.sh
    python3 run_on_board.py

需要 Python 3.7 或更高版本和 numpy、`atc`、模块 `acl`，测量时间还需要 `msprof`：除 numpy 外都随 CANN 提供。
只写入同目录下的 `results` 和 `results.zip`（需要发回的文件）。每一步都是独立的进程，运行前会打印命令。
再次运行时从中断处继续：已完成的保留，失败的重试。

退出码：0 全部完成，1 有步骤失败，2 命令行有误，3 主机缺少所需组件，4 上板包的文件已损坏，130 被中断。
除 2 和 4 外都会生成 results.zip。
""",
}  # fmt: skip

LANGUAGE = "RUN_ON_BOARD_LANG"
"""Variable that decides the language before those of the locale; steps have it set to English."""


def speaks_chinese() -> bool:
    names = (LANGUAGE, "LC_ALL", "LC_MESSAGES", "LANG")
    return next((os.environ[name] for name in names if os.environ.get(name)), "").startswith("zh")


def in_chinese(text: str) -> str:
    """A text of this script in Chinese; what is none of them stays."""
    if text in CHINESE:
        return CHINESE[text]
    for english, chinese in CHINESE.items():
        if "{}" in english:
            pattern = "(.*?)".join(re.escape(part) for part in english.split("{}"))
            found = re.match(pattern + r"\Z", text, re.DOTALL)
            if found:
                return chinese.format(*(in_chinese(part) for part in found.groups()))
    return text


SHAPE_DATA = "ascend_mbatch_shape_data"
DTYPES = {
    0: "<f4", 1: "<f2", 2: "<i1", 3: "<i4", 4: "<u1", 6: "<i2", 7: "<u2", 8: "<u4", 9: "<i8",
    10: "<u8", 11: "<f8", 12: "|b1", 27: "<u2",
}  # fmt: skip
BFLOAT16 = 27
HUGE_FIRST, HOST_TO_DEVICE, DEVICE_TO_HOST, DEVICE_TO_DEVICE = 0, 1, 2, 3
WARM_UP = 1

VERSION_FILES = (
    "{home}/version.info", "{home}/version.cfg", "{home}/*-linux/ascend_toolkit_install.info",
    "{home}/*-linux/ascend_ops_install.info", "{home}/*-linux/ascend_nnrt_install.info",
    "/usr/local/Ascend/driver/version.info", "/usr/local/Ascend/firmware/version.info",
)  # fmt: skip
VARIABLES = (
    "ASCEND_TOOLKIT_HOME", "ASCEND_HOME_PATH", "ASCEND_OPP_PATH", "ASCEND_AICPU_PATH",
    "ASCEND_CUSTOM_OPP_PATH", "ASCEND_RT_VISIBLE_DEVICES", "ASCEND_GLOBAL_LOG_LEVEL",
)  # fmt: skip


class StepError(Exception):
    """A step that cannot be done; `state` is `failed` or `missing`."""

    def __init__(self, message: str, state: str = "failed") -> None:
        super().__init__(message)
        self.state = state


class Step(NamedTuple):
    """A step: `host`, `VARIANT/atc`, `VARIANT/plain/SAMPLE` and so on."""

    kind: str
    variant: str
    sample: str

    @property
    def name(self) -> str:
        return "/".join(part for part in (self.variant, self.kind, self.sample) if part)

    @property
    def folder(self) -> str:
        return os.path.join(RESULTS, *self.name.split("/"))


# ---------------------------------------------------------------------------------------------
# The kit


def read_manifest() -> Dict[str, Any]:
    with open(os.path.join(ROOT, "manifest.json"), encoding="utf-8") as file:
        manifest = json.load(file)
    if manifest.get("version") != VERSION:
        raise StepError("manifest.json is of another version of kits than this script")
    return manifest


def sha256_of(path: str) -> str:
    digest = hashlib.sha256()
    with open(path, "rb") as file:
        for block in iter(lambda: file.read(1 << 20), b""):
            digest.update(block)
    return digest.hexdigest()


def damaged_files(manifest: Dict[str, Any]) -> List[str]:
    """The files of the kit that are not there or not what was packed."""
    wrong = []
    for entry in manifest["files"]:
        path = os.path.join(ROOT, *entry["path"].split("/"))
        if not os.path.isfile(path):
            wrong.append(entry["path"] + " is missing")
        elif sha256_of(path) != entry["sha256"]:
            wrong.append(entry["path"] + " is not the file that was packed")
    return wrong


def variant_of(manifest: Dict[str, Any], name: str) -> Dict[str, Any]:
    return next(each for each in manifest["variants"] if each["name"] == name)


def sample_of(manifest: Dict[str, Any], name: str) -> Dict[str, Any]:
    return next(each for each in manifest["samples"] if each["name"] == name)


def planned_steps(
    manifest: Dict[str, Any], kinds: Sequence[str], variants: Sequence[str]
) -> Iterator[Step]:
    """Yield the steps in their order; of each variant all before the next one."""
    names = [each["name"] for each in manifest["samples"]]
    if "host" in kinds:
        yield Step("host", "", "")
    for variant in manifest["variants"]:
        if variants and variant["name"] not in variants:
            continue
        samples = {
            "atc": [""], "om-json": [""], "plain": names,
            "ais-bench": names[:1] if importlib.util.find_spec("ais_bench") else [],
            "dump": variant["dump"], "msprof": names[:1] if variant["executes"] else [],
        }  # fmt: skip
        for kind in KINDS[1:]:
            if kind in kinds:
                for sample in samples[kind]:
                    yield Step(kind, variant["name"], sample)


# ---------------------------------------------------------------------------------------------
# Commands


def output_of(variant: Dict[str, Any]) -> str:
    """The path that atc gets, without .om."""
    word = next(each for each in variant["atc"] if each.startswith("--output="))
    return os.path.join(ROOT, *word.partition("=")[2].split("/"))


def om_of(variant: Dict[str, Any]) -> str:
    """The .om that atc wrote; the path that it should have where there is none."""
    output = output_of(variant)
    found = sorted(glob.glob(glob.escape(output) + "*.om"))
    return found[0] if found else output + ".om"


def atc_words(variant: Dict[str, Any], model: str) -> List[str]:
    """The arguments of atc, paths of the kit made absolute."""
    words = []
    for word in variant["atc"]:
        name, equals, value = word.partition("=")
        if value == model or value.split("/")[0] in ("config", "results"):
            value = os.path.join(ROOT, *value.split("/"))
        words.append(name + equals + value)
    return words


def gear_words(manifest: Dict[str, Any], sample: Dict[str, Any]) -> List[str]:
    """Arguments of ais_bench that choose the gear of a sample."""
    gear = ",".join(str(number) for number in sample["gear"])
    if manifest["gears"] == "batch":
        return ["--dymBatch", gear]
    if manifest["gears"] == "image":
        return ["--dymHW", gear]
    if manifest["gears"] == "dims":
        dims, texts = list(sample["dims"]), []
        for port in manifest["inputs"]:
            rank = len(port["shape"])
            texts.append(port["name"] + ":" + ",".join(str(dim) for dim in dims[:rank]))
            dims = dims[rank:]
        return ["--dymDims", ";".join(texts)]
    return []


def own_command(step: Step, device: int, script: Optional[str] = None) -> List[str]:
    words = [sys.executable, script or os.path.join(ROOT, os.path.basename(__file__))]
    return [*words, "--device", str(device), "--child", step.kind, step.variant, step.sample]


def command_of(manifest: Dict[str, Any], step: Step, device: int) -> List[str]:
    if step.kind in ("host", "plain", "dump"):
        words = own_command(step, device)
        return [*words, "--statistics"] if manifest.get("statistics") else words
    variant = variant_of(manifest, step.variant)
    if step.kind == "atc":
        return ["atc", *atc_words(variant, manifest["model"])]
    if step.kind == "om-json":
        return [
            "atc",
            "--mode=1",
            "--om=" + om_of(variant),
            "--json=" + os.path.join(step.folder, "om.json"),
        ]
    if step.kind == "msprof":
        script = os.path.relpath(os.path.join(ROOT, os.path.basename(__file__)), step.folder)
        program = " ".join(own_command(step, device, script))
        return [
            "msprof",
            "--output=" + os.path.join(step.folder, "prof"),
            "--application=" + program,
        ]
    sample = sample_of(manifest, step.sample)
    files = [os.path.join(ROOT, *path.split("/")) for path in sample["inputs"]]
    return [
        sys.executable, "-m", "ais_bench", "--model", om_of(variant), "--input", ",".join(files),
        "--output", step.folder, "--output_dirname", "outputs", "--outfmt", "NPY", "--device", str(device),
        "--loop", str(manifest["repeats"]), "--warmup_count", str(WARM_UP),
        *gear_words(manifest, sample),
    ]  # fmt: skip


def environment_of(step: Step) -> Dict[str, str]:
    """Variables that keep files of CANN in the folder of the kit."""
    return {
        "ASCEND_PROCESS_LOG_PATH": os.path.join(step.folder, "plog"),
        "ASCEND_CACHE_PATH": os.path.join(RESULTS, "cache"),
        "TMPDIR": os.path.join(RESULTS, "tmp"),
        "PYTHONDONTWRITEBYTECODE": "1",
    }


def quoted(words: Iterable[str]) -> str:
    return " ".join(shlex.quote(word) for word in words)


def say(text: str) -> None:
    print(in_chinese(text) if speaks_chinese() else text, flush=True)


# ---------------------------------------------------------------------------------------------
# Steps, as the process that starts them sees them


class Runner:
    """Runs the steps one after the other and keeps their records."""

    def __init__(self, manifest: Dict[str, Any], device: int, timeout: float, again: bool) -> None:
        self.manifest, self.device, self.timeout = manifest, device, timeout
        self.digest = sha256_of(os.path.join(ROOT, "manifest.json"))
        self.records = {} if again else self._kept()

    def _kept(self) -> Dict[str, Dict[str, Any]]:
        """The records of earlier calls for this very kit."""
        try:
            with open(STATE, encoding="utf-8") as file:
                state = json.load(file)
        except (OSError, ValueError):
            return {}
        return state["steps"] if state.get("manifest_sha256") == self.digest else {}

    def run(self, step: Step) -> None:
        kept = self.records.get(step.name, {})
        if kept.get("state") == "done":
            say("[{}] done before".format(step.name))
            return
        started = time.time()
        command = command_of(self.manifest, step, self.device)
        record = {"name": step.name, "state": "done", "command": quoted(command), "status": None,
                  "seconds": 0.0, "message": ""}  # fmt: skip
        try:
            self._require(step, command[0])
            shutil.rmtree(step.folder, ignore_errors=True)
            for folder in (step.folder, *environment_of(step).values()):
                if os.path.isabs(folder):
                    os.makedirs(folder, exist_ok=True)
            if step.kind == "atc":
                os.makedirs(
                    os.path.dirname(output_of(variant_of(self.manifest, step.variant))),
                    exist_ok=True,
                )
            record["status"] = self._started(step, command)
            self._check(step, record["status"])
        except StepError as error:
            record["state"], record["message"] = error.state, str(error)
            say("[{}] {}: {}".format(step.name, error.state, error))
            keep_logs(step, started)
        else:
            shutil.rmtree(os.path.join(step.folder, "plog"), ignore_errors=True)
        record["seconds"] = round(time.time() - started, 3)
        if record["state"] == "done":
            say("[{}] done in {:.1f} s".format(step.name, record["seconds"]))
        self.records[step.name] = record
        self.save()

    def save(self) -> None:
        os.makedirs(RESULTS, exist_ok=True)
        with open(STATE + ".new", "w", encoding="utf-8") as file:
            json.dump({"manifest_sha256": self.digest, "steps": self.records}, file, indent=1)
        os.replace(STATE + ".new", STATE)

    def _require(self, step: Step, tool: str) -> None:
        """Refuse a step whose command is not there, or that needs an .om that is not there."""
        if shutil.which(tool) is None:
            raise StepError(NO_TOOL.format(tool), "missing")
        if step.kind in ("host", "atc"):
            return
        if self.records.get(step.variant + "/atc", {}).get("state") != "done":
            raise StepError("there is no .om: " + step.variant + "/atc is not done", "skipped")

    def _started(self, step: Step, command: List[str]) -> int:
        """Run a command, its output in console.txt of the step; return its status."""
        variables = environment_of(step)
        say("[{}] $ cd {} && {}".format(step.name, shlex.quote(step.folder), quoted(command)))
        console = os.path.join(step.folder, "console.txt")
        with open(console, "wb") as file:
            process = subprocess.Popen(
                command, cwd=step.folder, env=dict(os.environ, **variables, **{LANGUAGE: "en"}),
                stdin=subprocess.DEVNULL, stdout=file, stderr=subprocess.STDOUT,
            )  # fmt: skip
            try:
                return process.wait(self.timeout)
            except subprocess.TimeoutExpired:
                raise StepError("it did not end within {:g} s".format(self.timeout)) from None
            finally:
                if process.poll() is None:
                    process.kill()
                    process.wait()

    def _check(self, step: Step, status: int) -> None:
        """Look whether a command that ended did what it should.

        msprof ends with 0 also where the program that it watched did not.
        """
        console = os.path.join(step.folder, "console.txt")
        own = step.kind in ("host", "plain", "dump")
        if status:
            raise StepError(
                last_words(console, status), "missing" if own and status == MISSING else "failed"
            )
        if step.kind == "atc" and not os.path.isfile(
            om_of(variant_of(self.manifest, step.variant))
        ):
            raise StepError("atc ended with 0 and wrote no .om: " + last_words(console, 0))
        if step.kind == "om-json" and not os.path.isfile(os.path.join(step.folder, "om.json")):
            raise StepError("atc ended with 0 and wrote no JSON: " + last_words(console, 0))
        if step.kind == "msprof":
            self._collect_tables(step, console)

    def _collect_tables(self, step: Step, console: str) -> None:
        """Copy the tables of msprof; have it parse its data where that was not done."""
        prof, tables = os.path.join(step.folder, "prof"), os.path.join(step.folder, "tables")
        if not os.path.isfile(os.path.join(step.folder, "run.json")):
            raise StepError("the program under msprof did not end: " + last_words(console, 0))
        if not files_below(prof, "op_summary*.csv"):
            for folder in sorted(glob.glob(os.path.join(glob.escape(prof), "PROF_*"))):
                command = ["msprof", "--export=on", "--output=" + folder]
                say("[{}] $ {}".format(step.name, quoted(command)))
                with open(console, "ab") as file:
                    subprocess.call(command, cwd=step.folder, stdin=subprocess.DEVNULL, stdout=file,
                                    stderr=subprocess.STDOUT, timeout=self.timeout)  # fmt: skip
        found = files_below(prof, "*.csv")
        for path in found:
            target = os.path.join(tables, os.path.relpath(path, prof))
            os.makedirs(os.path.dirname(target), exist_ok=True)
            shutil.copyfile(path, target)
        if not any(os.path.basename(path).startswith("op_summary") for path in found):
            raise StepError("msprof made no op_summary table; its raw data are packed")
        shutil.rmtree(prof, ignore_errors=True)


def files_below(folder: str, pattern: str) -> List[str]:
    return sorted(glob.glob(os.path.join(glob.escape(folder), "**", pattern), recursive=True))


def last_words(console: str, status: int) -> str:
    """The lines of a console that say what went wrong, or its last ones."""
    with open(console, encoding="utf-8", errors="replace") as file:
        lines = [line.strip() for line in file if line.strip()]
    coded = [line for line in lines if re.search(r"\b[EW][A-Z0-9]\d{4}\b", line)]
    words = " | ".join(coded[:3] or lines[-3:]) or "it printed nothing"
    return (words if not status else "exit status {}: {}".format(status, words))[:2000]


def keep_logs(step: Step, started: float) -> None:
    """Copy logs that an older CANN wrote to the home folder while the step ran."""
    target = os.path.join(step.folder, "plog")
    if files_below(target, "*.log"):
        return
    home = os.path.join(os.path.expanduser("~"), "ascend", "log")
    newest = [path for path in files_below(home, "plog-*.log") if os.path.getmtime(path) >= started]
    for path in newest[-20:]:
        os.makedirs(target, exist_ok=True)
        shutil.copyfile(path, os.path.join(target, os.path.basename(path)))


# ---------------------------------------------------------------------------------------------
# The archive


LEFT_OUT = ("cache", "tmp", "kernel_meta")


def packed_files(with_model: bool) -> Iterator[str]:
    """Yield the files of the archive by their paths below `results`."""
    for folder, names, files in os.walk(RESULTS):
        names[:] = sorted(name for name in names if name not in LEFT_OUT)
        for name in sorted(files):
            path = os.path.relpath(os.path.join(folder, name), RESULTS).replace(os.sep, "/")
            is_model = path.endswith((".om", ".weight"))
            if path not in ("state.json", "state.json.new") and (with_model or not is_model):
                yield path


def pack(runner: Runner, with_model: bool) -> None:
    """Write results.zip; it is whole or not there."""
    files, models = [], []
    temporary = ARCHIVE + ".new"
    for path in packed_files(True):
        entry = {"path": path, "bytes": os.path.getsize(os.path.join(RESULTS, path)),
                 "sha256": sha256_of(os.path.join(RESULTS, path))}  # fmt: skip
        if path.endswith(".om"):
            models.append(entry)
    with zipfile.ZipFile(temporary, "w", zipfile.ZIP_DEFLATED, allowZip64=True) as archive:
        for path in packed_files(with_model):
            full = os.path.join(RESULTS, path)
            archive.write(full, path)
            files.append({"path": path, "bytes": os.path.getsize(full), "sha256": sha256_of(full)})
        document = {
            "version": VERSION,
            "manifest_sha256": runner.digest,
            "finished": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "steps": list(runner.records.values()),
            "models": models,
            "files": files,
        }
        archive.writestr("results.json", json.dumps(document, indent=1))
    os.replace(temporary, ARCHIVE)


# ---------------------------------------------------------------------------------------------
# Facts of the host


def text_of(command: List[str]) -> str:
    """What a command prints; empty where it is not there or fails."""
    if shutil.which(command[0]) is None:
        return ""
    try:
        done = subprocess.run(command, check=False, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, timeout=60)  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return ""
    return done.stdout.decode("utf-8", "replace")


def soc_of_board(text: str) -> str:
    """The SoC of `npu-smi info -t board`, whose lines are `Name : value`."""
    facts = {}
    for line in text.splitlines():
        name, colon, value = line.partition(":")
        if colon:
            facts.setdefault(name.strip(), value.strip())
    chip, npu = facts.get("Chip Name", ""), facts.get("NPU Name", "")
    if not chip or facts.get("Chip Type", "Ascend") != "Ascend":
        return ""
    name = chip if chip.startswith("Ascend") else "Ascend" + chip
    return name + "_" + npu if npu.isdigit() else name


def soc_of_table(text: str) -> str:
    """The SoC of the first chip in the table of `npu-smi info`."""
    for line in text.splitlines():
        cells = [cell.split() for cell in line.strip().strip("|").split("|")]
        if len(cells) == 3 and len(cells[0]) == 2 and cells[0][0].isdigit():
            return "Ascend" + cells[0][1] if re.match(r"\d{3}", cells[0][1]) else ""
    return ""


def first_version(files: Dict[str, str], among: str) -> str:
    for path, text in files.items():
        found = re.search(r"^\s*[Vv]ersion\s*=\s*(\S+)", text, re.MULTILINE)
        if among in path and found:
            return found.group(1)
    return ""


def host_facts() -> None:
    """Write host/facts.json and the texts that it comes from."""
    folder = Step("host", "", "").folder
    home = os.environ.get("ASCEND_TOOLKIT_HOME") or os.environ.get("ASCEND_HOME_PATH") or ""
    home = os.path.realpath(home or "/usr/local/Ascend/ascend-toolkit/latest")
    paths = [
        path for pattern in VERSION_FILES for path in sorted(glob.glob(pattern.format(home=home)))
    ]
    files = {}
    for path in paths:
        with open(path, encoding="utf-8", errors="replace") as file:
            files[path] = file.read(1 << 16)
    texts = {"npu-smi.txt": text_of(["npu-smi", "info"]),
             "npu-smi-board.txt": text_of(["npu-smi", "info", "-t", "board", "-i", "0", "-c", "0"])}  # fmt: skip
    for name, text in texts.items():
        if text:
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
    soc, interface = facts_of_acl()
    read = soc_of_board(texts["npu-smi-board.txt"]) or soc_of_table(texts["npu-smi.txt"])
    facts = {
        "soc": soc or read,
        "soc_source": "acl" if soc else "npu-smi" if read else "",
        "cann": first_version({path: text for path, text in files.items() if home in path}, ""),
        "driver": first_version(files, "/driver/"),
        "acl": interface,
        "python": platform.python_version(),
        "numpy": version_of_numpy(),
        "machine": platform.machine(),
        "system": platform.platform(),
        "environment": {name: os.environ[name] for name in VARIABLES if name in os.environ},
        "tools": {name: shutil.which(name) or "" for name in ("atc", "msprof", "npu-smi")},
        "files": files,
    }
    write_json(os.path.join(folder, "facts.json"), facts)
    for name in ("soc", "cann", "driver", "python", "numpy"):
        print("{}: {}".format(name, facts[name] or "unknown"))


def facts_of_acl() -> Tuple[str, str]:
    """SoC and version of the interface as pyACL says them; empty without it."""
    try:
        import acl
    except ImportError:
        return "", ""
    soc, version = "", ""
    if hasattr(acl, "get_soc_name"):
        acl.init()
        soc = acl.get_soc_name() or ""
        acl.finalize()
    if hasattr(acl, "get_version"):
        version = ".".join(str(number) for number in acl.get_version()[:3])
    return soc, version


def version_of_numpy() -> str:
    try:
        import numpy
    except ImportError:
        return ""
    return numpy.__version__


def write_json(path: str, document: Any) -> None:
    with open(path, "w", encoding="utf-8") as file:
        json.dump(document, file, indent=1, sort_keys=True)


# ---------------------------------------------------------------------------------------------
# A run with pyACL


class Board:
    """An .om on the device; `acl` and `numpy` are the modules."""

    def __init__(self, acl: Any, numpy: Any, device: int, config: str) -> None:
        self.acl, self.numpy, self.device = acl, numpy, device
        self._check(acl.init(config) if config else acl.init(), "acl.init")
        self._check(acl.rt.set_device(device), "acl.rt.set_device")
        self.context = self._value(acl.rt.create_context(device), "acl.rt.create_context")
        on_device = self._value(acl.rt.get_run_mode(), "acl.rt.get_run_mode") == 0
        self.kinds = (DEVICE_TO_DEVICE,) * 2 if on_device else (HOST_TO_DEVICE, DEVICE_TO_HOST)
        self.model, self.desc = 0, None
        self.buffers = []  # type: List[Tuple[int, int, Any]]
        self.datasets = []  # type: List[Any]

    def _check(self, ret: int, call: str) -> None:
        if ret != 0:
            recent = getattr(self.acl, "get_recent_err_msg", lambda: None)() or ""
            raise StepError("{} returned {}{}".format(call, ret, ": " + recent if recent else ""))

    def _value(self, answer: Tuple[Any, int], call: str) -> Any:
        self._check(answer[-1], call)
        return answer[0]

    def load(self, path: str) -> None:
        mdl = self.acl.mdl
        self.model = self._value(mdl.load_from_file(path), "acl.mdl.load_from_file")
        self.desc = mdl.create_desc()
        self._check(mdl.get_desc(self.desc, self.model), "acl.mdl.get_desc")

    def ports(self, side: str) -> List[Dict[str, Any]]:
        """The inputs or outputs, `side`, as the .om describes them."""
        mdl, found = self.acl.mdl, []
        for at in range(getattr(mdl, "get_num_{}s".format(side))(self.desc)):
            dims = self._value(
                getattr(mdl, "get_{}_dims".format(side))(self.desc, at), "dims of a port"
            )
            found.append({
                "name": dims.get("name", ""),
                "dtype": getattr(mdl, "get_{}_data_type".format(side))(self.desc, at),
                "format": getattr(mdl, "get_{}_format".format(side))(self.desc, at),
                "size": getattr(mdl, "get_{}_size_by_index".format(side))(self.desc, at),
                "dims": list(dims["dims"]),
            })  # fmt: skip
        return found

    def dataset(self, sizes: Sequence[int]) -> Any:
        dataset = self.acl.mdl.create_dataset()
        self.datasets.append(dataset)
        for size in sizes:
            pointer = self._value(self.acl.rt.malloc(max(size, 1), HUGE_FIRST), "acl.rt.malloc")
            buffer = self.acl.create_data_buffer(pointer, size)
            self.buffers.append((pointer, size, buffer))
            self._check(
                self.acl.mdl.add_dataset_buffer(dataset, buffer)[-1], "acl.mdl.add_dataset_buffer"
            )
        return dataset

    def write(self, at: int, data: bytes) -> None:
        """Copy bytes to the buffer at a position of all that were made."""
        pointer, size, _ = self.buffers[at]
        util = self.acl.util
        if hasattr(util, "bytes_to_ptr"):
            source = util.bytes_to_ptr(data)
        else:
            array = self.numpy.frombuffer(data, self.numpy.uint8).copy()
            source = util.numpy_to_ptr(array)
        copied = self.acl.rt.memcpy(pointer, size, source, len(data), self.kinds[0])
        self._check(copied, "acl.rt.memcpy to the device")

    def read(self, at: int, size: int) -> bytes:
        pointer, _, _ = self.buffers[at]
        host = self._value(self.acl.rt.malloc_host(max(size, 1)), "acl.rt.malloc_host")
        try:
            copied = self.acl.rt.memcpy(host, size, pointer, size, self.kinds[1])
            self._check(copied, "acl.rt.memcpy to the host")
            if hasattr(self.acl.util, "ptr_to_bytes"):
                return self.acl.util.ptr_to_bytes(host, size)
            return ctypes.string_at(host, size)
        finally:
            self.acl.rt.free_host(host)

    def choose_gear(self, kind: str, sample: Dict[str, Any], inputs: Any) -> None:
        mdl = self.acl.mdl
        index = self._value(
            mdl.get_input_index_by_name(self.desc, SHAPE_DATA), "the input of the gear"
        )
        gear = list(sample["gear"])
        if kind == "batch":
            ret = mdl.set_dynamic_batch_size(self.model, inputs, index, gear[0])
        elif kind == "image":
            ret = mdl.set_dynamic_hw_size(self.model, inputs, index, gear[0], gear[1])
        else:
            dims = list(sample["dims"])
            named = {"name": "", "dimCount": len(dims), "dims": dims}
            ret = mdl.set_input_dynamic_dims(self.model, inputs, index, named)
        self._check(ret, "the choice of the gear")

    def execute(self, inputs: Any, outputs: Any) -> float:
        """Run once; return the milliseconds."""
        started = time.perf_counter()
        self._check(self.acl.mdl.execute(self.model, inputs, outputs), "acl.mdl.execute")
        return (time.perf_counter() - started) * 1000

    def close(self) -> None:
        acl = self.acl
        for _, _, buffer in self.buffers:
            acl.destroy_data_buffer(buffer)
        for dataset in self.datasets:
            acl.mdl.destroy_dataset(dataset)
        for pointer, _, _ in self.buffers:
            acl.rt.free(pointer)
        if self.desc is not None:
            acl.mdl.unload(self.model)
            acl.mdl.destroy_desc(self.desc)
        acl.rt.destroy_context(self.context)
        acl.rt.reset_device(self.device)
        acl.finalize()


def imported() -> Tuple[Any, Any]:
    """The modules acl and numpy."""
    try:
        import numpy
    except ImportError:
        raise StepError(NO_NUMPY.format(sys.executable), "missing") from None
    try:
        import acl
    except ImportError:
        raise StepError(NO_ACL, "missing") from None
    return acl, numpy


def run_model(manifest: Dict[str, Any], step: Step, device: int) -> None:
    """Run the .om of a variant on a sample, as often as the kind of step asks for."""
    acl, numpy = imported()
    variant, sample = variant_of(manifest, step.variant), sample_of(manifest, step.sample)
    path = om_of(variant)
    name = os.path.splitext(os.path.basename(path))[0]
    config = os.path.join(step.folder, "acl.json") if step.kind == "dump" else ""
    if config:
        os.makedirs(os.path.join(step.folder, "tree"), exist_ok=True)
        write_json(config, {"dump": {
            "dump_list": [{"model_name": name}], "dump_path": os.path.join(step.folder, "tree"),
            "dump_mode": "output", "dump_op_switch": "off",
            **({"dump_data": "stats"} if manifest.get("statistics") else {}),
        }})  # fmt: skip
    arrays = [
        numpy.load(os.path.join(ROOT, *file.split("/")), allow_pickle=False)
        for file in sample["inputs"]
    ]
    fed = [numpy.ascontiguousarray(array).tobytes() for array in arrays]
    board = Board(acl, numpy, device, config)
    try:
        board.load(path)
        record = {"variant": step.variant, "sample": step.sample, "kind": step.kind, "om": name,
                  "om_sha256": sha256_of(path), "soc": acl.get_soc_name() or "", "model_id": board.model,
                  "fed": [hashlib.sha256(data).hexdigest() for data in fed]}  # fmt: skip
        record.update(executed(board, manifest, sample, fed, times_of(manifest, variant, step)))
        save_outputs(board, numpy, manifest, sample, record, step.folder)
    finally:
        board.close()
    write_json(os.path.join(step.folder, "run.json"), record)
    say(
        "{} executes, {:.3f} ms at best".format(
            len(record["milliseconds"]), min(record["milliseconds"])
        )
    )


def times_of(manifest: Dict[str, Any], variant: Dict[str, Any], step: Step) -> Tuple[int, int]:
    """Executions that are not timed, and that are; a dump has one execution in all."""
    if step.kind == "dump":
        return 0, 1
    return WARM_UP, manifest["repeats"] if step.kind == "plain" else variant["executes"]


def executed(
    board: Board,
    manifest: Dict[str, Any],
    sample: Dict[str, Any],
    fed: List[bytes],
    times: Tuple[int, int],
) -> Dict[str, Any]:
    """Feed and execute; return ports and times."""
    ports, outputs = board.ports("input"), board.ports("output")
    wanted = len(fed) + bool(manifest["gears"])
    if len(ports) != wanted:
        raise StepError("the .om has {} inputs, the kit expects {}".format(len(ports), wanted))
    for at, (port, data) in enumerate(zip(ports, fed)):
        if len(data) != port["size"] and not (manifest["gears"] and len(data) < port["size"]):
            text = "input {} of the .om takes {} bytes, the kit has {}"
            raise StepError(text.format(at, port["size"], len(data)))
    given = board.dataset([port["size"] for port in ports])
    made = board.dataset([port["size"] for port in outputs])
    for at, data in enumerate(fed):
        board.write(at, data)
    if manifest["gears"]:
        board.choose_gear(manifest["gears"], sample, given)
    for _ in range(times[0]):
        board.execute(given, made)
    spent = [board.execute(given, made) for _ in range(times[1])]
    return {"inputs": ports, "outputs": outputs, "milliseconds": spent}


def save_outputs(
    board: Board,
    numpy: Any,
    manifest: Dict[str, Any],
    sample: Dict[str, Any],
    record: Dict[str, Any],
    folder: str,
) -> None:
    """Write the outputs as INDEX.npy; bfloat16 becomes float32, an unknown dtype bytes."""
    for at, port in enumerate(record["outputs"]):
        data = board.read(len(record["inputs"]) + at, port["size"])
        if manifest["gears"]:
            current = board.acl.mdl.get_cur_output_dims(board.desc, at)
            port["dims"] = list(current[0]["dims"]) if current[-1] == 0 else sample["outputs"][at]
        dtype, dims = numpy.dtype(DTYPES.get(port["dtype"], "<u1")), port["dims"]
        count = 1
        for dim in dims:
            count *= dim
        if port["dtype"] not in DTYPES or count < 0 or count * dtype.itemsize > len(data):
            array = numpy.frombuffer(data, numpy.uint8)
        else:
            array = numpy.frombuffer(data, dtype, count).reshape(dims)
        if port["dtype"] == BFLOAT16 and array.dtype == dtype:
            array = (array.astype("<u4") << 16).view("<f4").reshape(array.shape)
        numpy.save(os.path.join(folder, "{}.npy".format(at)), array, allow_pickle=False)


# ---------------------------------------------------------------------------------------------
# The command line


def said(text: str) -> str:
    """A text of the help in the language of the terminal."""
    return HELP.get(text, text) if speaks_chinese() else text


def parsed(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=said(__doc__ or ""), formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--dry-run", action="store_true", help=said("print the commands and run none")
    )
    parser.add_argument(
        "--device", type=int, default=0, metavar="N", help=said("number of the NPU (0)")
    )
    parser.add_argument(
        "--variant",
        action="append",
        default=[],
        metavar="NAME",
        help=said("only this variant; may be repeated"),
    )
    parser.add_argument(
        "--step",
        action="append",
        default=[],
        choices=KINDS,
        help=said("only steps of this kind; may be repeated"),
    )
    parser.add_argument("--again", action="store_true", help=said("run also what is done"))
    parser.add_argument(
        "--with-model", action="store_true", help=said("put the .om files into results.zip, too")
    )
    parser.add_argument(
        "--timeout",
        type=float,
        default=3600.0,
        metavar="SECONDS",
        help=said("time limit of a step (3600)"),
    )
    parser.add_argument(
        "--statistics",
        action="store_true",
        help=said(
            "dump statistics of tensors in place of their values: small, of CANN 8 and later, on some NPUs"
        ),
    )
    parser.add_argument("--child", nargs=3, metavar="", help=argparse.SUPPRESS)
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> int:
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="replace")  # a terminal may lack characters of names
    options = parsed(arguments)
    try:
        manifest = read_manifest()
    except (OSError, ValueError, StepError) as error:
        say("manifest.json cannot be read: {}".format(error))
        return DAMAGED
    manifest["statistics"] = options.statistics
    if options.child:
        return child_status(manifest, Step(*options.child), options.device)
    unknown = set(options.variant) - {each["name"] for each in manifest["variants"]}
    if unknown:
        say("the kit has no variant {}".format(", ".join(sorted(unknown))))
        return USAGE
    wrong = damaged_files(manifest)
    if wrong:
        say("the kit is damaged, unpack it again:")
        for text in wrong:
            say(text)
        return DAMAGED
    steps = list(planned_steps(manifest, options.step or KINDS, options.variant))
    if options.dry_run:
        show(manifest, steps, options.device)
        return DONE
    return run_all(
        Runner(manifest, options.device, options.timeout, options.again), steps, options.with_model
    )


def child_status(manifest: Dict[str, Any], step: Step, device: int) -> int:
    """Do a step that is a process of this script."""
    try:
        if step.kind == "host":
            host_facts()
        else:
            run_model(manifest, step, device)
    except StepError as error:
        say(str(error))
        return STATUS_OF.get(error.state, FAILED)
    return DONE


def show(manifest: Dict[str, Any], steps: Iterable[Step], device: int) -> None:
    for step in steps:
        say("# {}".format(step.name))
        variables = [
            "{}={}".format(name, shlex.quote(value)) for name, value in environment_of(step).items()
        ]
        say("mkdir -p {0} && cd {0}".format(shlex.quote(step.folder)))
        say("{} {}".format(" ".join(variables), quoted(command_of(manifest, step, device))))


def run_all(runner: Runner, steps: Sequence[Step], with_model: bool) -> int:
    """Run steps and pack; return the exit status."""
    try:
        return status_of_all(runner, steps, with_model)
    except OSError as error:
        say("{} cannot be written: {}".format(error.filename or RESULTS, error.strerror or error))
        return FAILED


def status_of_all(runner: Runner, steps: Sequence[Step], with_model: bool) -> int:
    if re.search(r"[^\w/.-]", ROOT):
        say("warning: tools of CANN may not take the characters in " + ROOT)
    interrupted = False
    names = ", ".join(sorted(environment_of(Step("host", "", ""))))
    say("steps have {} set, so that CANN writes to {} alone".format(names, RESULTS))
    try:
        for step in steps:
            runner.run(step)
            if step.kind == "host":
                warn_of_soc(runner.manifest)
    except KeyboardInterrupt:
        interrupted = True
        say("interrupted; call it again to go on")
    runner.save()
    pack(runner, with_model)
    states = [runner.records[step.name]["state"] for step in steps if step.name in runner.records]
    for name, record in runner.records.items():
        state, message = record["state"], record["message"]
        if speaks_chinese():
            state, message = in_chinese(state), in_chinese(message)
        print("{:40} {:8} {}".format(name, state, message).rstrip(), flush=True)
    say("send back {} ({} bytes)".format(ARCHIVE, os.path.getsize(ARCHIVE)))
    if interrupted:
        return INTERRUPTED
    return (
        FAILED if "failed" in states else MISSING if {"missing", "skipped"} & set(states) else DONE
    )


def warn_of_soc(manifest: Dict[str, Any]) -> None:
    try:
        with open(os.path.join(RESULTS, "host", "facts.json"), encoding="utf-8") as file:
            soc = json.load(file)["soc"]
    except (OSError, ValueError):
        return
    if soc and soc != manifest["soc"]:
        say("warning: this host has {}, the kit is for {}".format(soc, manifest["soc"]))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
