"""Numbers of int8 quantization: histograms, ranges, scales, errors, and AMCT's files."""
