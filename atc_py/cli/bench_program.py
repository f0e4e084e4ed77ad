"""`python -m atc_py.ais_bench` as a program: streams, signals and bugs are handled as by `atc-py`."""

import sys
from collections.abc import Sequence

from atc_py.cli.guards import SignalledError, guarded_streams, signals_as_exceptions
from atc_py.cli.main import signal_status

_FAILED = 1
"""Exit status of every failure, as of ais_bench's; a wrong call is 2."""


def main() -> None:
    """Run the command line and exit."""
    with guarded_streams():
        try:
            with signals_as_exceptions():
                status = _status(sys.argv[1:])
        except (SignalledError, KeyboardInterrupt) as error:
            status = signal_status(error)
    sys.exit(status)


def _status(arguments: Sequence[str]) -> int:
    from atc_py.cli import failures

    try:
        from atc_py.adapters.ais_bench.command import main as bench

        status = bench(arguments)
        sys.stdout.flush()
    except Exception as error:  # noqa: BLE001  (the last net: a bug must not show a traceback)
        failures.failure_status(error, as_json=False)
        return _FAILED
    return status
