"""The embedded model's files: a GGUF file becomes a CTranslate2 folder, once, and that what an engine needs.

Nothing here computes an answer, and nothing prints: progress goes to a callback, and an error's text says
what is wrong.
"""
