"""The table of a sweep as one HTML file that needs nothing else; each row links its report."""

import json
from collections.abc import Sequence
from urllib.parse import quote

from atc_py import __version__
from atc_py.report.page.rendering import embedded_json, page_script, render_page
from atc_py.report.page.words import both, name_text
from atc_py.report.sweep.reasons import code_text, reason_counts
from atc_py.report.sweep.rows import worst_output
from atc_py.results.sweep import FAILED, SweepRow, SweepVerdict
from atc_py.system.cache_folders import templates_dir

_SHARED = ("words.js", "names.js", "tables.js")
"""Parts of the script of `report`'s page that this one has, too."""

_PAGE = "page.js"


def sweep_html(rows: Sequence[SweepRow], language: str = "en") -> bytes:
    folder = templates_dir() / "report"
    shared = [folder / "overview" / name for name in _SHARED]
    script = page_script([*shared, folder / "sweep" / _PAGE])
    document = _document(rows, language)
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    page = render_page(
        "sweep/page",
        (script,),
        base="overview/page",
        lang={"zh": "zh-CN"}.get(language, language),
        document=embedded_json(text),
    )
    return page.encode("utf-8")


def _document(rows: Sequence[SweepRow], language: str) -> dict[str, object]:
    return {
        "lang": language,
        "tool": f"atc-py {__version__}",
        "models": len({row.combination.model for row in rows}),
        "compiles": sum(row.verdict is SweepVerdict.COMPILES for row in rows),
        "failed": sum(row.verdict in FAILED for row in rows),
        "reasons": [
            (reason_count.code, code_text(reason_count.code), reason_count.rows)
            for reason_count in reason_counts(rows)
        ],
        "rows": [_row(row) for row in rows],
    }


def _row(row: SweepRow) -> dict[str, object]:
    combination = row.combination
    level = "bad" if row.verdict in FAILED else "warn"
    found = {
        "model": name_text(combination.model),
        "soc": combination.soc,
        "mode": combination.precision_mode,
        "list": combination.operator_list,
        "verdict": row.verdict.value,
        "level": "good" if row.verdict is SweepVerdict.COMPILES else level,
        "standing": row.standing,
        "reasons": row.reasons or None,
        "message": both(row.message, row.message_zh) if row.message else None,
        "fixed": row.fixed,
        "file": row.file_bytes,
        "memory": row.memory_bytes,
        "seconds": row.estimated_seconds,
        "fits": row.fits,
        "output": worst_output(row),
        "cosine": row.cosine,
        "distance": row.distance,
        "proposed": row.proposed or None,
        "report": None if row.report is None else quote(row.report),
    }
    return {name: value for name, value in found.items() if value is not None}
