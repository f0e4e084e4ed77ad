"""Memory of the simulated device: plans, slots, bytes and budget."""
