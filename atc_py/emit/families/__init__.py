"""Families of kernels, one module each; `atc_py.emit.family` finds them."""
