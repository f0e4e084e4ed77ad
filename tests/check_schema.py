"""The schemas of JSON reports in docs/; `make docs` writes them, a test holds them."""

import sys
from pathlib import Path

from atc_py.report.check.json_document import check_json_schema
from atc_py.report.exec.tables import program_json_schema
from atc_py.report.model.huawei_model import huawei_json_schema
from atc_py.report.model.onnx_file import onnx_json_schema
from atc_py.report.quantizing.document import quantization_json_schema

_DOCS = Path(__file__).resolve().parent.parent / "docs"
SCHEMA = _DOCS / "check-report.schema.json"
EXEC_SCHEMA = _DOCS / "exec-report.schema.json"
INFO_SCHEMA = _DOCS / "info-onnx.schema.json"
HUAWEI_SCHEMA = _DOCS / "info-huawei.schema.json"
QUANTIZE_SCHEMA = _DOCS / "quantize-report.schema.json"


def main() -> None:
    """Write the schemas, or say that one is not current."""
    texts = {
        SCHEMA: check_json_schema(),
        EXEC_SCHEMA: program_json_schema(),
        INFO_SCHEMA: onnx_json_schema(),
        HUAWEI_SCHEMA: huawei_json_schema(),
        QUANTIZE_SCHEMA: quantization_json_schema(),
    }
    for file, text in texts.items():
        if "--write" in sys.argv[1:]:
            file.write_text(text, encoding="utf-8")
        elif not file.exists() or file.read_text(encoding="utf-8") != text:
            raise SystemExit(f"not current: {file.name}; run `make docs`")


if __name__ == "__main__":
    main()
