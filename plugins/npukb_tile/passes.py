"""``--strategy tile-llm``: the model writes a tile program and lowers it itself, in four passes, as AscendCraft does.

For comparison with ``tile``: the same language, the same question, the same checks of the program; then four questions
in place of our four passes. Each shows the program, the code so far, what the pass has to do, and what our own lowering
makes of another program. The code is compiled and judged after each pass; where it does not compile the pass is asked
again, up to ``--turns`` times. A kernel that is right ends the conversation: the last pass is for odd sizes only.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from npukb_tile.answers import program_in
from npukb_tile.checking import case_attributes, case_facts
from npukb_tile.lowering import lower_dynamic, lower_static
from npukb_tile.making import PROGRAM
from npukb_tile.parse import parse_program
from npukb_tile.prompting import exemplar, opening, prompt_of, refusal
from npukb_tile.strategy import made_of
from npukernelbench.generate import Hints, candidate_of, feedback, next_prompt, wrap
from npukernelbench.generate.extract import extract
from npukernelbench.generate.fences import scan
from npukernelbench.generate.strategy import Answer, Made, no_candidate
from npukernelbench.nouns.evidence import Diagnostic
from npukernelbench.nouns.outcomes import Outcome, Owner, Severity, Stage, Track
from npukernelbench.nouns.sample import Message, Prompt, Sample
from npukernelbench.nouns.task import Case, Task
from npukernelbench.prompts import signature

if TYPE_CHECKING:
    from npukernelbench.prompts.style import PromptStyle, Tasks

__all__ = ["TILE_LLM", "PassesStrategy"]


class _Pass(NamedTuple):
    title: str
    static: str
    dynamic: str
    rules: str


_PASSES = (
    _Pass(
        "host",
        "Write `kernel.cpp` with the numbers of the host function for this case as constants and the entry, which does "
        "nothing yet.",
        "Write the tiling structure, the tiling function, shape inference and the operator's definition, and a kernel "
        "file whose entry reads the tiling data and does nothing yet.",
        "- Copy every number from the host function of the program; invent none.\n"
        "- What `launch` hands on becomes a field of the tiling structure, or a constant.\n"
        "- `cores` is the number of blocks; on a static kernel all others return at once.",
    ),
    _Pass(
        "kernel initialisation",
        "Add a class with `Init`: global tensors and on-chip memory. `Process` stays empty.",
        "Add a class with `Init`: global tensors and on-chip memory. `Process` stays empty.",
        "- Each tensor becomes a `GlobalTensor`; offsets follow from `GetBlockIdx()`, which is `core()`.\n"
        "- A buffer that is loaded and then computed on becomes a `TQue<QuePosition::VECIN, depth>`, one that is "
        "computed and then stored a `TQue<QuePosition::VECOUT, depth>`, anything else a `TBuf<TPosition::VECCALC>`.\n"
        "- `depth=2` is double buffering: two buffers in the queue.\n"
        "- A `multiplier` becomes a `matmul::Matmul` object, registered by `REGIST_MATMUL_OBJ` in a kernel of the type "
        "`KERNEL_TYPE_MIX_AIC_1_2`, which has half as many blocks as `cores`.",
    ),
    _Pass(
        "computation",
        "Add one inlined stage function per block of the program, and `Process`, which calls them in its loops.",
        "Add one inlined stage function per block of the program, and `Process`, which calls them in its loops.",
        "- `copy_in`: `AllocTensor`, `DataCopy` from global memory, `EnQue`.\n"
        "- `compute`: `DeQue` at its beginning, vector instructions, `EnQue` of what is stored, `FreeTensor`.\n"
        "- `copy_out`: `DeQue`, `DataCopy` to global memory, `FreeTensor`.\n"
        "- `SyncAll()` only where the program says `sync_all()`.\n"
        "- `multiply`: `SetOrgShape`, `SetTensorA`, `SetTensorB`, `SetTail` and `IterateAll` of its object.",
    ),
    _Pass(
        "alignment",
        "Make every copy right whose length is no multiple of 32 bytes, and repair what was found.",
        "Make every copy right whose length is no multiple of 32 bytes, and repair what was found.",
        "- Plain `DataCopy` moves whole blocks of 32 bytes at addresses that are multiples of 32.\n"
        "- Elsewhere use `DataCopyPad` with `DataCopyExtParams` and, inwards, `DataCopyPadExtParams`.\n"
        "- Rows in on-chip memory begin at multiples of 32 bytes.",
    ),
)
# The template's name tells the step, because a resumed run knows a sample by its prompt only.
_STEP = re.compile(r"tile-llm-(\d)@")
_ROLE = "You lower programs of a small tile language to Ascend C for Huawei Ascend AI processors, one pass at a time.\n"
_RIGHT = Diagnostic(Severity.NOTE, "program_accepted", "the program is accepted; its kernel is still to be written")


class PassesStrategy:
    """Five steps: the program, and the four passes."""

    steps = 1 + len(_PASSES)

    def refuses(self, task: Task, track: Track) -> str | None:
        """Tasks that the language has no words for."""
        del track
        return refusal(task)

    def opening(self, task: Task, case: Case | None, track: Track, style: PromptStyle, tasks: Tasks) -> Prompt:
        """The question for a program: the same as that of ``tile``, with what the passes will need."""
        del style
        known = tasks()
        asked = opening(task, case, known).messages
        return prompt_of("tile-llm-0", (*asked[:-1], Message("user", asked[-1].content + _later(task, track, known))))

    def make(self, answer: Answer) -> Made:
        """A program in the first step, which is checked; source in the others, which is judged."""
        if _step(answer.prompt) == 0:
            source = program_in(answer.completion)
            if isinstance(source, Outcome):
                return no_candidate(source)
            made = made_of(source, answer)
            if made.outcome is not Outcome.OK:
                return made
            # A right program is no kernel yet: the conversation must go on, which OK would end.
            return Made(candidate_of({PROGRAM: source}), Outcome.NO_CODE, Stage.EXTRACT, (_RIGHT,))
        extracted = extract(answer.parser, answer.completion, answer.task, answer.track)
        if isinstance(extracted, Outcome):
            return no_candidate(extracted)
        # The program goes along, since the next question is made of this candidate alone.
        return Made(candidate_of({**extracted.files, PROGRAM: _shown(answer.prompt, "The program")}))

    def following(self, sample: Sample, turns: int, hints: Hints) -> Prompt | None:
        """The next pass where this one compiled, else the same again; None at the end."""
        verdict, completion = sample.verdict, sample.completion
        if verdict is None or completion is None or verdict.owner not in (Owner.MODEL, Owner.NONE):
            return None
        if verdict.outcome is Outcome.OK:
            return None
        step = _step(sample.prompt)
        if step + 1 < self.steps and sample.candidate is not None and _passed(step, verdict.outcome, verdict.stage):
            # Before the last pass only: what an incomplete kernel computes wrongly tells nothing.
            told = feedback(sample.candidate, verdict, hints) if step + 2 == self.steps else ""
            return _next_pass(sample.prompt, sample.candidate.files, step + 1, told)
        # Turns of this pass: every pass begins a conversation of its own.
        asked = sum(message.role == "assistant" for message in sample.prompt.messages) + 1
        return None if asked >= turns else next_prompt(sample.prompt, completion, sample.candidate, verdict, hints)


def _passed(step: int, outcome: Outcome, stage: Stage) -> bool:
    # A pass that compiles is done, though its kernel is still incomplete and fails when run.
    return outcome is Outcome.NO_CODE if step == 0 else stage.order > Stage.COMPILE.order


def _later(task: Task, track: Track, tasks: Mapping[str, Task]) -> str:
    """What the passes are shown again: the entry, the operator, and an example of the lowering."""
    parts = [
        "\n## Afterwards\n",
        "You will be asked to lower your program in four passes; answer with the program now.\n",
    ]
    parts.append(f"### The entry\n\n```cpp\n{signature(task, track)}\n```\n")
    shown = exemplar(task, tasks)
    if shown is not None:
        files = _lowered(shown.source, shown.task, track)
        parts.append("### What lowering makes of the program shown above\n")
        parts += [wrap(text, name="" if track is Track.STATIC else name) for name, text in files.items()]
    return "\n".join(parts)


def _lowered(source: str, task: Task, track: Track) -> Mapping[str, str]:
    program, case = parse_program(source), task.usual_case
    if track is Track.DYNAMIC:
        return lower_dynamic(program).files
    return lower_static(program, case_facts(program, case), case_attributes(program, case)).files


def _next_pass(prompt: Prompt, files: Mapping[str, str], step: int, told: str) -> Prompt:
    """The question for one pass. What stays the same comes out of the question before."""
    before, tile_pass = prompt.messages[1].content, _PASSES[step - 1]
    # The prompt is all that a resumed run has; the entry that it shows tells the track.
    static = "GM_ADDR tiling)" not in before
    how = tile_pass.static if static else tile_pass.dynamic
    # Later questions are the first one with other endings: the prompt does not grow with every pass.
    context = before if step == 1 else before[: before.index(_MARK)]
    code = {name: text for name, text in files.items() if name != PROGRAM}
    parts = [
        context.rstrip(),
        f"\n{_MARK} {step} of {len(_PASSES)}: {tile_pass.title}\n\n{how}\n\n{tile_pass.rules}\n",
        f"### The program\n\n{wrap(files[PROGRAM], 'python')}",
    ]
    if code:
        parts.append("### The code so far\n")
        parts += [wrap(text, name="" if static else name) for name, text in code.items()]
    if told:
        parts.append(f"### What was found\n\n{told}")
    parts.append(
        "Answer with the whole code as it is after this pass: "
        + (
            "one fenced block that opens with ```cpp."
            if static
            else "every file in a block of its own, ```cpp and its name."
        )
    )
    return prompt_of(f"tile-llm-{step}", (Message("system", _ROLE), Message("user", "\n".join(parts) + "\n")))


_MARK = "# Pass"


def _step(prompt: Prompt) -> int:
    match = _STEP.match(prompt.template)
    return int(match.group(1)) if match else 0


def _shown(prompt: Prompt, title: str) -> str:
    """The block under a heading of the question."""
    content = prompt.messages[1].content
    return scan(content[content.index(f"### {title}\n") :]).blocks[0].text


TILE_LLM = PassesStrategy()
