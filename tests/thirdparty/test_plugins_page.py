"""docs/plugins.md says what is: its headings are the hooks' signatures, its examples work."""

from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import click
import pytest

from npukernelbench import hookspecs
from npukernelbench.generate.fences import Block, scan
from npukernelbench.plugins import Plugins
from npukernelbench.testing import standin
from npukernelbench.testing.fixtures import npukb_standin
from npukernelbench.testing.tasks import tiny_task

__all__ = ["npukb_standin"]

PAGE = (Path(__file__).parents[2] / "docs" / "plugins.md").read_text(encoding="utf-8")


def sections() -> dict[str, str]:
    """The text below every heading of the third level, by heading."""
    parts = re.split(r"^### (.+)$", PAGE, flags=re.MULTILINE)
    return dict(zip(parts[1::2], (text.partition("\n## ")[0] for text in parts[2::2]), strict=True))


def python_blocks(text: str) -> list[Block]:
    return [block for block in scan(text).blocks if block.language == "python"]


def hook_signatures() -> list[str]:
    """Every hook of the specification, as ``name(parameters)``, in the order of the file."""
    hooks = [
        function
        for function in vars(hookspecs).values()
        if inspect.isfunction(function) and hasattr(function, f"{hookspecs.hookspec.project_name}_spec")
    ]
    return [f"{hook.__name__}({', '.join(inspect.signature(hook).parameters)})" for hook in hooks]


def module(source: str) -> ModuleType:
    module_type = ModuleType("example")
    exec(compile(source, "docs/plugins.md", "exec"), vars(module_type))
    return module_type


def test_headings_are_the_hooks_signatures() -> None:
    assert len(hook_signatures()) >= 14
    assert list(sections()) == hook_signatures()


@pytest.mark.parametrize("heading", hook_signatures())
def test_the_example_of_a_hook_is_a_plugin(heading: str) -> None:
    (block,) = python_blocks(sections()[heading])
    plugin = module(block.text)
    hook = heading.partition("(")[0]
    plugins = Plugins.load(autoload=False, environ={})
    plugins.register(plugin, "example")
    (info,) = [info for info in plugins.installed if info.name == "example"]
    assert info.hooks == (hook,)
    assert bool(info.provides) == (hook.startswith("register_") and hook != "register_commands")


def test_the_example_command_is_added() -> None:
    (block,) = python_blocks(sections()["register_commands(cli)"])
    group = click.Group("npukb")
    module(block.text).register_commands(group)
    assert list(group.commands) == ["hello"]


def test_the_example_prompt_parser_guard_metric_and_reporter_work() -> None:
    from npukernelbench.generate import candidate_of
    from npukernelbench.judge.score import stopped
    from npukernelbench.nouns import Diagnostic, Outcome, Prompt, Sample, SampleKey, Severity, Stage, Tier, Track
    from npukernelbench.plugins import Registration
    from npukernelbench.report.reporter import load_reporter
    from npukernelbench.report.results import summarise
    from npukernelbench.store import Manifest

    def example(hook: str) -> ModuleType:
        (block,) = python_blocks(sections()[f"{hook}(register)"])
        return module(block.text)

    prompt = example("register_prompts").Blunt().render(tiny_task(), None, Track.STATIC)
    assert "tinysqrt" in prompt.messages[0].content
    patient, style = example("register_strategies").Patient(), example("register_prompts").Blunt()
    asked = patient.opening(tiny_task(), None, Track.STATIC, style, dict)
    assert asked.messages[0].content.startswith("Take your time.")
    parse = example("register_parsers").after_marker
    assert parse("words\n=== KERNEL ===\nint a;") == {"kernel.cpp": "int a;"}
    assert parse("words") is None
    guard = example("register_guards").no_inline_assembly
    assert [d.file for d in guard(candidate_of({"a.cpp": "__asm__", "b.cpp": ""}), tiny_task())] == ["a.cpp"]
    notes = (Diagnostic(Severity.ERROR, "r", "m", count=3),)
    verdict = stopped(Track.STATIC, Tier.TWIN, Stage.GUARD, Outcome.GUARD_REJECTED, notes)
    assert example("register_metrics").warnings(verdict) == 3.0
    csv = load_reporter(Registration("csv", example("register_reporters").Csv(), "docs", "", ""))
    manifest = Manifest({"tasks": {}})
    sample = Sample(SampleKey("Tiny", "0", Track.STATIC, 0), Prompt((), "", ""), None, None, verdict)
    lines = list(csv.render(None, summarise(manifest, [sample])))
    assert lines == ["task,case,index,outcome", "Tiny,0,0,guard_rejected"]


def test_every_python_block_compiles() -> None:
    blocks = python_blocks(PAGE)
    assert len(blocks) > 18
    for block in blocks:
        ast.parse(block.text)


def test_the_page_s_own_test_passes() -> None:
    _, _, text = PAGE.partition("\n## Testing your plugin\n")
    (block,) = python_blocks(text.partition("\n## ")[0])
    assert "\n    assert " in block.text
    module(block.text).test_the_backend_answers_every_request()


STANDIN = PAGE.partition("\n## A stand-in of CANN and of a device\n")[2].partition("\n## ")[0]


def test_the_stand_ins_examples_pass(npukb_standin: Callable[..., Path], monkeypatch: pytest.MonkeyPatch) -> None:
    (block,) = python_blocks(STANDIN)
    assert block.text.count("\n    assert ") >= 2  # each of the two shows what comes of it
    example = module(block.text)
    example.test_a_device_whose_memory_is_full(npukb_standin, monkeypatch)
    example.test_an_a3_server_names_its_chip_in_two_places()


def test_what_the_stand_in_listens_to_is_on_the_page() -> None:
    folder = Path(standin.__file__).parent
    texts = [path.read_text(encoding="utf-8") for path in folder.rglob("*") if path.suffix in (".c", ".h", ".py")]
    known = set(re.findall(r'"ASCEND_STANDIN_(\w+)"', "".join(texts))) - {"LAUNCHES"}  # its profiler's own
    assert {name.partition("=")[0] for name in re.findall(r"`([A-Z_]+(?:=\w+)?)`", STANDIN)} >= known
    for name in re.findall(r"standin_\w+", STANDIN.partition("| name |")[2]):
        assert f"void {name}(" in "".join(texts)


def test_the_longer_backends_answer() -> None:
    import asyncio

    from npukernelbench.generate import GenerationRequest, SamplingParams, answers, make_backend
    from npukernelbench.nouns import Completion, Prompt, SampleKey, Track
    from npukernelbench.plugins import Registration

    task = tiny_task()
    requests = [
        GenerationRequest(
            SampleKey(task.name, "smoke", Track.STATIC, i), task, task.cases[0], Prompt((), "", ""), SamplingParams(), i
        )
        for i in range(3)
    ]
    _, _, text = PAGE.partition("\n## Beyond the tutorial\n")
    blocks = python_blocks(text.partition("\n## ")[0])
    found = {name: target for block in blocks for name, target in vars(module(block.text)).items()}

    def ask(name: str, args: dict[str, object]) -> list[str]:
        backend = make_backend(Registration(name, found[name], "docs", "", ""), args)

        async def collect() -> list[str]:
            results = [result.answer async for result in answers(backend, requests)]
            return [answer.text for answer in results if isinstance(answer, Completion)]

        return sorted(asyncio.run(collect()))

    assert ask("Markov", {"order": 2}) == ["a chain of order 2"] * 3
    assert ask("Careful", {}) == ["I ran out of"] * 3
    assert ask("Parallel", {}) == ["answer 0", "answer 1", "answer 2"]
