"""Stores keep logs and their records: one adapter per kind of store behind one port."""
