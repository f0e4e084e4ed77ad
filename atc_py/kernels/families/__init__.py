"""Families of kernels, one module each; `atc_py.kernels.family` finds them."""
