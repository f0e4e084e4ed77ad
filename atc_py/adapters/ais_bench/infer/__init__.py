"""The place of the interface in ais_bench: `from atc_py.adapters.ais_bench.infer.interface import ...`."""
