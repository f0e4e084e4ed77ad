"""docs/emulations.md: how each target operator is written in ONNX's operators."""

import inspect
import sys
from collections import defaultdict
from collections.abc import Iterator

from atc_py.device.ort.body import OPSET, find_emulation
from atc_py.device.ort.functions import DOMAIN
from atc_py.target import operators


def emulations_page() -> Iterator[str]:
    """Yield a section for each module of emulations, a row for each operator."""
    groups: dict[str, list[tuple[str, str]]] = defaultdict(list)
    for op, emulation in ((row.name, find_emulation(row.name)) for row in operators()):
        if emulation is None:
            continue
        text = inspect.getdoc(emulation.write) or ""
        groups[emulation.write.__module__].append((op, " ".join(text.split())))
    yield "# Target operators in ONNX"
    yield ""
    yield f"`atc-py export` writes each target operator as a function of the domain `{DOMAIN}` whose body"
    yield f"has operators of ai.onnx, opset {OPSET}. Operands in float16 and bfloat16 are read as float32, and"
    yield "results are rounded to the dtype that the model declares, half to even; what a kernel rounds in"
    yield "between is said here. Bodies depend on attributes and dtypes. [Exported models](export.md) tells"
    yield "the rest; a Switch and a Merge become an If, and a TransData is left out."
    for module, rows in sorted(groups.items()):
        yield ""
        yield f"## {module.rpartition('.')[2].replace('_', ' ').capitalize()}"
        yield ""
        yield (inspect.getdoc(sys.modules[module]) or "").splitlines()[0]
        yield ""
        yield "| operator | what is written |"
        yield "| --- | --- |"
        for op, text in rows:
            escaped = text.replace("|", "\\|")
            yield f"| {op} | {escaped} |"
