"""Tables of sweeps: JSON lines, CSV, Parquet, HTML."""
