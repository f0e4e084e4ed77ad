"""ATC's command line: its options, modes and messages on what this package does."""
