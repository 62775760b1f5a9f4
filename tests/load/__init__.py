"""What our doors cost per token and per stream, next to nginx and others: ``python -m tests.load``.

A black box: it talks to running servers on loopback and imports nothing of the package.
"""
