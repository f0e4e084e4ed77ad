"""Location of the data files: `op_specs/` and `templates/`, in a checkout or in a wheel."""

from pathlib import Path

_PACKAGE = Path(__file__).resolve().parents[1]


def op_specs_dir() -> Path:
    """The folder of operator specifications, one YAML file an operator."""
    return _data_dir("op_specs")


def templates_dir() -> Path:
    """The folder of Jinja templates."""
    return _data_dir("templates")


def _data_dir(name: str) -> Path:
    """`_data/name` of an installed wheel where it exists, else the checkout's top level."""
    installed = _PACKAGE / "_data" / name
    return installed if installed.is_dir() else _PACKAGE.parent / name
