"""Reports of kernel stubs and of their verification."""
