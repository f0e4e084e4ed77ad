"""The forms of a profile by name."""

from collections.abc import Callable

from atc_py.report.profile.json_document import profile_csv, profile_json
from atc_py.report.profile.text import profile_tables
from atc_py.report.tables import plain_lines
from atc_py.results.profile import Profile


def _text(done: Profile) -> str:
    """Tables with an empty line between them."""
    return "\n\n".join("\n".join(plain_lines(table)) for table in profile_tables(done)) + "\n"


def _html(done: Profile) -> str:
    """The page without the graph."""
    from atc_py.report.page.pages import profile_html  # jinja2 takes long to import

    return profile_html(done)


PROFILE_FORMATS: dict[str, Callable[[Profile], str]] = {
    "text": _text,
    "json": profile_json,
    "csv": profile_csv,
    "html": _html,
}


def render_profile(form: str, done: Profile) -> str:
    """The profile in the form of that name, one of `PROFILE_FORMATS`."""
    return PROFILE_FORMATS[form](done)
