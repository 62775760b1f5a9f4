"""The edge: what all protocols share, written once."""
