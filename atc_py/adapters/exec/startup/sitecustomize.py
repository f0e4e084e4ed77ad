"""Start of every Python process of a program under `atc-py exec`: the hook, then the user's file.

Any Python finds this file in PYTHONPATH, so its syntax is what Python 2.7 reads too.
"""

# ruff: noqa: ANN001, ANN202, BLE001, PTH100, PTH107, PTH110, PTH112, PTH118, PTH120, PTH123, S110, UP031
import os
import sys

_OLDEST = (3, 10)


def _install():  # type: ignore[no-untyped-def]
    """Install the hook, and remove this folder from what the program sees."""
    folder = os.path.dirname(os.path.abspath(__file__))
    run = os.environ.get("ATC_PY_EXEC", "").split(os.pathsep)[0]
    try:
        if sys.version_info < _OLDEST:
            _remove_bytecode(folder)  # type: ignore[no-untyped-call]
            if not os.path.isdir(run):
                return
            with open(os.path.join(run, "old-python"), "w") as file:
                file.write("%d.%d" % sys.version_info[:2])
            return
        if not os.path.isdir(run):
            import _atc_py_environment  # type: ignore[import-not-found]

            _atc_py_environment.forget()
            return
        import _atc_py_hook  # type: ignore[import-not-found]

        _atc_py_hook.install()
    except Exception:
        pass  # the program runs as it would without atc-py, which reports that it saw no session
    finally:
        sys.path[:] = [each for each in sys.path if each != folder]
        sys.path_importer_cache.pop(folder, None)
        sys.modules.pop("sitecustomize", None)


def _remove_bytecode(folder):  # type: ignore[no-untyped-def]
    """Remove what Python 2 has written beside this file before it ran it."""
    for suffix in ("c", "o"):
        path = os.path.join(folder, "sitecustomize.py" + suffix)
        if os.path.exists(path):
            os.remove(path)


_install()  # type: ignore[no-untyped-call]
# The file of that name which Python would have found without this one; site handles its absence.
__import__("sitecustomize")
