"""What the harness itself offers, registered exactly like a plugin so that the plugin interface stays honest.

Names and lazy targets only: importing this module imports none of them. The hooks that watch a run log what happens,
which ``-v info`` shows.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from npukernelbench.hookspecs import hookimpl

if TYPE_CHECKING:
    from npukernelbench.config import Config
    from npukernelbench.nouns import Sample
    from npukernelbench.plugins.registry import Register
    from npukernelbench.run.plan import RunContext, RunSummary

_log = logging.getLogger(__name__)


@hookimpl
def register_tasks(register: Register) -> None:
    """The task suites of this distribution."""
    register("npukernelbench", "npukernelbench.tasks.suite:packaged_suite", description="the harness's own tasks")


@hookimpl
def register_prompts(register: Register) -> None:
    """Prompt styles."""
    where = "npukernelbench.prompts.style"
    register("default", f"{where}:DEFAULT", description="operator, hardware, rules and a worked example")
    register(
        "category-shot", f"{where}:CATEGORY_SHOT", description="default, with a golden kernel of the same category"
    )
    register("terse", f"{where}:TERSE", description="operator, interface and answer format only")


@hookimpl
def register_parsers(register: Register) -> None:
    """Ways of taking code out of an answer."""
    where = "npukernelbench.generate.parsers"
    register(
        "auto",
        f"{where}:auto",
        description="kernel tags, else files as strings, else fenced blocks, else the whole text if it is source",
    )
    register(
        "auto-reasoning",
        f"{where}:AUTO_REASONING",
        description="auto, and as a last resort code from the reasoning; the verdict then says so",
    )
    register(
        "strings",
        f"{where}:strings",
        description="strings of a Python module, as MultiKernelBench asks for, or of a JSON object",
    )
    register(
        "fenced", f"{where}:fenced", description="the last complete fenced block, or every block that has a file name"
    )
    register("tagged", f"{where}:tagged", description="<kernel_impl>...</kernel_impl>, as KernelGen-LM answers")


@hookimpl
def register_strategies(register: Register) -> None:
    """Ways from a model's answers to a kernel."""
    register("direct", "npukernelbench.generate.strategy:DIRECT", description="the model writes Ascend C")


@hookimpl
def register_checkers(register: Register) -> None:
    """Numeric policies."""
    where = "npukernelbench.judge.check"
    register(
        "pcl", f"{where}:pcl", description="an element is wrong if absolute and relative error both exceed the limits"
    )
    register(
        "cann", f"{where}:cann", description="mean and largest relative error under thresholds of the element type"
    )
    register("rounded", f"{where}:rounded", description="pcl, of the reference rounded to the output's type")
    register(
        "allclose",
        f"{where}:allclose",
        description="every element within atol + rtol * |expected|, as tensor libraries",
    )
    register("ulp", f"{where}:ulp", description="every element within some units in the last place")
    register("exact", f"{where}:exact", description="every element equals the rounded reference")


@hookimpl
def register_guards(register: Register) -> None:
    """Static checks of a candidate's source."""
    where = "npukernelbench.judge.guard"
    register("size-limit", f"{where}:size_limit", description="all files together have at most 1 MiB")
    register("binary", f"{where}:binary", description="no NUL bytes")
    register("encoding", f"{where}:encoding", description="files can be written as UTF-8")
    register("file-names", f"{where}:file_names", description="files stay in their folder")
    register("include-paths", f"{where}:include_paths", description="no absolute or parent-relative #include")


@hookimpl
def register_metrics(register: Register) -> None:
    """Per-sample numbers computed from a verdict: the functions of these names."""
    for name, description in {
        "compiled": "1 if there is an artifact",
        "correct": "1 if every case is right",
        "cases_passed": "cases that are right",
        "cases_total": "cases that were judged",
        "pcl_pass": "1 if the policy pcl accepts every case",
        "cann_pass": "1 if the policy cann accepts every case",
        "max_abs_error": "largest absolute error",
        "max_rel_error": "largest relative error",
        "mean_rel_error": "mean relative error of the worst case",
        "mismatch_fraction": "share of wrong elements of the worst case",
        "max_ulp": "largest error in units in the last place",
        "predicted_time_us": "predicted time, summed over cases",
        "measured_time_us": "measured time, summed over cases",
        "bound_us": "least time of the task on this machine",
        "roofline": "bound_us divided by the time",
        "impossible": "1 for a time below the bound",
        "speedup_golden": "time of our golden kernel divided by the time",
        "speedup_net": "the same, both without the start of a kernel",
        "roofline_net": "the bound divided by the time without the start of a kernel",
        "speedup_eager": "time of torch_npu's own operators divided by the time",
        "start_us": "time of the kernel that a task of optimisation begins with",
        "speedup_start": "that time divided by the time: the score of such a task",
        "hap": "hardware-anchored performance",
    }.items():
        register(name, f"npukernelbench.judge.metrics:{name}", description=description)


@hookimpl
def register_reporters(register: Register) -> None:
    """Ways of presenting a finished run."""
    where = "npukernelbench.report.reporters"
    register("summary", f"{where}:SUMMARY", description="one screen: rates, what they mean in words, first failures")
    register("table", f"{where}:TABLE", description="tables for people, problem by problem and aggregated")
    register("markdown", f"{where}:MARKDOWN", description="the same tables in markdown")
    register("json", f"{where}:AS_JSON", description="what results.json holds")
    register("html", "npukernelbench.report.html.page:HTML", description="a page to look at, with every sample")
    where = "npukernelbench.report.export"
    register("jsonl", f"{where}.rows:JSONL", description="one JSON object per sample: prompt, answer, files, verdict")
    register("parquet", f"{where}.rows:PARQUET", description="the same rows as a Parquet table")
    register("lm-eval", f"{where}.lm_eval:LM_EVAL", description="results and samples as lm-eval names files and fields")
    register("inspect", f"{where}.inspect:INSPECT", description="a log that inspect_ai's viewer and reader open")
    register("junit", f"{where}.junit:JUNIT", description="JUnit XML: a test case per sample, for CI servers")
    register("pr", f"{where}.pull_request:PULL_REQUEST", description="markdown short enough for a pull request")
    register(
        "hf-dataset",
        f"{where}.dataset:DATASET",
        description="a folder to upload as a Hugging Face dataset, with its card",
    )


@hookimpl
def npukb_configure(config: Config) -> None:
    """Log where each setting comes from; values may be secret."""
    for name in config.as_dict():
        if config.origin(name) != "default":
            _log.debug("setting %s is that of %s", name, config.origin(name))


@hookimpl
def on_run_start(context: RunContext) -> None:
    """Log which run begins, and where it is kept."""
    _log.info("run %s begins in %s", context.run_id, context.directory)


@hookimpl
def on_sample_end(sample: Sample) -> None:
    """Log the verdict."""
    if sample.verdict is not None:
        _log.info("%s: %s", sample.key, sample.verdict.outcome.value)


@hookimpl
def on_run_end(summary: RunSummary) -> None:
    """Log how the run ended."""
    _log.info("%d of %d samples are right", summary.ok, summary.total)
