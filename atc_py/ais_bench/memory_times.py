"""Times of copies between host and device: those of this machine, in milliseconds."""

from __future__ import annotations

__all__ = ["device_to_host", "host_to_device"]

host_to_device: list[float] = []
device_to_host: list[float] = []
