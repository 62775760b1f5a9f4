"""The embedded default: a model in this process, computed by CTranslate2 on the CPU.

Each token comes by the library's step callback, which also ends an answer: `generate_tokens` goes on decoding
when its consumer leaves, and an error in it can loop for ever.
"""

import asyncio
from functools import partial

import ctranslate2

from polystream.core.errors import ModelNotFound
from polystream.core.events import Notice, Usage
from polystream.core.ports import Emit, Ending, Model
from polystream.core.request import Request
from polystream.engines import ctranslate2_prompt
from polystream.engines.ctranslate2_batches import Batches
from polystream.engines.ctranslate2_job import Job
from polystream.engines.ctranslate2_speed import Speed
from polystream.models.folder import ModelFolder


class CTranslate2Engine:
    """See `core.ports.Engine`. `batch`, `queue`, `max_prompt`: ENGINE_BATCH, ENGINE_QUEUE, ENGINE_MAX_PROMPT.

    `name`: what clients call it, the folder's name if empty. Loads the model, which takes about a second; to
    be called within the event loop.
    """

    kind = "ctranslate2"

    def __init__(
        self, folder: ModelFolder, speed: Speed, *, name: str = "", batch: int, queue: int, max_prompt: int
    ):
        self._folder = folder
        self._name = name or folder.name
        self._limit = min(max_prompt or folder.context_length, folder.context_length - 1)
        generator = ctranslate2.Generator(
            str(folder.path), inter_threads=speed.workers, intra_threads=speed.threads
        )
        ids = map(folder.tokenizer.token_to_id, folder.end_tokens)
        self._end_ids = frozenset(id for id in ids if id is not None)
        self._batches = Batches(generator, sorted(self._end_ids), speed.workers, batch, queue)

    def check(self, request: Request) -> None:
        """Raises `ModelNotFound`, or `InvalidRequest` for fields without which the answer would be another
        thing.
        """
        if request.model and request.model != self._name:
            raise ModelNotFound(f"The model here is {self._name}.", param="model")
        ctranslate2_prompt.check(request)

    async def generate(self, request: Request, emit: Emit) -> Ending:
        """Wait for a place in a batch and decode.

        Raises `ContextLengthExceeded` before any work, `Overloaded` when too many wait.
        """
        folder, loop = self._folder, asyncio.get_running_loop()
        read = partial(ctranslate2_prompt.tokens, request, folder, self._limit)
        prompt = await loop.run_in_executor(None, read)
        room = folder.context_length - len(prompt)
        job = Job(
            prompt,
            ctranslate2_prompt.sampling(request, folder),
            min(request.max_tokens or folder.defaults.max_tokens, room),
            request.stop,
            self._end_ids,
            folder.pieces,
            emit,
            alternatives=request.logprobs,
            drop_first_space=folder.marks_first_word and ctranslate2_prompt.begins(request),
        )
        if fields := ctranslate2_prompt.ignored(request):
            emit([Notice("ignored", {"fields": fields})])
        reason = await self._batches.run(job)
        return Ending(reason, Usage(len(prompt), job.generated), self._name)

    async def models(self) -> list[Model]:
        """Its one model."""
        return [Model(self._name, "ready")]

    async def close(self) -> None:
        """End what runs and wait for the model's threads."""
        await self._batches.close()
