"""Number formats, rounding, and exact products and sums."""
