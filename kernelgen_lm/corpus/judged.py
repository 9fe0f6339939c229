"""Kernels as conversations: made of a question, judged, with thinking out of what the executor saw."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from kernelgen_lm.corpus.observed import Launch, explain, explain_cases
from kernelgen_lm.corpus.sample import Message, answer_files, answer_text, sha256
from kernelgen_lm.corpus.spec import Spec
from kernelgen_lm.corpus.tilewriter import TileWriting, write_tile
from kernelgen_lm.judging import Bench, lower
from npukernelbench.errors import ExecutorError
from npukernelbench.generate.extract import DEVICE_SOURCE
from npukernelbench.nouns import Outcome, Prompt, Task, Track, Verdict
from npukernelbench.plugins import Plugins
from npukernelbench.prompts import PromptStyle

__all__ = ["Answered", "answered", "judge_summary", "kernel_of", "messages_of"]


class Answered(NamedTuple):
    """What was asked, the answer with a right kernel, the hash of its source, and the judge's verdict."""

    prompt: Prompt
    answer: str
    source: str
    verdict: Verdict

    @property
    def id(self) -> str:
        """Equal for equal samples."""
        return sha256(self.prompt.hash + self.answer)[:24]

    @property
    def messages(self) -> tuple[Message, ...]:
        """The whole conversation."""
        return (*messages_of(self.prompt), Message(role="assistant", content=self.answer))


def answered(
    bench: Bench, style: PromptStyle, task: Task, track: Track, files: Mapping[str, str]
) -> Answered | Verdict:
    """The conversation whose answer are these files; the verdict alone where a case of the task is not right.

    A task of the static track has one case.
    """
    verdict = bench.judge_files(task, task.cases, track, files)
    if verdict.outcome is not Outcome.OK:
        return verdict
    # Thinking needs what was seen of every case, so that one wrong case costs the sample.
    launches = [Launch(case, result, files) for case, result in zip(task.cases, verdict.cases, strict=True)]
    if track is Track.STATIC:
        prompt = style.render(task, task.cases[0], track)
        answer = answer_text(explain(launches[0]), files[DEVICE_SOURCE])
    else:
        prompt = style.render(task, None, track)
        answer = answer_files(explain_cases(launches), files)
    return Answered(prompt, answer, sha256("\n".join(files.values())), verdict)


def kernel_of(spec: Spec, task: Task, track: Track, plugins: Plugins) -> Mapping[str, str]:
    """The Ascend C that a question's tile program is lowered to, for all cases of its ``task``, by file name."""
    program = write_tile(spec, TileWriting((spec.dtype.value,)))
    files = lower(plugins, task, task.cases, track, program)
    # A program that was written here and cannot be lowered is a fault of ours, not a sample less.
    if isinstance(files, str):
        raise ExecutorError(f"the program of {spec.operator} cannot be lowered: {files}", detail=program)
    return files


def messages_of(prompt: Prompt) -> tuple[Message, ...]:
    """A prompt as messages of a sample."""
    return tuple(
        Message.model_validate({"role": message.role, "content": message.content}) for message in prompt.messages
    )


def judge_summary(verdict: Verdict) -> Mapping[str, object]:
    """What a sample keeps of its verdict."""
    profile = next((case.profile for case in verdict.cases if case.profile is not None), None)
    summary: dict[str, object] = {"outcome": verdict.outcome.value, "tier": verdict.tier.value}
    if profile is not None:
        # Rounded, so that a corpus does not change with the last digit of a prediction.
        summary |= {"machine": profile.machine, "time_us": round(profile.time_us, 3), "predicted": profile.predicted}
    if "roofline" in verdict.metrics:
        summary["roofline"] = round(verdict.metrics["roofline"], 4)
    return summary
