"""A converted model as far as the engine reads it itself, for a stand-in of CTranslate2.

SentencePiece tokens, and a template that spells the beginning, as the tokenizer would too.
"""

import json
import os
from pathlib import Path
from typing import Any

from tokenizers import AddedToken, Tokenizer, decoders, normalizers
from tokenizers.models import BPE

from tests.integration.server import ROOT

#: What the stand-in says; see there.
Steps = list[dict[str, Any]]

_WORDS = [
    "▁The",
    "▁cat",
    "▁s",
    "at",
    "▁",
    "▁down",
    ".",
    "!",
    "▁so",
    "▁far",
    "▁more",
    "▁Answer",
    ":",
    "U",
    "s",
    "er",
]
_TEMPLATE = "{{ bos_token }}{% for m in messages %}<u>{{ m.content }}</u>{% endfor %}<a>"
_CONTROL = ["<unk>", "<s>", "</s>"]
_DEFAULTS = {"temperature": 0.2, "top_p": 0.9, "top_k": 40, "repetition_penalty": 1.1, "max_tokens": 4000}


def write(folder: Path) -> Path:
    """The folder, filled."""
    bytes_ = [f"<0x{byte:02X}>" for byte in range(256)]
    tokens = list(dict.fromkeys([*_CONTROL, *bytes_, *_WORDS, *map(chr, range(33, 127))]))
    tokenizer = Tokenizer(
        BPE({token: id for id, token in enumerate(tokens)}, [], unk_token="<unk>", byte_fallback=True)
    )
    tokenizer.normalizer = normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")])
    tokenizer.decoder = decoders.Sequence(
        [decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()]
    )
    tokenizer.add_special_tokens([AddedToken(token, special=True, normalized=False) for token in _CONTROL])
    tokenizer.save(str(folder / "tokenizer.json"))
    about = {
        "format": 1,
        "name": "small",
        "context_length": 4096,
        "tokenizer": "llama",
        "bos": "<s>",
        "eos": "</s>",
        "end_tokens": ["</s>"],
        "add_bos": True,
        "defaults": _DEFAULTS,
    }
    (folder / "polystream.json").write_text(json.dumps(about))
    (folder / "vocabulary.json").write_text(json.dumps(tokens))
    (folder / "config.json").write_text("{}")
    (folder / "model.bin").write_bytes(b"")
    (folder / "chat_template.jinja").write_text(_TEMPLATE)
    return folder


def stand_in(folder: Path, steps: Steps) -> dict[str, Any]:
    """Settings of a server that computes the model in this folder with the stand-in."""
    path = (Path(__file__).parent / "stand_in", ROOT / "services", ROOT)
    return {
        "MODEL": folder,
        "MODEL_PORT": 0,
        "ENGINE_THREADS": 1,
        "STEPS": json.dumps(steps),
        "PYTHONPATH": os.pathsep.join(map(str, path)),
    }
