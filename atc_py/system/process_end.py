"""How a process ended, in words."""

import signal


def end_signal(status: int) -> str:
    """The name of the signal that ended a process; "" where it ended by itself.

    Args:
        status: what `subprocess` calls the return code; below 0 for a signal.
    """
    if status >= 0:
        return ""
    try:
        return signal.Signals(-status).name
    except ValueError:
        return f"signal {-status}"
