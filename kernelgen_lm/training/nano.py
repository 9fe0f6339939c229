"""KernelGen-LM nano: a byte-pair tokenizer trained on the corpus, and a small model of the Qwen3 architecture.

The chat template keeps of a prompt what differs between prompts: operator, formula, interface. What the harness says in
every prompt (hardware, rules, a worked example, the answer's format) is in the weights instead, so that prompts of all
styles fit a short window.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from pydantic import Field

from npukernelbench.strict import Strict

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerFast, Qwen3ForCausalLM

__all__ = ["CHAT_TEMPLATE", "NanoConfig", "make_model", "train_tokenizer"]

_START, _END, _PAD = "<|im_start|>", "<|im_end|>", "<|endoftext|>"
#: Names of types, single digits (so that numbers can be copied), line breaks with their indentation, phrases of code up
#: to where punctuation ends them: a kernel is mostly phrases that return, and half as long in them as in words.
_TYPES = r"u?int(?:8|16|32|64)_t|float(?:16|32)|bfloat16_t"
_PIECES = (
    rf"{_TYPES}|\p{{N}}|[\r\n]+[ \t]*|[^\r\n\p{{N}}]*?[;,(){{}}<>=:]+ ?"
    rf"|[^\r\n\p{{N}}]+?(?=[\r\n\p{{N}}]|{_TYPES}|$)"
)

CHAT_TEMPLATE = """{%- for message in messages -%}
{%- if message.role == 'user' -%}
{%- set asked = message.content.split('\nTarget: ')[0].split('\nResults are compared')[0] -%}
{{- '<|im_start|>user\n' + asked + '<|im_end|>\n' -}}
{%- elif message.role == 'assistant' -%}
{{- '<|im_start|>assistant\n' + message.content + '<|im_end|>\n' -}}
{%- endif -%}
{%- endfor -%}
{%- if add_generation_prompt -%}{{- '<|im_start|>assistant\n' -}}{%- endif -%}"""


class NanoConfig(Strict):
    """Size of the small model. The defaults have about 6 million parameters, for a CPU."""

    vocabulary: int = Field(2048, ge=300)
    hidden: int = Field(256, ge=16)
    layers: int = Field(6, ge=1)
    heads: int = Field(4, ge=1)
    key_value_heads: int = Field(2, ge=1)
    feed_forward: int = Field(768, ge=16)
    window: int = Field(4096, ge=64, description="tokens of prompt and answer together")


def train_tokenizer(texts: Iterable[str], config: NanoConfig) -> PreTrainedTokenizerFast:
    """A byte-level BPE tokenizer with the chat template above."""
    from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(_PIECES), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=config.vocabulary,
        special_tokens=[_PAD, _START, _END],
        # Every byte is in the vocabulary, so that no text is beyond the tokenizer.
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    fast = PreTrainedTokenizerFast(tokenizer_object=tokenizer, eos_token=_END, pad_token=_PAD)
    fast.chat_template = CHAT_TEMPLATE
    fast.model_max_length = config.window
    return fast


def make_model(config: NanoConfig, tokenizer: PreTrainedTokenizerFast, seed: int) -> Qwen3ForCausalLM:
    """A model with random weights that follow from the seed."""
    import torch
    from transformers import Qwen3Config, Qwen3ForCausalLM

    torch.manual_seed(seed)
    model = Qwen3ForCausalLM(
        Qwen3Config(
            vocab_size=len(tokenizer),
            hidden_size=config.hidden,
            intermediate_size=config.feed_forward,
            num_hidden_layers=config.layers,
            num_attention_heads=config.heads,
            num_key_value_heads=config.key_value_heads,
            head_dim=config.hidden // config.heads,
            max_position_embeddings=config.window,
            # With a vocabulary this size a second matrix would be a tenth of the parameters.
            tie_word_embeddings=True,
            # No token begins a text: the template writes none.
            bos_token_id=None,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
    )
    model.generation_config.eos_token_id = tokenizer.eos_token_id
    model.generation_config.pad_token_id = tokenizer.pad_token_id
    return model
