"""Tiny checkpoints of Qwen3's architecture, made here: no hub, no download."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

#: The shape of Qwen3's chat template, without tools.
TEMPLATE = (
    "{% for message in messages %}<|im_start|>{{ message.role }}\n{{ message.content }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
END = "<|im_end|>"


def build(folder: Path, texts: Sequence[str], *, window: int = 8192, seed: int = 0) -> Path:
    """An untrained checkpoint whose tokenizer has learnt ``texts``."""
    model, tokenizer = _new(texts, window, seed)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def memorise(folder: Path, messages: Sequence[Any], answer: str, *, window: int = 8192) -> Path:
    """A checkpoint that has learnt one answer to one prompt by heart."""
    import torch

    model, tokenizer = _new([*(message.content for message in messages), answer], window, 0)
    chat = [{"role": message.role, "content": message.content} for message in messages]
    prompt = tokenizer.apply_chat_template(chat, tokenize=False, add_generation_prompt=True)
    before = tokenizer(prompt, add_special_tokens=False)["input_ids"]
    after = tokenizer(answer + END, add_special_tokens=False)["input_ids"]
    tokens = torch.tensor([before + after])
    labels = torch.tensor([[-100] * len(before) + after])
    torch.set_num_threads(1)  # threads that wait for each other are slow on a busy machine
    optimiser = torch.optim.AdamW(model.parameters(), lr=5e-3)
    for _ in range(1000):
        loss = model(input_ids=tokens, labels=labels).loss
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimiser.step()
        if loss.item() < 5e-3:
            break
    else:
        raise AssertionError(f"the answer was not learnt: loss {loss.item()}")
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def _new(texts: Sequence[str], window: int, seed: int) -> tuple[Any, Any]:
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

    bare = Tokenizer(models.BPE())
    bare.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bare.decoder = decoders.ByteLevel()
    special = ["<|endoftext|>", "<|im_start|>", END]
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=3000, special_tokens=special, initial_alphabet=alphabet, show_progress=False
    )
    bare.train_from_iterator(texts, trainer)
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=bare, eos_token=END, pad_token="<|endoftext|>")
    tokenizer.chat_template = TEMPLATE
    torch.manual_seed(seed)
    widths = {"hidden_size": 64, "intermediate_size": 128, "head_dim": 64}
    counts = {"num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1}
    config = Qwen3Config(
        **widths,
        **counts,
        vocab_size=len(tokenizer),
        max_position_embeddings=window,
        tie_word_embeddings=True,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=None,
    )
    return Qwen3ForCausalLM(config), tokenizer
