"""A model file (GGUF) in this process, by llama.cpp: the extra ``local``."""

from __future__ import annotations

import asyncio
import hashlib
import importlib
import importlib.util
import json
import threading
import time
from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any, Literal

from datasheet.errors import PermanentJudgeError, TransientJudgeError, UsageError
from datasheet.judge.api_error import ApiError
from datasheet.judge.completion import EmptyReplyError, OddBodyError, read_completion
from datasheet.judge.daemon import in_thread
from datasheet.judge.urls import visible
from datasheet.records import Reply, Request

_LIBRARY = "llama_cpp"


class LocalJudge:
    """Asks a model file, one call at a time.

    The model is loaded at the first call: whether it has to keep the scores of all tokens depends on the prompt.

    Parameters
    ----------
    file
        A model in the GGUF format, with a chat template.
    model
        Its name; that of the file if None. The content of the file is part of the identity, its place is not.
    temperature, seed, max_tokens
        As for an OpenAI-compatible server.
    json_mode
        ``"json_object"`` holds the reply to the prompt's JSON Schema.
    context_tokens
        Tokens of prompt and reply together.
    load_options
        Further arguments of ``llama_cpp.Llama``, such as ``n_gpu_layers``; no part of the identity.
    """

    adapter = "local"
    simulated = False

    def __init__(
        self,
        *,
        file: str,
        model: str | None = None,
        temperature: float = 0.0,
        seed: int | None = None,
        max_tokens: int | None = None,
        json_mode: Literal["off", "json_object"] = "off",
        context_tokens: int = 4096,
        load_options: Mapping[str, object] | None = None,
    ) -> None:
        self._file = Path(file).expanduser()
        self.model = model or self._file.stem
        self._temperature = float(temperature)
        self._seed = seed
        self._max_tokens = max_tokens
        self._json_mode = json_mode
        self._context_tokens = context_tokens
        self._load_options = dict(load_options or {})
        self._one_at_a_time = asyncio.Lock()
        self._in_use = threading.Lock()  # also by a call that was cancelled, which goes on in its thread
        self._llama: Any = None
        self._keeps_scores = False

    @cached_property
    def decoding(self) -> Mapping[str, object]:
        """The settings that shape the reply, and the hash of the file."""
        settings = {
            "temperature": self._temperature,
            "seed": self._seed,
            "max_tokens": self._max_tokens,
            "json_mode": None if self._json_mode == "off" else self._json_mode,
            "context_tokens": self._context_tokens,
            "file_sha256": self._digest(),
        }
        return {name: value for name, value in settings.items() if value is not None}

    @property
    def provenance(self) -> Mapping[str, str]:
        """The name of the file, without its place on this machine."""
        return {"model_file": self._file.name}

    async def open(self) -> None:
        """See whether there is a library that can load the file.

        Raises
        ------
        PermanentJudgeError
            There is none.
        """
        self._one_at_a_time = asyncio.Lock()
        if importlib.util.find_spec(_LIBRARY) is None:
            raise PermanentJudgeError(
                "a local judge needs llama-cpp-python, which is not installed: pip install 'judge-datasheet[local]' "
                "(it is built from source, for ten minutes or so)",
                kind="import",
            )

    async def close(self) -> None:
        """Let go of the model; a call that still runs in its thread keeps it until it ends."""
        self._llama = None

    async def ask(self, request: Request) -> Reply:
        """One call. A prompt that is longer than the context gives an empty reply with that finish reason.

        Raises
        ------
        TransientJudgeError
            The reply is empty (``kind`` is empty), or the library failed (``exception``).
        PermanentJudgeError
            The file can't be loaded.
        """
        async with self._one_at_a_time:
            await self._load(scores=bool(request.top_logprobs))
            started_s = time.perf_counter()
            try:
                document = await in_thread(partial(_completed, self._llama, self._in_use), self._asked(request))
            except Exception as problem:  # the library says what is wrong by exceptions of any kind
                if ApiError(message=str(problem)).meaning == "context_length":
                    return Reply(text="", finish_reason="context_length", model=self.model)
                raise TransientJudgeError(f"{self.model} failed: {self._told(problem)}", kind="exception") from None
            latency_s = time.perf_counter() - started_s
        try:
            document = json.loads(json.dumps(document, default=float))  # its log-probabilities are numbers of NumPy
            return replace(read_completion(document), model=self.model, latency_s=latency_s)
        except (EmptyReplyError, OddBodyError, TypeError) as problem:
            raise TransientJudgeError(f"{self.model} gave no reply ({problem})", kind="empty") from None

    def _asked(self, request: Request) -> dict[str, object]:
        asked: dict[str, object] = {
            "messages": [{"role": role, "content": text} for role, text in request.messages],
            "temperature": self._temperature,
            "max_tokens": self._max_tokens or request.max_tokens,
        }
        if self._seed is not None:
            asked["seed"] = self._seed + request.repeat
        if self._json_mode == "json_object" and request.response_schema is not None:
            asked["response_format"] = {"type": "json_object", "schema": request.response_schema}
        if request.top_logprobs:
            asked |= {"logprobs": True, "top_logprobs": request.top_logprobs}
        return asked

    async def _load(self, *, scores: bool) -> None:
        if self._llama is not None and (self._keeps_scores or not scores):
            return
        options = {"n_ctx": self._context_tokens, "logits_all": scores, "verbose": False, **self._load_options}
        try:
            library = importlib.import_module(_LIBRARY)
            self._llama = await in_thread(lambda path: library.Llama(model_path=path, **options), str(self._file))
        except Exception as problem:  # of the library's own, or of its shared objects
            raise PermanentJudgeError(
                f"{self._file.name} can't be loaded ({self._told(problem)}): expected a model in the GGUF format",
                kind="load",
            ) from None
        self._keeps_scores = scores

    def _told(self, problem: Exception) -> str:
        """What is wrong, without the place of the file on this machine."""
        return visible(f"{type(problem).__name__}: {problem}".replace(str(self._file), self._file.name))

    def _digest(self) -> str:
        try:
            with self._file.open("rb") as content:
                return hashlib.file_digest(content, "sha256").hexdigest()
        except OSError as problem:
            raise UsageError(f"the model file {self._file} can't be read: {problem.strerror}") from None


def _completed(llama: Any, in_use: threading.Lock, asked: dict[str, object]) -> Any:
    with in_use:
        return llama.create_chat_completion(**asked)
