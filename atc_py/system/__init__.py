"""The machine: files, signals and the memory that a process may take."""
