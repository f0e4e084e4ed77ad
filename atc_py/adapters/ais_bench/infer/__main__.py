"""`python -m atc_py.adapters.ais_bench.infer`: the same command line."""

from atc_py.cli.bench_program import main

if __name__ == "__main__":
    main()
