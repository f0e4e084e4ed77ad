"""What all tests share: how much is tried, and what is not done again for each test."""

import gc
import os
import re
import signal
import sys
from collections.abc import Generator
from collections.abc import Set as AbstractSet
from contextlib import suppress
from functools import cache, wraps
from importlib import metadata
from typing import Any

import onnx
import pytest

from atc_py.ir import Graph, Rules, verify_graph
from atc_py.onnx_graph.running.exact_products import shift_weights
from atc_py.options.compile_options import FIRST_LIST, LIST_VARIABLE
from atc_py.passes import manager
from atc_py.passes.base import PassContext
from atc_py.passes.pipeline import PassRow
from tests import blas_kernels, sampling

PRODUCTS = re.compile(rb"Integer|QLinear|QGemm|DynamicQuantize|QAttention")
PRECISION = "session.x64quantprecision"


def pytest_configure(config: pytest.Config) -> None:
    """Choose the examples before test modules are imported."""
    if config.option.markexpr == "not sweep":
        os.environ.pop(sampling.WHOLE, None)
    else:
        os.environ[sampling.WHOLE] = "1"
    os.environ[manager.PHASES_VARIABLE] = "1"  # of programs that tests start, too
    sampling.load_profile()
    blas_kernels.choose_kernels()
    _heed_interrupts()
    _keep_bytecode()
    patch = pytest.MonkeyPatch()
    config.add_cleanup(patch.undo)
    _read_packages_once(patch)
    _make_references_exact(patch)
    if sampling.WHOLE not in os.environ:
        _verify_changed_graphs(patch)
        _draw_without_constants(patch)
    # No file of a test must survive a power failure, and some disks take milliseconds.
    patch.setattr(os, "fsync", lambda _descriptor: None)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int | None:
    """Start a worker more than cores: a fifth of their time tests wait for programs they start."""
    if "PYTEST_XDIST_AUTO_NUM_WORKERS" in os.environ or not hasattr(os, "sched_getaffinity"):
        return None
    return len(os.sched_getaffinity(0)) + 1


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Generator[None, object, object]:
    """Keep the garbage collector from going through tests that are collected, again and again.

    What is frozen stays, and need not be counted whenever `atc_py.system.process.gc_paused` asks.
    """
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()
        patch, frozen = pytest.MonkeyPatch(), gc.get_freeze_count()
        patch.setattr(gc, "get_freeze_count", lambda: frozen)
        session.config.add_cleanup(patch.undo)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave to the sweep what products of parameters have beyond each value of each parameter.

    Files beside this one go first: they take seconds each, and no worker is to wait for the last.
    """
    items.sort(key=lambda item: not item.nodeid.startswith("tests/test_"))
    if sampling.WHOLE not in os.environ:
        sampling.thin_products(items)


def _verify_changed_graphs(patch: pytest.MonkeyPatch) -> None:
    """Verify only after passes that changed the graph: after the other seventy it takes half a conversion.

    A pass that counts none of its changes is still found, after the next that counts one.
    """
    run = manager._run
    unchanged: list[Graph] = []

    def watched(
        row: PassRow, graph: Graph, context: PassContext, operators: AbstractSet[str]
    ) -> manager.PassRun:
        unchanged.clear()
        done = run(row, graph, context, operators)
        unchanged[:] = [] if done.changes or row.ensures is not None else [graph]
        return done

    def verified(graph: Graph, rules: Rules) -> None:
        if not any(each is graph for each in unchanged):
            verify_graph(graph, rules)
        unchanged.clear()

    patch.setattr(manager, "_run", watched)
    patch.setattr(manager, "verify_graph", verified)


def _heed_interrupts() -> None:
    """Let signals end programs that tests start, also where tests run in the background or by nohup."""
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if hasattr(signal, "SIGHUP") and signal.getsignal(signal.SIGHUP) is signal.SIG_IGN:
        signal.signal(signal.SIGHUP, signal.SIG_DFL)


def _keep_bytecode() -> None:
    """Keep bytecode: hundreds of tests start Python, which need not compile the package again."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    sys.dont_write_bytecode = False


_WARNING, _ERROR = 2, 3


def _make_references_exact(patch: pytest.MonkeyPatch) -> None:
    """Let onnxruntime add products of 8 bits in 32, also where the processor has no VNNI."""
    try:
        import onnxruntime
    except ImportError:
        return
    start = onnxruntime.InferenceSession.__init__

    @wraps(start)
    def exact(
        session: Any, path_or_bytes: Any, sess_options: Any = None, *rest: Any, **more: Any
    ) -> None:
        if isinstance(path_or_bytes, bytes) and PRODUCTS.search(path_or_bytes):
            model = onnx.load_from_string(path_or_bytes)
            shift_weights(model)
            path_or_bytes = model.SerializeToString()
        options = sess_options or onnxruntime.SessionOptions()
        try:  # for weights whose dtype is known to an optimized session alone
            options.add_session_config_entry(PRECISION, "1")
            start(session, path_or_bytes, options, *rest, **more)
        except Exception:  # noqa: BLE001  (some models do not load so)
            onnxruntime.set_default_logger_severity(_ERROR)  # which a second value is not
            options.add_session_config_entry(PRECISION, "0")
            onnxruntime.set_default_logger_severity(_WARNING)
            start(session, path_or_bytes, options, *rest, **more)

    patch.setattr(onnxruntime.InferenceSession, "__init__", exact)


def _read_packages_once(patch: pytest.MonkeyPatch) -> None:
    """Read the installed devices once, which takes longer than a small conversion."""
    read = metadata.entry_points

    @cache
    def found(_path: tuple[str, ...], wanted: tuple[tuple[str, str], ...]) -> Any:
        return read(**dict(wanted))

    def entry_points(**wanted: str) -> Any:
        return found(tuple(sys.path), tuple(wanted.items()))

    patch.setattr(metadata, "entry_points", entry_points)


def _draw_without_constants(patch: pytest.MonkeyPatch) -> None:
    """Let Hypothesis draw no constants of the code, which it looks for in all modules that are loaded.

    Each worker takes seconds to read them, and what it draws would depend on the tests before.
    """
    with suppress(ImportError):  # old ones do not look for them
        from hypothesis.internal.conjecture import providers

        patch.setattr(providers, "is_local_module_file", lambda _path: False, raising=False)


@pytest.fixture
def base_list(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hold models to the first list, where a test is about what it refuses."""
    monkeypatch.setenv(LIST_VARIABLE, FIRST_LIST)
