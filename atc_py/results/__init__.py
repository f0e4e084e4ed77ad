"""Results: what commands found, as data; `report` renders it."""
