"""`python -m atc_py` is the `atc-py` command."""

from atc_py.cli.start import main

if __name__ == "__main__":
    main()
