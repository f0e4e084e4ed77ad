"""Public path of the adapter: `import atc_py.ais_bench.infer.interface`, `python -m atc_py.ais_bench`."""

from atc_py.adapters import ais_bench as _adapter

# A module with a path is a package: its submodules are the adapter's files.
__path__ = _adapter.__path__

if __name__ == "__main__":
    from atc_py.cli.bench_program import main

    main()
