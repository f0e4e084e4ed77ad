"""Results in notebooks: their classes ask for HTML here, and what renders it is set from above."""

from collections.abc import Callable

_renderers: list[Callable[[object], str]] = []


def set_renderer(render: Callable[[object], str]) -> None:
    """Use `render` for all results; reports are in a room that results do not know."""
    _renderers[:] = [render]


def notebook_html(result: object) -> str:
    """The HTML that notebooks show for a result; its text where nothing renders it."""
    for render in _renderers:
        return render(result)
    import html

    return f"<pre>{html.escape(repr(result))}</pre>"
