"""Fixing a refused model: rules that write an equivalent form in listed operators, and their engine."""
