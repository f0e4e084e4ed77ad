"""The page of a diagnostic code: its cause, its fix, and an example before and after it."""
