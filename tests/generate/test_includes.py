"""Files that a candidate includes from elsewhere become its own, and none but those."""

from __future__ import annotations

from pathlib import Path

import pytest

from npukernelbench.errors import UsageError
from npukernelbench.generate.sources import Sources, read_sources
from npukernelbench.judge.guard import include_paths
from npukernelbench.nouns import Candidate, Track
from npukernelbench.testing.tasks import tiny_task


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


@pytest.fixture
def project(tmp_path: Path) -> Path:
    write(
        tmp_path,
        {
            "ops/add/op_kernel/add.cpp": '#include "kernel_operator.h"\n#include "../../common/tile.h"\n__global__\n',
            "ops/add/op_host/add.cpp": '#include "tiling_base/base.h"\n#include "own.h"\n',
            "ops/add/op_host/own.h": "int own;\n",
            "ops/common/tile.h": '#include "deep.h"\n#include <vector>\n',
            "ops/common/deep.h": "int deep;\n",
            "shared/include/tiling_base/base.h": '#include "more.h"\n',
            "shared/include/tiling_base/more.h": "int more;\n",
            "shared/include/tiling_base/unused.h": "int unused;\n",
            "shared/include/kernel_operator.h": "#error not ours\n",
        },
    )
    return tmp_path


def test_a_project_brings_what_it_includes(project: Path) -> None:
    """Every header that is reached, and no other; an include that climbs is written below the given folder."""
    folders = [str(project / "ops"), str(project / "shared/include")]
    read = read_sources([str(project / "ops/add")], Track.DYNAMIC, folders)
    assert sorted(read.files) == [
        "include/common/deep.h",
        "include/common/tile.h",
        "include/tiling_base/base.h",
        "include/tiling_base/more.h",
        "op_host/add.cpp",
        "op_host/own.h",
        "op_kernel/add.cpp",
    ]
    assert read.files["op_kernel/add.cpp"].splitlines()[1] == '#include "common/tile.h"'
    assert read.files["op_host/add.cpp"] == (project / "ops/add/op_host/add.cpp").read_text()
    assert Path(read.paths["include/common/tile.h"]) == (project / "ops/common/tile.h").resolve()
    assert not refused(read)
    assert refused(read_sources([str(project / "ops/add")], Track.DYNAMIC))


def test_shared_sources_come_with_the_headers_that_declare_their_functions(project: Path) -> None:
    """Only what a carried header declares and nobody defines, from the nearest folder; another operator's code behind
    a header of its own alone.
    """
    more = project / "shared/include/tiling_base/more.h"
    more.write_text("int Twice(int x);\ninline int Once(int x) { return x; }\nint Once(int x);\n")
    write(
        project,
        {
            "shared/src/util.cpp": '#include "inner.h"\nint Twice(int x) {\n    return x * 2;\n}\n',
            "shared/src/inner.h": "",
            "shared/src/other.cpp": "int Once(int x) { return x; }\n// int Twice(int x) { return 0; }\n",
            "shared/tests/twice.cpp": "int Twice(int x) { return 3; }\n",
            "ops/mul/op_host/mul.cpp": "int Twice(int x) { return 4; }\n",
            "ops/add/op_host/more.cpp": '#include "../../sub/op_host/sub.h"\n',
            "ops/sub/op_host/sub.h": "struct Cut {\n    int Rows(int x);\n};\n",
            "ops/sub/op_host/sub_tiling.cpp": "int Cut::Rows(int x) { return x; }\n",
            "ops/sub/op_host/sub_def.cpp": "int Columns(int x) { return x; }\n",
        },
    )
    folders = [str(project / name) for name in ("ops", "shared/include", "shared")]
    read = read_sources([str(project / "ops/add")], Track.DYNAMIC, folders)
    assert {name for name in read.files if name.endswith(".cpp")} == {
        "include/src/util.cpp",
        "include/sub/op_host/sub_tiling.cpp",
        "op_host/add.cpp",
        "op_host/more.cpp",
        "op_kernel/add.cpp",
    }
    assert "include/src/inner.h" in read.files
    assert not refused(read)


def refused(read: Sources) -> bool:
    return bool(include_paths(Candidate(read.files, ""), tiny_task()))


def test_a_static_kernel_has_headers_beside_it(tmp_path: Path) -> None:
    """Those it includes, and those that are given with it."""
    write(tmp_path, {"k/add.cpp": '#include "a.h"\n#include "sub/b.h"\n', "k/a.h": "", "k/sub/b.h": "", "k/c.h": ""})
    kernel = str(tmp_path / "k/add.cpp")
    assert sorted(read_sources([kernel], Track.STATIC).files) == ["include/a.h", "include/sub/b.h", "kernel.cpp"]
    both = read_sources([kernel, str(tmp_path / "k/c.h")], Track.STATIC).files
    assert sorted(both) == ["c.h", "include/a.h", "include/sub/b.h", "kernel.cpp"]
    with pytest.raises(UsageError, match="one source file"):
        read_sources([kernel, kernel], Track.STATIC)


def test_an_include_fetches_nothing_else(tmp_path: Path) -> None:
    """Nothing outside the folders, whatever way leads there, and nothing that is no source."""
    write(tmp_path, {"secret.h": "key", "out/notes.txt": "text", "in/ok.h": "int ok;"})
    (tmp_path / "in/link.h").symlink_to(tmp_path / "secret.h")
    text = f'#include "../secret.h"\n#include "{tmp_path}/secret.h"\n#include "link.h"\n#include "notes.txt"\n'
    write(tmp_path, {"out/kernel.cpp": text + '#include "../in/ok.h"\n#include "ok.h"\n'})
    include = [str(tmp_path / "in")]
    read = read_sources([str(tmp_path / "out/kernel.cpp")], Track.STATIC, include)
    assert sorted(read.files) == ["include/ok.h", "kernel.cpp"]
    assert read.files["kernel.cpp"] == text + '#include "ok.h"\n#include "ok.h"\n'
    with pytest.raises(UsageError, match="no folder"):
        read_sources([str(tmp_path / "out/kernel.cpp")], Track.STATIC, [str(tmp_path / "none")])


def test_a_carried_file_means_what_lies_beside_it(project: Path) -> None:
    """A candidate may have a file of that name, too."""
    write(
        project,
        {
            "ops/add/op_host/add.cpp": '#include "cut/cut.h"\n',
            "ops/add/op_kernel/deep.h": "#error the kernel's\n",
            "shared/include/cut/cut.h": '#include "deep.h"\n',
            "shared/include/cut/deep.h": "int cut;\n",
        },
    )
    read = read_sources([str(project / "ops/add")], Track.DYNAMIC, [str(project / "shared/include")])
    assert read.files["include/cut/deep.h"] == "int cut;\n"
    assert read.files["include/cut/cut.h"] == '#include "deep.h"\n'
