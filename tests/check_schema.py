"""The schema of the checker's JSON report in docs/; `make docs` writes it, a test holds it."""

from __future__ import annotations

import sys
from pathlib import Path

from atc_py.report.check.json_document import check_json_schema

__all__ = ["SCHEMA"]

SCHEMA = Path(__file__).resolve().parent.parent / "docs" / "check-report.schema.json"


def main() -> None:
    """Write the schema, or say that it is not current."""
    text = check_json_schema()
    if "--write" in sys.argv[1:]:
        SCHEMA.write_text(text, encoding="utf-8")
    elif not SCHEMA.exists() or SCHEMA.read_text(encoding="utf-8") != text:
        raise SystemExit(f"not current: {SCHEMA.name}; run `make docs`")


if __name__ == "__main__":
    main()
