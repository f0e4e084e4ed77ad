"""Modules that are loaded at their first use, in processes of their own: this one has loaded them."""

import subprocess
import sys

import pytest

_PREPARED = """
import sys, threading
from atc_py.system.late_modules import prepare_imports
def is_late(name):
    return type(sys.modules[name]).__name__ == "_LateModule"
prepare_imports()
"""

_USES = {
    "whole": """
import tempfile
assert is_late("tempfile")
assert tempfile.gettempdir() and not is_late("tempfile")
from tempfile import mkstemp
assert mkstemp is tempfile.mkstemp
""",
    "name": """
from tempfile import mkstemp
assert callable(mkstemp) and not is_late("tempfile")
""",
    "annotations": """
import numpy._typing, numpy.typing as npt
assert npt.NDArray[npt.DTypeLike] and is_late("numpy.typing") and is_late("numpy._typing")
assert npt.NBitBase and not is_late("numpy.typing")
assert npt.NDArray is not list and npt.ArrayLike is not object
""",
    "imported by C": """
import numpy
assert is_late("numpy._core._internal") and is_late("numpy._core._add_newdocs")
assert numpy.zeros(3).ctypes.data and not is_late("numpy._core._internal")
""",
    "no attribute": """
import ipaddress
assert not hasattr(ipaddress, "nothing") and not is_late("ipaddress")
""",
    "threads": """
import textwrap
found = []
threads = [threading.Thread(target=lambda: found.append(textwrap.dedent(" a"))) for _ in range(8)]
[thread.start() for thread in threads]
[thread.join() for thread in threads]
assert found == ["a"] * 8
""",
    "nearest names": """
from difflib import get_close_matches
assert get_close_matches("-o", ["-p", "--o"]) == [] and is_late("difflib")
assert get_close_matches("--outptu", possibilities=["--output"], n=1, cutoff=0.5) == ["--output"]
assert not is_late("difflib")
""",
    "later": """
from random import choice
from urllib.parse import quote_from_bytes
assert is_late("random") and is_late("urllib.parse")
assert choice([3]) == 3 and not is_late("random")
assert quote_from_bytes(b"a b") == "a%20b" and not is_late("urllib.parse")
""",
    "compiler of templates": """
import jinja2
assert is_late("jinja2.compiler") and is_late("jinja2.lexer") and is_late("jinja2.parser")
template = jinja2.Environment().from_string("{% for x in xs %}{{ x + 1 }},{% endfor %}")
assert template.render(xs=[1, 2]) == "2,3,"
assert not is_late("jinja2.compiler")
""",
    "linear algebra": """
import numpy
assert is_late("numpy.linalg")
assert list(numpy.roots([1, -3, 2])) == [2, 1] and not is_late("numpy.linalg")
assert numpy.linalg.det(numpy.eye(2)) == 1
""",
    "clean texts": """
from inspect import cleandoc
texts = ["", " a ", "a\\n  b\\n    c\\n", "\\n\\n  a\\n\\n   b\\n  ", "\\ta\\n\\tb", "a\\n \\n b", " \\n a"]
cleaned = [cleandoc(text) for text in texts]
assert is_late("inspect")
import inspect
assert cleaned == [inspect.getdoc(type("T", (), {"__doc__": text})) or "" for text in texts]
assert inspect.cleandoc is not cleandoc
assert cleaned == [inspect.cleandoc(text) for text in texts]
""",
    "signature": """
import inspect, numpy
def plain(a, *, b=1): pass
assert is_late("inspect")
assert str(inspect.signature(plain)) == "(a, *, b=1)" and not is_late("inspect")
import numpy.ma
assert numpy.ma.arange(3).sum() == 3
""",
    "translations": """
from gettext import gettext, ngettext
assert (gettext("a"), ngettext("a", "b", 1), ngettext("a", "b", 2)) == ("a", "a", "b")
assert is_late("gettext")
import gettext as whole
assert whole.NullTranslations().gettext("a") == "a"
""",
    "system": """
import os, platform
assert platform.system() == platform.uname().system
""",
    "stand-in stays": """
from typing_extensions import Self
import typing_extensions
assert typing_extensions.deprecated and typing_extensions.Self is Self
""",
}


@pytest.mark.parametrize("use", _USES)
def test_late_module_is_as_good_as_a_loaded_one(use: str) -> None:
    subprocess.run([sys.executable, "-W", "error", "-c", _PREPARED + _USES[use]], check=True)
