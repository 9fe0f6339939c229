"""``examples/scale`` and docs/scale.md: files that parse, options that exist, and a run in shards by plain xargs."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import click
import yaml

from npukernelbench.cli.group import build_group
from npukernelbench.config import resolve
from npukernelbench.store import read_run

ROOT = Path(__file__).parents[2]
EXAMPLES = ROOT / "examples" / "scale"
PAGE = ROOT / "docs" / "scale.md"


def command_lines(text: str) -> list[tuple[str, list[str]]]:
    """The commands of npukb in a script, a manifest or a page, each with its long options."""
    joined = re.sub(r"\\\n\s*", " ", text)
    matches = re.findall(r"(?<![\w#-])npukb (run|merge|report)((?: [^\n;|)`]*)?)", joined)
    return [(name, re.findall(r"(?<=\s)--[\w-]+", words)) for name, words in matches]


def test_every_option_of_npukb_in_the_examples_exists(fake):
    group = build_group()
    seen = set()
    for path in (*sorted(EXAMPLES.iterdir()), PAGE):
        for name, options in command_lines(path.read_text(encoding="utf-8")):
            command = group.get_command(click.Context(group), name)
            known = {spelling for parameter in command.params for spelling in parameter.opts}
            assert known.issuperset(options), (path.name, name, options)
            seen |= {(path.name, name, option) for option in options}
    for name in ("parallel.sh", "slurm_array.sh", "kubernetes.yaml", "scale.md"):
        assert (name, "run", "--shard") in seen
    for name in ("parallel.sh", "slurm_merge.sh", "kubernetes-merge.yaml", "scale.md"):
        assert (name, "merge", "--out") in seen


def test_scripts_and_manifests_parse(tmp_path):
    scripts = sorted(EXAMPLES.glob("*.sh"))
    assert len(scripts) == 3
    for script in scripts:
        subprocess.run(["bash", "-n", script], check=True)
        assert script.stat().st_mode & 0o111
    settings, run, merge = (
        document
        for name in ("kubernetes.yaml", "kubernetes-merge.yaml")
        for document in yaml.safe_load_all((EXAMPLES / name).read_text(encoding="utf-8"))
    )
    for job in (run, merge):
        (container,) = job["spec"]["template"]["spec"]["containers"]
        subprocess.run(["bash", "-n", "-c", container["command"][2]], check=True)
        claimed = {volume["name"] for volume in job["spec"]["template"]["spec"]["volumes"]}
        assert {mount["name"] for mount in container["volumeMounts"]} == claimed
    (container,) = run["spec"]["template"]["spec"]["containers"]
    assert f'/{run["spec"]["completions"]}"' in container["command"][2]
    (tmp_path / "run.yaml").write_text(settings["data"]["run.yaml"], encoding="utf-8")
    in_the_manifest = resolve(file=tmp_path / "run.yaml", environ={})
    assert in_the_manifest.as_dict() == resolve(file=EXAMPLES / "run.yaml", environ={}).as_dict()
    array = re.search(r"--array=1-(\d+)", (EXAMPLES / "slurm_array.sh").read_text(encoding="utf-8"))
    assert array is not None
    assert f"\nshards={array[1]}\n" in (EXAMPLES / "slurm_array.sh").read_text(encoding="utf-8")
    assert f"*of{array[1]} " in (EXAMPLES / "slurm_merge.sh").read_text(encoding="utf-8")


def test_a_run_in_shards_by_xargs(fake, tmp_path, monkeypatch):
    tools = tmp_path / "tools"
    tools.mkdir()
    for tool in ("bash", "seq", "xargs"):
        (tools / tool).symlink_to(shutil.which(tool))
    (tools / "npukb").write_text(f'#!{tools}/bash\nexec {sys.executable} -m npukernelbench "$@"\n')
    (tools / "npukb").chmod(0o755)
    monkeypatch.setenv("PATH", str(tools))
    text = json.dumps({"text": "```cpp\n// {task} {index} fake: ok\n```"})
    options = ["--model", "fake", "--model_args", text, "--executor", "fake", "--tasks", "Sqrt:smoke", "Gelu:smoke"]
    command = [EXAMPLES / "parallel.sh", "2", "merged", *options, "--num_samples", "2", "--seed", "7"]
    first, again = (subprocess.run(command, capture_output=True, text=True, check=False) for _ in range(2))
    assert first.returncode == 0, first.stderr
    assert "2 shards, 4 samples: merged" in first.stdout
    held = {(key.task, key.index) for key in read_run(Path("merged")).samples}
    assert held == {(task, index) for task in ("Sqrt", "Gelu") for index in (0, 1)}
    assert again.returncode == 2
    assert again.stderr.count("nothing to do") == 2
    assert "this folder is not empty" in again.stderr
