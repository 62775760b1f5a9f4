"""Dialects spell the log in somebody's format, and read requests from it: pure functions, no I/O."""
