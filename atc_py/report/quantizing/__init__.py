"""Reports of quantizing a float model: tables, JSON, HTML."""
