"""Building blocks that several kernels share."""
