"""Polystream: the answers of language models, streamed over every protocol from one numbered log."""

from importlib.metadata import version

__version__ = version("polystream")
