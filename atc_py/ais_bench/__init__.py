"""The interface of ais_bench on the simulated device: `InferSession`, and its command line."""
