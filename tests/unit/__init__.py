"""Tests without I/O: one behaviour each."""
