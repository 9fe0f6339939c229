"""General chat data by its name on the hub, or out of a folder: so that a model does not forget how to talk.

Nothing of it is executed and nothing is ours: samples carry the data set's name, revision and licence, and the check of
contamination looks at them like at all others.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from kernelgen_lm.corpus.sample import Message, Sample, sha256
from npukernelbench.errors import UsageError

__all__ = ["ChatWish", "conversation", "make_chat", "open_dataset"]

_ROLES = {
    "system": "system",
    "user": "user",
    # Rows in the form of ShareGPT say human and gpt, and have from and value in place of role and content.
    "human": "user",
    "assistant": "assistant",
    "gpt": "assistant",
    "model": "assistant",
}
#: Fields of a question and its answer, where rows are no conversations.
_PAIRS = (("prompt", "completion"), ("prompt", "response"), ("question", "answer"), ("instruction", "output"))


class ChatWish(NamedTuple):
    """Which conversations to take. ``longest`` counts characters of a whole conversation, ``limit`` 0 is all."""

    name: str
    split: str
    subset: str
    revision: str
    licence: str
    limit: int
    longest: int
    seed: int


def open_dataset(wish: ChatWish) -> tuple[Iterable[Mapping[str, Any]], str]:
    """The rows in an order that follows from the seed, and the licence that is stated. UsageError."""
    try:
        # Here and not above: all other commands work without the package.
        import datasets
    except ImportError:
        remedy = "pip install 'npukernelbench[train]'"
        raise UsageError("chat data needs the package datasets", field="DATASET", remedy=remedy) from None
    folder = Path(wish.name)
    try:
        # Files that save_to_disk writes; load_dataset refuses such a folder.
        if (folder / "dataset_info.json").is_file() or (folder / "dataset_dict.json").is_file():
            loaded = datasets.load_from_disk(wish.name)
            rows = loaded[wish.split] if isinstance(loaded, datasets.DatasetDict) else loaded
        else:
            rows = datasets.load_dataset(
                wish.name, wish.subset or None, split=wish.split, revision=wish.revision or None
            )
    except (OSError, ValueError, KeyError, datasets.exceptions.DatasetsError) as error:
        first = str(error).splitlines()[0] if str(error) else type(error).__name__
        remedy = "name a folder or a data set of the hub, and --split"
        raise UsageError(f"{wish.name} cannot be loaded: {first}", field="DATASET", remedy=remedy) from None
    stated = str(getattr(rows.info, "license", "") or "")
    # Data sets are often sorted by source; a limited number of rows should see all of them.
    return rows.shuffle(seed=wish.seed), wish.licence or stated


def make_chat(rows: Iterable[Mapping[str, Any]], wish: ChatWish, licence: str) -> tuple[list[Sample], Counter[str]]:
    """Samples of the rows that are conversations, each once; counts of what became of rows."""
    if not licence.strip():
        raise UsageError(
            "the licence is unknown", field="--licence", remedy="write the licence from the data set's card"
        )
    samples: dict[str, Sample] = {}
    counts: Counter[str] = Counter()
    for row in rows:
        # The limit counts samples and not rows, many of which may be no conversations.
        if wish.limit and len(samples) >= wish.limit:
            break
        messages = conversation(row)
        outcome = _outcome(messages, wish, samples)
        counts[outcome] += 1
        if outcome == "ok":
            sample = _sample(messages, wish, licence)
            samples[sample.id] = sample
    return list(samples.values()), counts


def conversation(row: Mapping[str, Any]) -> tuple[Message, ...]:
    """The conversation in a row of one of the usual forms, up to its last answer; empty for any other row."""
    # Data sets call the same field by one of these names.
    turns = row.get("messages") or row.get("conversations") or row.get("conversation")
    turned = tuple(map(_message, turns)) if isinstance(turns, list) else tuple(_pair(row))
    messages = tuple(message for message in turned if message is not None)
    # A conversation with a gap makes no sense, so a turn that cannot be taken costs all of it.
    if len(messages) < len(turned):
        return ()
    # Only answers are learned: what follows the last one teaches nothing.
    while messages and messages[-1].role != "assistant":
        messages = messages[:-1]
    asked = [message.role for message in messages if message.role != "system"]
    alternate = all(role == ("user", "assistant")[at % 2] for at, role in enumerate(asked))
    # Chat templates take a system message at the beginning only.
    systems = [at for at, message in enumerate(messages) if message.role == "system"]
    return messages if messages and alternate and systems in ([], [0]) else ()


def _message(turn: object) -> Message | None:
    """One turn; None for tools, pictures and roles that are not known."""
    if not isinstance(turn, Mapping):
        return None
    role = _ROLES.get(str(turn.get("role") or turn.get("from") or ""))
    content = turn.get("content") if "content" in turn else turn.get("value")
    if role is None or not isinstance(content, str) or not content.strip():
        return None
    return Message.model_validate({"role": role, "content": content})


def _pair(row: Mapping[str, Any]) -> Iterator[Message | None]:
    for asked, answered in _PAIRS:
        question, answer = row.get(asked), row.get(answered)
        if isinstance(question, str) and isinstance(answer, str):
            # Alpaca's rows keep what an instruction is about in a field of its own, which may be empty.
            more = row.get("input")
            if asked == "instruction" and isinstance(more, str) and more.strip():
                question = f"{question}\n\n{more}"
            yield _message({"role": "user", "content": question})
            yield _message({"role": "assistant", "content": answer})
            return


def _outcome(messages: tuple[Message, ...], wish: ChatWish, samples: Mapping[str, Sample]) -> str:
    if not messages:
        return "no_conversation"
    # Characters: the tokenizer of the training is not known here.
    if sum(len(message.content) for message in messages) > wish.longest:
        return "too_long"
    return "repeated" if _identity(messages) in samples else "ok"


def _identity(messages: tuple[Message, ...]) -> str:
    # The separators keep conversations apart whose texts are the same but cut at other places.
    return sha256("\0".join(f"{message.role}\0{message.content}" for message in messages))[:24]


def _sample(messages: tuple[Message, ...], wish: ChatWish, licence: str) -> Sample:
    # Of a folder the name alone: samples must not tell paths of this machine.
    name = Path(wish.name).name if Path(wish.name).is_dir() else wish.name
    return Sample(
        id=_identity(messages),
        kind="chat",
        family="chat",
        operator="chat",
        dtype="none",
        shape=(),
        messages=messages,
        provenance={"source": "chat", "origin": name, "split": wish.split, "revision": wish.revision},
        licence=licence,
        hashes={"source": sha256(messages[-1].content)},
    )
