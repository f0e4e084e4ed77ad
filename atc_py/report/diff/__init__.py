"""What `diff` prints: tables and a page."""
