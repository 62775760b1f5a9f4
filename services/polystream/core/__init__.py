"""The product without I/O: events, requests, errors, the log and its generations; standard library only."""
