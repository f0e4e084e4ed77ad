"""Results: records of what commands did, as data; `report` renders it."""
