"""Rows of target operators, a module for each kind of work; every module has a tuple ROWS."""
