"""ais_bench on the stand-in."""
