"""The instructions of a kit, for a colleague without atc-py, in each language."""

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from atc_py.adapters.board.layout import README, Manifest
from atc_py.system.cache_folders import templates_dir


def readme_texts(manifest: Manifest) -> dict[str, bytes]:
    """The instructions by their files' names."""
    environment = Environment(  # noqa: S701  (Markdown that people read, not a page)
        loader=FileSystemLoader(templates_dir() / "board"),
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    return {
        name: environment.get_template(f"{name}.j2").render(kit=manifest).encode()
        for name in README.values()
    }
