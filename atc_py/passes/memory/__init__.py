"""The memory plan: how long each value is needed, and where it is stored."""
