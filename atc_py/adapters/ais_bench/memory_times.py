"""Times of copies between host and device: those of this machine, in milliseconds."""

host_to_device: list[float] = []
device_to_host: list[float] = []
