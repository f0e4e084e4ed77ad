"""The schemas of JSON reports in docs/; `make docs` writes them, a test holds them."""

import sys
from pathlib import Path

from atc_py.report.check.document import CheckDocument
from atc_py.results.huawei_facts import HuaweiFacts
from atc_py.results.onnx_facts import OnnxFacts
from atc_py.results.program_run import ProgramRun
from tests.document_schemas import json_schema, quantization_types

_DOCS = Path(__file__).resolve().parent.parent / "docs"
SCHEMA = _DOCS / "check-report.schema.json"
EXEC_SCHEMA = _DOCS / "exec-report.schema.json"
INFO_SCHEMA = _DOCS / "info-onnx.schema.json"
HUAWEI_SCHEMA = _DOCS / "info-huawei.schema.json"
QUANTIZE_SCHEMA = _DOCS / "quantize-report.schema.json"


TYPES = {
    SCHEMA: lambda: CheckDocument,
    EXEC_SCHEMA: lambda: ProgramRun,
    INFO_SCHEMA: lambda: OnnxFacts,
    HUAWEI_SCHEMA: lambda: HuaweiFacts,
    QUANTIZE_SCHEMA: quantization_types,
}


def schema_text(file: Path) -> str:
    """The schema that belongs into a file."""
    return json_schema(TYPES[file]())


def main() -> None:
    """Write the schemas, or say that one is not current."""
    for file in TYPES:
        text = schema_text(file)
        if "--write" in sys.argv[1:]:
            file.write_text(text, encoding="utf-8")
        elif not file.exists() or file.read_text(encoding="utf-8") != text:
            raise SystemExit(f"not current: {file.name}; run `make docs`")


if __name__ == "__main__":
    main()
