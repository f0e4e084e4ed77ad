"""Comparison of two commits: offline models, outputs and verdicts, each by its SHA-256.

`python -m tests.compare_commits BASE [HEAD]` checks both commits out into folders of their own,
collects the digests of each in a process of its own, and prints what differs; without HEAD the
working tree is compared. The exit status is 1 where something differs.

Collected are: the offline model of each shared network in three precision modes; the outputs of
every conformance case in two modes, or the code that refuses it; codes, places and levels of
`check` on every shared model. Versions are set equal before anything is read.
"""

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"
NETWORK_MODES = ("force_fp16", "allow_mix_precision", "must_keep_origin_dtype")
CASE_MODES = ("allow_fp32_to_fp16", "force_fp16")
SHOWN = 40


def collect(kinds: tuple[str, ...] = ("om", "case", "check")) -> dict[str, str]:
    """Return the digest of everything compared, by name, for the package that is imported.

    Only atc-py's public interface is used, so that one collector serves commits far apart.
    """
    import atc_py

    atc_py.__version__ = "0"
    sources = {"om": _offline_models, "case": _cases, "check": _verdicts}
    return dict(item for kind in kinds for item in sources[kind](atc_py))


def differences(before: dict[str, str], after: dict[str, str]) -> list[str]:
    """Return the names whose digests differ, or that one side lacks, in order."""
    return [
        name for name in sorted(before.keys() | after.keys()) if before.get(name) != after.get(name)
    ]


def _offline_models(atc_py: Any) -> Iterator[tuple[str, str]]:
    """Yield the digest of the offline model of each shared network in each mode."""
    with tempfile.TemporaryDirectory() as folder:
        for network in sorted(SHARED.glob("models/*/model.onnx")):
            for mode in NETWORK_MODES:
                output = Path(folder) / f"{network.parent.name}.om"
                try:
                    atc_py.convert(network, output, precision_mode=mode)
                    digest = hashlib.sha256(output.read_bytes()).hexdigest()
                except atc_py.AtcError as refusal:
                    digest = _codes(refusal)
                yield f"om {network.parent.name} {mode}", digest


def _cases(atc_py: Any) -> Iterator[tuple[str, str]]:
    """Yield the digest of the outputs of each conformance case, or the codes that refuse it."""
    with tempfile.TemporaryDirectory() as folder:
        output = Path(folder) / "case.om"
        for case in sorted(SHARED.glob("onnx_suite/*/*/model.onnx")):
            for mode in CASE_MODES:
                try:
                    atc_py.convert(case, output, precision_mode=mode)
                    digest = _outputs(atc_py, output, case.parent)
                except atc_py.AtcError as refusal:
                    digest = _codes(refusal)
                yield f"case {case.parent.parent.name}/{case.parent.name} {mode}", digest


def _outputs(atc_py: Any, model: Path, case: Path) -> str:
    """Return the digest of the outputs for every data set of a case."""
    import numpy as np
    import onnx
    from onnx import numpy_helper

    digest = hashlib.sha256()
    with atc_py.load(model) as loaded:
        for data in sorted(case.glob("test_data_set_*")):
            feeds = {}
            for index, port in enumerate(loaded.inputs):
                tensor = onnx.load_tensor(str(data / f"input_{index}.pb"))
                feeds[port.name] = np.asarray(numpy_helper.to_array(tensor))
            for name, array in sorted(loaded.run(feeds).items()):
                digest.update(f"{name} {array.dtype} {array.shape} ".encode())
                digest.update(np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _verdicts(atc_py: Any) -> Iterator[tuple[str, str]]:
    """Yield the digest of codes, levels and places of `check` for every shared model."""
    models = [*SHARED.glob("models/*/model.onnx"), *SHARED.glob("onnx_suite/*/*/model.onnx")]
    paths = [str(path) for path in sorted(models)]
    ran = subprocess.run(
        [sys.executable, "-m", "atc_py", "check", *paths, "--format", "json"],
        capture_output=True,
        check=False,
        cwd=Path(atc_py.__file__).parents[1],
    )
    for path, model in zip(paths, json.loads(ran.stdout)["models"], strict=True):
        facts = [
            [found[key] for key in ("code", "level", "node", "node_name", "op", "field", "scope")]
            for found in model["findings"]
        ]
        faults = [fault["code"] for fault in model["faults"]]
        name = "/".join(Path(path).parts[-3:-1])
        yield f"check {name}", _digest([model["verdict"], faults, facts])
    yield "check exit status", str(ran.returncode)


def _codes(refusal: Any) -> str:
    """Return the codes and places of a refusal."""
    return "refused " + _digest(
        [
            (
                found.code.id,
                int(found.code.exit),
                found.place and (found.place.node, found.place.node_name, found.place.op_type),
            )
            for found in refusal.diagnostics
        ]
    )


def _digest(facts: object) -> str:
    """Return the SHA-256 of JSON-like facts."""
    return hashlib.sha256(json.dumps(facts, sort_keys=True, default=str).encode()).hexdigest()


def _collected(tree: Path, out: Path, kinds: str) -> dict[str, str]:
    """Return what a process that imports the package from `tree` collects."""
    program = (
        f"import sys; sys.path.insert(0, {str(tree)!r}); sys.argv = []\n"
        "import atc_py, importlib.util, json, pathlib\n"
        f"assert atc_py.__file__.startswith({str(tree)!r}), atc_py.__file__\n"
        f"spec = importlib.util.spec_from_file_location('collector', {str(Path(__file__))!r})\n"
        "module = importlib.util.module_from_spec(spec); spec.loader.exec_module(module)\n"
        f"found = module.collect(tuple({kinds!r}.split()))\n"
        f"pathlib.Path({str(out)!r}).write_text(json.dumps(found))\n"
    )
    subprocess.run([sys.executable, "-c", program], check=True, cwd=tree)
    found: dict[str, str] = json.loads(out.read_text(encoding="utf-8"))
    return found


def main(base: str, head: str = "", kinds: str = "om case check") -> int:
    """Print what differs between two commits; return the exit status."""
    with tempfile.TemporaryDirectory() as folder:
        sides = []
        for name, commit in (("base", base), ("head", head)):
            tree = Path(folder) / name if commit else ROOT
            if commit:
                _git("worktree", "add", "--detach", "--quiet", str(tree), commit)
            try:
                sides.append(_collected(tree, Path(folder) / f"{name}.json", kinds))
            finally:
                if commit:
                    _git("worktree", "remove", "--force", str(tree))
    differing = differences(*sides)
    for name in differing[:SHOWN]:
        sys.stdout.write(f"differs: {name}\n")
    total = len(sides[0].keys() | sides[1].keys())
    sys.stdout.write(f"{total} compared, {len(differing)} differ\n")
    return 1 if differing else 0


def _git(*words: str) -> None:
    """Run git in the repository."""
    subprocess.run(["git", *words], check=True, cwd=ROOT)  # noqa: S607  (git is found by PATH)


if __name__ == "__main__":
    parser = argparse.ArgumentParser("python -m tests.compare_commits")
    parser.add_argument("base", help="commit to compare with")
    parser.add_argument("head", nargs="?", default="", help="the other; without, the working tree")
    parser.add_argument("kinds", nargs="?", default="om case check", help="kinds to collect")
    raise SystemExit(main(**vars(parser.parse_args())))
