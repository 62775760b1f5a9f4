"""Engines turn a request into events: one file per kind of engine behind one port."""
