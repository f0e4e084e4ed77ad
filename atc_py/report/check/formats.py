"""The formats in which a check's report can be had."""

from atc_py.check.findings import Standing
from atc_py.report.check.document import CheckDocument

FORMATS = ("text", "json", "sarif", "junit", "html", "csv")
"""Names of the formats."""


def render_check(
    name: str, document: CheckDocument, fail_on: Standing, *, verbose: bool = False
) -> str:
    """The report as text of the format `name`, one of FORMATS.

    Args:
        name: the format.
        document: the report.
        fail_on: what fails; JUnit shows it.
        verbose: text names every node.
    """
    # Each format is imported for itself: jinja2 and the parser of XML take long.
    if name == "text":
        from atc_py.report.check.text import check_text

        return check_text(document, verbose=verbose)
    if name == "junit":
        from atc_py.report.check.junit_xml import check_junit

        return check_junit(document, fail_on)
    if name == "html":
        from atc_py.report.page.pages import check_html

        return check_html(document)
    from atc_py.report.check.csv_rows import check_csv
    from atc_py.report.check.json_document import check_json
    from atc_py.report.check.sarif_log import check_sarif

    plain = {"json": check_json, "sarif": check_sarif, "csv": check_csv}
    return plain[name](document)
