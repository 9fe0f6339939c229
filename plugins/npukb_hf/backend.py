"""The hf backend: batches of requests through a transformers model, in a thread beside the harness."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import suppress
from importlib import import_module
from importlib.util import find_spec
from threading import Event
from typing import TYPE_CHECKING, Any, ClassVar

from pydantic import BaseModel

from npukb_hf.args import HFArgs
from npukb_hf.sampling import processors, sent
from npukernelbench.errors import BackendError, NpukbError
from npukernelbench.generate import (
    Capabilities,
    GenerationFault,
    GenerationRequest,
    GenerationResult,
    checkpoint_facts,
    find_checkpoint,
    split_thinking,
)
from npukernelbench.nouns import Completion, FinishReason, Prompt, TokenUsage

if TYPE_CHECKING:
    import torch

__all__ = ["HFBackend"]

_INSTALL = "pip install 'npukernelbench[hf]'"


class HFBackend:
    """Answers with a transformers checkpoint. Loading is heavy and happens in :meth:`open`."""

    Args: ClassVar[type[BaseModel]] = HFArgs
    capabilities: Capabilities = Capabilities(seeds=True)

    def __init__(self, args: HFArgs) -> None:
        self.args = args
        self._model: Any = None
        self._tokenizer: Any = None
        self._stop = Event()

    def describe(self) -> Mapping[str, str]:
        """Which checkpoint answers."""
        return checkpoint_facts(self.args.model, self.args.revision)

    async def open(self) -> None:
        """Load tokenizer and weights. BackendError when a package is missing or there is no such checkpoint."""
        await asyncio.to_thread(self._load)

    async def close(self) -> None:
        """Drop the weights."""
        self._stop.set()
        self._model = self._tokenizer = None

    async def generate_many(self, requests: Sequence[GenerationRequest]) -> AsyncIterator[GenerationResult]:
        """Answer in batches of requests with like sampling and length."""
        self._stop.clear()
        try:
            for batch in self._batches(requests):
                for result in await asyncio.to_thread(self._answer, batch):
                    yield result
        finally:
            # A batch that nobody waits for goes on in its thread; this ends it at the next token.
            self._stop.set()

    def _load(self) -> None:
        try:
            import torch
            from transformers import AutoModelForCausalLM, AutoTokenizer
        except ImportError as error:
            raise BackendError(f"transformers cannot be imported: {error}", remedy=_INSTALL) from error
        device = _device(self.args.device)
        place = find_checkpoint(self.args.model)
        where = {"revision": self.args.revision, "trust_remote_code": self.args.trust_remote_code, **place.arguments}
        try:
            self._tokenizer = AutoTokenizer.from_pretrained(place.name, **where)
            model = AutoModelForCausalLM.from_pretrained(place.name, dtype=_dtype(self.args.dtype, device), **where)
            self._model = model.to(torch.device(device)).eval()
        except (OSError, ValueError, RuntimeError) as error:
            raise BackendError(
                f"the checkpoint {self.args.model} cannot be loaded: {error}",
                field="model_args.model",
                remedy="name a folder that save_pretrained wrote, or a checkpoint that this machine can download",
            ) from error
        # Answers continue at the end of a row, so the padding must be at its beginning.
        self._tokenizer.padding_side = "left"
        if self._tokenizer.pad_token_id is None:
            self._tokenizer.pad_token = self._tokenizer.eos_token

    def _batches(self, requests: Sequence[GenerationRequest]) -> list[list[GenerationRequest]]:
        """Requests that may share a batch, in order: the first request is answered first."""
        batches: list[list[GenerationRequest]] = []
        for request in requests:
            last = batches[-1] if batches else None
            # A batch is generated with one set of parameters.
            if last and len(last) < self.args.batch_size and last[0].params == request.params:
                last.append(request)
            else:
                batches.append([request])
        return batches

    def _answer(self, batch: list[GenerationRequest]) -> list[GenerationResult]:
        """Boundary: what fails for a batch is tried one by one, so that one bad request costs only itself."""
        try:
            return self._generate(batch)
        except NpukbError:
            raise
        except Exception as error:  # noqa: BLE001
            if len(batch) > 1:
                return [result for request in batch for result in self._answer([request])]
            return [GenerationResult(batch[0], GenerationFault(f"{type(error).__name__}: {error}", retryable=False))]

    def _generate(self, batch: list[GenerationRequest]) -> list[GenerationResult]:
        import torch

        texts = [self._text(request.prompt) for request in batch]
        # The chat template has written the special tokens; the tokenizer would add a second beginning.
        inputs = self._tokenizer(texts, return_tensors="pt", padding=True, add_special_tokens=False)
        inputs = inputs.to(self._model.device)
        length = int(inputs["input_ids"].shape[1])
        room = self._window() - length
        if room < 1:
            # The longest prompt sets the padded length of all: alone, the shorter ones may fit.
            if len(batch) > 1:
                return [result for request in batch for result in self._generate([request])]
            fault = f"the prompt has {length} tokens, the model's window {self._window()}"
            return [GenerationResult(batch[0], GenerationFault(fault, retryable=False))]
        params = batch[0].params
        longest = min(room, params.max_tokens or self.args.max_tokens)
        with torch.inference_mode():
            output = self._model.generate(
                **inputs,
                # Greedy: the row's own processor has already left a single token possible.
                do_sample=False,
                temperature=None,
                top_p=None,
                top_k=None,
                max_new_tokens=longest,
                logits_processor=processors(params, [request.seed for request in batch]),
                stopping_criteria=[self._stopped],
                pad_token_id=self._tokenizer.pad_token_id,
            )
        used = inputs["attention_mask"].sum(dim=1).tolist()
        return [
            GenerationResult(request, self._completion(row[length:].tolist(), prompt_tokens, sent(request, longest)))
            for request, row, prompt_tokens in zip(batch, output, used, strict=True)
        ]

    def _completion(self, tokens: list[int], prompt_tokens: int, sampling: Mapping[str, object]) -> Completion:
        """A row's new tokens up to and without the one that ends it."""
        ends = self._ends()
        stop = next((position for position, token in enumerate(tokens) if token in ends), None)
        kept = tokens[:stop]
        split = split_thinking(self._tokenizer.decode(kept, skip_special_tokens=True))
        return Completion(
            text=split.answer,
            reasoning=split.thinking,
            finish_reason=FinishReason.LENGTH if stop is None else FinishReason.STOP,
            usage=TokenUsage(prompt=prompt_tokens, completion=len(kept)),
            model=self.args.model,
            sent=sampling,
        )

    def _text(self, prompt: Prompt) -> str:
        """The prompt as the model reads it; a checkpoint without a chat template gets the messages as they are."""
        messages = [{"role": message.role, "content": message.content} for message in prompt.messages]
        if not self._tokenizer.chat_template:
            return "\n\n".join(message["content"] for message in messages)
        return str(
            self._tokenizer.apply_chat_template(
                messages, tokenize=False, add_generation_prompt=True, **self.args.chat_template_kwargs
            )
        )

    def _window(self) -> int:
        """Tokens that prompt and answer may have together."""
        config = self._model.config.get_text_config()
        return int(getattr(config, "max_position_embeddings", 1 << 20))

    def _ends(self) -> frozenset[int]:
        """Tokens that end an answer."""
        # Chat checkpoints may end a turn with another token than the tokenizer's, and name several.
        named = self._model.generation_config.eos_token_id
        own = [] if self._tokenizer.eos_token_id is None else [self._tokenizer.eos_token_id]
        return frozenset([*own, *(named if isinstance(named, list) else [] if named is None else [named])])

    def _stopped(self, input_ids: torch.Tensor, scores: object, **_: object) -> torch.Tensor:
        """Ends every row once the run is interrupted."""
        import torch

        del scores
        return torch.full((input_ids.shape[0],), self._stop.is_set(), device=input_ids.device)


def _device(name: str) -> str:
    """``auto`` resolved: an NPU or GPU when torch sees one. No hardware has run the NPU's branch yet."""
    import torch

    if name.startswith("npu") or (name == "auto" and find_spec("torch_npu") is not None):
        with suppress(ImportError, OSError, RuntimeError):  # without its toolkit it cannot be imported
            import_module("torch_npu")
    if name != "auto":
        return name
    if torch.cuda.is_available():
        return "cuda"
    npu = getattr(torch, "npu", None)
    return "npu" if npu is not None and npu.is_available() else "cpu"


def _dtype(name: str, device: str) -> object:
    import torch

    if name == "auto":
        # Half types are slow on most CPUs, and some operations have no CPU kernel for them.
        return torch.float32 if device == "cpu" else "auto"
    return getattr(torch, name)
