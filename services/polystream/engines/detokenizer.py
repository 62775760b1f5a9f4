"""Token ids become text one by one, without loss: a character cut between two tokens waits for its rest.

Decoding each token alone would show U+FFFD for split characters and lose SentencePiece's blanks, so the bytes
that a token stands for are joined and decoded as they come.
"""

import codecs
from collections.abc import Sequence


class Detokenizer:
    """One answer. `pieces`: the bytes that each token id stands for in running text.

    `drop_first_space`: an answer's first blank is SentencePiece's mark of a word, not the text's.
    """

    __slots__ = ("_decode", "_drop_space", "_pieces")

    def __init__(self, pieces: Sequence[bytes], drop_first_space: bool = False):
        self._pieces = pieces
        self._drop_space = drop_first_space
        self._decode = codecs.getincrementaldecoder("utf-8")("replace").decode

    def feed(self, token_id: int) -> str:
        """The text that the token completes; empty while it ends within a character.

        Half a character at the answer's end never becomes text.
        """
        text = self._decode(self._pieces[token_id])
        if self._drop_space and text:
            self._drop_space = False
            return text.removeprefix(" ")
        return text
