"""Options of compilation, input shapes and output paths, checked and typed."""
