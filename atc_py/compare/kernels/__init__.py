"""The kernels of a model: what they are, and whether they compute what the simulator does."""
