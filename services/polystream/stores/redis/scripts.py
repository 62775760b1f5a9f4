"""The Lua scripts, a file each. None touches keys of two generations, and all may be sent again."""

import hashlib
from importlib.resources import files


class Script:
    """One script; Redis knows it by its digest once it was loaded."""

    __slots__ = ("digest", "source")

    def __init__(self, name: str):
        self.source = files(__package__).joinpath(f"{name}.lua").read_text()
        self.digest = hashlib.sha1(self.source.encode(), usedforsecurity=False).hexdigest()


APPEND = Script("append")
CANCEL = Script("cancel")
CLAIM = Script("claim")
CREATE = Script("create")
READ = Script("read")
RELEASE = Script("release")
