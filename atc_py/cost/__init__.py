"""The cost model: estimates of time from a SoC's row, an operator's row, types and attributes."""
