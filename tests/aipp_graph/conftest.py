"""The command line in this process, for tests of pictures."""
