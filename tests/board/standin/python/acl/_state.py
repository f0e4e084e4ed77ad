"""What the functions share: handles, memory, models, the last error."""

from typing import Any, Dict

BAD_PARAM = 100000


class State:
    def __init__(self) -> None:
        self.initialized = False
        self.dump: Any = None
        self.error = ""
        self.handles: Dict[int, Any] = {}
        self.memory: Dict[int, Any] = {}
        self.models: Dict[int, Any] = {}
        self.next = 1


STATE = State()


def new_handle(value: Any) -> Any:
    STATE.next += 1
    STATE.handles[STATE.next] = value
    return STATE.next
