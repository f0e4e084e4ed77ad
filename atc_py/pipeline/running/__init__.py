"""Running an offline model: arrays in, one run, arrays out."""
