"""The suite's own prompt for one case: the text of its generator, put together as that would do.

Only its usual mode is read: one case of fixed shape, device code alone.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from npukb_conformance.reading.evaluate import Program, read_program
from npukb_conformance.reading.table import Row
from npukernelbench.errors import SourceLocation, UsageError
from npukernelbench.nouns import Task, Track
from npukernelbench.prompts.interface import signature

__all__ = ["PromptTexts"]

_GENERATOR = "kernel_generator/generate_codes_with_sft.py"
_SAMPLES = ("kernel_generator/kernel_only_sft_sample.py", "kernel_generator/full_sft_sample.py")
_PARSER = "framework/kernel_parser.py"
#: What answers of that mode stand in; our parser of that name reads no other.
_TAG = "<kernel_impl>(.*?)</kernel_impl>"
_BUILD, _TEMPLATE, _DESCRIPTION = "build_code_generation_prompts", "generate_answer_template", "enhance_api_description"
_ENTRY = re.compile(r"__aicore__\s+void\s+(\w+)\s*\(([^)]*)\)")


@dataclass(frozen=True)
class PromptTexts:
    """What prompts are made of in the checkout at ``root``."""

    root: Path

    def prompt(self, folder: Path, task: Task, row: Row) -> str:
        """The user's message for one case. UsageError where the generator's text cannot be put together."""
        generator, owner = self._generator
        names: dict[str, object] = {
            **self._constants,
            "self.test_case_data": row,
            # Attributes and options that the generator reads, by the names under which its text has them.
            "self.test_case_data.empty": False,
            "self.api_description": _read(folder / "api_desc.md"),
            "self.task_obj.kernel_name": task.kernel,
            "self.task_obj.op_name": task.name,
            "self.required_files": [_template(folder, task)],
            "self.logger": None,
            "config.kernel_only_mode": True,
            "config.static_shape_mode": True,
        }
        functions: dict[str, Callable[..., object]] = {
            # The arguments are texts already: no path of the checkout is opened for its generator.
            "safe_read_file": lambda text: text,
            "textwrap.dedent": textwrap.dedent,
            "re.sub": re.sub,
            ".replace": lambda text, *given: text.replace(*given),
        }

        def template(*texts: object) -> object:
            return generator.call(f"{owner}.{_TEMPLATE}", {"kernel_impl": texts[0]}, functions, names)

        def description() -> object:
            return generator.call(f"{owner}.{_DESCRIPTION}", {}, functions, names)

        functions |= {f"self.{_TEMPLATE}": template, f"self.{_DESCRIPTION}": description}
        _, local = generator.trace(f"{owner}.{_BUILD}", {}, functions, names)
        text = local.get("user_prompt")
        if not isinstance(text, str):
            raise UsageError(
                "the prompt cannot be read here",
                location=SourceLocation(generator.path, generator.functions[f"{owner}.{_BUILD}"].lineno),
                field="--checkout",
                remedy="use another commit of the suite, or our prompts: --prompt_style default",
            )
        return text

    @cached_property
    def _generator(self) -> tuple[Program, str]:
        """The file that makes prompts, and the class in it."""
        program = read_program(self.root / _GENERATOR)
        owner = next((name.rpartition(".")[0] for name in program.functions if name.endswith(f".{_BUILD}")), "")
        known = {_BUILD, _TEMPLATE, _DESCRIPTION} <= {name.removeprefix(f"{owner}.") for name in program.functions}
        if not owner or not known:
            raise UsageError(
                f"no class here has {_BUILD}, {_TEMPLATE} and {_DESCRIPTION}",
                location=SourceLocation(program.path),
                field="--checkout",
            )
        if _TAG not in _read(self.root / _PARSER):
            raise UsageError(
                f"answers are not read as {_TAG}", location=SourceLocation(self.root / _PARSER), field="--checkout"
            )
        return program, owner

    @cached_property
    def _constants(self) -> dict[str, object]:
        result: dict[str, object] = {}
        for name in _SAMPLES:
            result |= read_program(self.root / name).constants
        return result


def _template(folder: Path, task: Task) -> str:
    """What a model has to fill in: the suite's, or one of ours where its entry has other arguments than ours."""
    paths = sorted((folder / "question" / "op_kernel").glob("*.cpp"))
    texts = [_read(path) for path in paths]
    for text in texts:
        entry = _ENTRY.search(text)
        # One comma less than parameters: the tiling comes behind the task's arguments.
        if entry and entry[1] == task.kernel and entry[2].count(",") == len(task.arguments):
            return text
    return f'#include "kernel_operator.h"\n\nusing namespace AscendC;\n\n{signature(task, Track.DYNAMIC)}\n{{\n}}\n'


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"cannot read {path}: {error}", field="--checkout") from error
