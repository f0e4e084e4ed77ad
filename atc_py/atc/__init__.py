"""atc's own command line: its options, the order of its checks, its console, its modes."""
