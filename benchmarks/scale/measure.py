"""What one judgement costs, and where: the numbers that ``benchmarks.scale.simulate`` begins with.

Everything is processor time, so that other programs on the machine change little; only the wait for the disk is not.

    python -m benchmarks.scale.measure benchmarks/scale/measured.json
    python -m benchmarks.scale.measure benchmarks/scale/measured.json --ray     # adds a call of Ray, where Ray is
"""

from __future__ import annotations

import argparse
import json
import multiprocessing
import os
import statistics
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

from benchmarks.rewards.pool import Plan, free_ports, serve, wait_for
from benchmarks.rewards.throughput import kernels
from npukernelbench.config import resolve
from npukernelbench.nouns import Candidate, Completion, Prompt, Sample, SampleKey, Track, Verdict
from npukernelbench.rewards import Answer, Question, RemoteScorer
from npukernelbench.rewards.scorer import local_scorer
from npukernelbench.store import Manifest, RunStore

_TICK_S = 1.0 / os.sysconf("SC_CLK_TCK")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", type=Path)
    parser.add_argument("--kernels", type=int, default=48)
    parser.add_argument("--ray", action="store_true", help="measure Ray only, and add it to the file")
    options = parser.parse_args()
    found = json.loads(options.file.read_text()) | ray_call() if options.ray else judged(options.kernels)
    options.file.write_text(json.dumps(found, indent=1) + "\n")
    print({name: value for name, value in found.items() if not isinstance(value, list)})


def judged(count: int) -> dict[str, object]:
    """Judge kernels one after another, then send and store what came of it."""
    tree_s, own_s, verdicts = [], [], []
    with local_scorer(resolve(options={"jobs": "1"})) as scorer:
        scorer.score(kernels(scorer, 4, "warm"))
        for answer in kernels(scorer, count, "measured"):
            before, own = tree_cpu_s(os.getpid()), time.process_time()
            [scored] = scorer.score_fully([answer])
            assert scored.reward.metrics["correct"] == 1.0, scored.reward.message
            tree_s.append(round(tree_cpu_s(os.getpid()) - before, 3))
            own_s.append(time.process_time() - own)
            verdicts.append((answer, scored.verdict))
        return {
            "judgement_core_s": tree_s,
            "judgement_own_s": round(statistics.fmean(own_s), 5),
            **stored(verdicts),
            **sent(verdicts),
        }


def tree_cpu_s(root: int) -> float:
    """Processor time of a process, of all that come from it, and of those of them that have ended."""
    spent: dict[int, tuple[int, float]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdecimal():
            try:
                # A program's name, in brackets, may hold blanks and brackets itself.
                fields = (entry / "stat").read_text().rpartition(")")[2].split()
            except OSError:  # it has ended meanwhile
                continue
            # Behind it, the parent comes second; utime, stime, cutime and cstime are the 12th to the 15th, in ticks.
            spent[int(entry.name)] = int(fields[1]), sum(int(field) for field in fields[11:15]) * _TICK_S
    family = {root}
    while more := {pid for pid, (parent, _) in spent.items() if parent in family} - family:
        family |= more
    return sum(spent[pid][1] for pid in family if pid in spent)


def stored(verdicts: list[tuple[Answer, Verdict]]) -> dict[str, float]:
    """What the process of a run does for each sample: it writes the answer and the verdict down, with one wait for the
    disk each, or one for all that came meanwhile."""
    prompt = Prompt((), "direct@1", "0" * 16)
    samples = []
    for number in range(512):
        answer, verdict = verdicts[number % len(verdicts)]
        key = SampleKey(answer.question.task, answer.question.case, Track.STATIC, number)
        candidate = Candidate({"kernel.cpp": answer.text}, str(number))
        samples.append(Sample(key, prompt, Completion(answer.text, answer.finish_reason), candidate, verdict))
    figures = {}
    for name, together in (("store", 64), ("store_alone", 1)):
        # Not where temporary files usually lie: that may be memory, which has no disk to wait for.
        with tempfile.TemporaryDirectory(dir=".") as folder:
            place = Path(folder) / "run"
            with RunStore.open(place, Manifest({"model": "none"}, {})) as store:
                cpu, wall = time.process_time(), time.perf_counter()
                for first in range(0, len(samples), together):
                    part = samples[first : first + together]
                    store.add_completions([(one.key, prompt, one.completion) for one in part])
                    store.add_samples(part)
                spent_s, passed_s = time.process_time() - cpu, time.perf_counter() - wall
            size = (place / "events.jsonl").stat().st_size
        figures[f"{name}_cpu_s"] = round(spent_s / len(samples), 6)
        figures[f"{name}_disk_s"] = round((passed_s - spent_s) / len(samples), 6)
        figures["store_bytes"] = round(size / len(samples))
    return figures


def sent(verdicts: list[tuple[Answer, Verdict]]) -> dict[str, float]:
    """What HTTP costs at both ends, for each answer, in batches of 64."""
    answers = [Answer(Question("TinyOne"), f"ok {answer.text}") for answer, _ in verdicts]
    answers = [answers[index % len(answers)] for index in range(64)]
    (port,) = free_ports(1)
    plan = Plan(1, 8, 0.0, 1, 1, 1, 1, 1.0)
    server = multiprocessing.get_context("fork").Process(target=serve, args=(port, plan), daemon=True)
    server.start()
    wait_for(port)
    remote = RemoteScorer(f"http://127.0.0.1:{port}")
    remote.score(answers)
    assert server.pid is not None
    here, there = time.process_time(), tree_cpu_s(server.pid)
    for _ in range(30):
        remote.score(answers)
    count = 30 * len(answers)
    figures = {
        "client_cpu_s": round((time.process_time() - here) / count, 6),
        "server_cpu_s": round((tree_cpu_s(server.pid) - there) / count, 6),
        "request_bytes": round(statistics.fmean(len(json.dumps(answer.text)) + 60 for answer in answers)),
    }
    server.kill()
    server.join()
    return figures


def ray_call() -> Mapping[str, float]:
    """A call of an actor with a kernel as argument: processor time of the process that calls."""
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")

    class Desk:
        def judge(self, text: str) -> str:
            return text

    desks = [ray.remote(Desk).options(num_cpus=1).remote() for _ in range(2)]
    text = "x" * 6000
    # Not measured: the first calls start the actors.
    ray.get([desk.judge.remote(text) for desk in desks for _ in range(200)])
    spent = time.process_time()
    for _ in range(20):
        ray.get([desk.judge.remote(text) for desk in desks for _ in range(50)])
    # 20 rounds of 50 calls to each of the two.
    figures = {"ray_call_cpu_s": round((time.process_time() - spent) / 2000, 6)}
    ray.shutdown()
    return figures


if __name__ == "__main__":
    main()
