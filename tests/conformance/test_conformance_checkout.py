"""What a checkout holds, and which files of an operator become its candidate."""

from __future__ import annotations

from pathlib import Path

import pytest

from npukb_conformance.checkout import SHARED_INCLUDES, Checkout, Variant, is_damaged
from npukernelbench.errors import UsageError


def gathered(root: Path, variant: Variant = Variant.ANSWER) -> set[str] | None:
    checkout = Checkout(root)
    candidate = checkout.gather(checkout.operators[0], variant)
    return None if candidate is None else set(candidate.files)


def test_operators_are_found_in_the_order_of_folders(write_operator):
    write_operator("Sqrt")
    write_operator("ForeachExp", level=2, category="Foreach")
    root = write_operator("Abs")
    found = [(operator.name, operator.level, operator.category) for operator in Checkout(root).operators]
    assert found == [("Abs", 1, "Math"), ("Sqrt", 1, "Math"), ("ForeachExp", 2, "Foreach")]


@pytest.mark.parametrize("make", [lambda path: None, lambda path: path.mkdir(), lambda path: path.write_text("x")])
def test_what_is_no_checkout_is_a_mistake_of_the_user(tmp_path, make):
    make(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="elsewhere holds no tasks") as caught:
        Checkout(tmp_path / "elsewhere")
    assert caught.value.remedy


def test_a_variant_that_is_not_there_has_no_candidate(write_operator):
    root = write_operator("Sqrt")
    assert gathered(root) == {"op_host/sqrt.cpp", "op_kernel/sqrt.cpp"}
    assert gathered(root, Variant.QUESTION) is None
    write_operator("Sqrt", variant="question")
    assert gathered(root, Variant.QUESTION) == {"op_host/sqrt.cpp", "op_kernel/sqrt.cpp"}


def test_the_first_answer_is_taken_by_number(write_operator):
    write_operator("Sqrt", variant="answer/10", files={"op_kernel/ten.cpp": ""})
    root = write_operator("Sqrt", variant="answer/9", files={"op_kernel/nine.cpp": ""})
    assert gathered(root) == {"op_kernel/nine.cpp"}


def test_the_application_interface_and_other_files_are_left_out(write_operator):
    names = ["op_host/sqrt.cpp", "op_host/sqrt_tiling.h", "op_host/aclnn_sqrt.cpp", "op_host/aclnn_sqrt.h"]
    names += ["op_host/sqrt_l0.cpp", "op_kernel/deep/sqrt.h", "op_kernel/sqrt.cc", "op_kernel/notes.md", "README.md"]
    root = write_operator("Sqrt", files=dict.fromkeys(names, ""))
    assert gathered(root) == {"op_host/sqrt.cpp", "op_host/sqrt_tiling.h", "op_kernel/deep/sqrt.h", "op_kernel/sqrt.cc"}


def test_host_sources_that_the_build_does_not_list_are_left_out(write_operator):
    script = """
        target_sources(optiling PRIVATE
            op_host/sqrt_tiling.cpp op_host/not_there.cpp)
        target_sources(opapi PRIVATE op_host/wrapper.cpp)
    """
    names = [
        "op_host/sqrt_tiling.cpp",
        "op_host/wrapper.cpp",
        "op_host/stray.cpp",
        "op_host/stray.h",
        "op_kernel/x.cpp",
    ]
    root = write_operator("Sqrt", files={"CMakeLists.txt": script, **dict.fromkeys(names, "")})
    assert gathered(root) == {"op_host/sqrt_tiling.cpp", "op_host/stray.h", "op_kernel/x.cpp"}


def test_the_placeholder_of_the_build_is_the_operators_own_file(write_operator):
    script = "target_sources(optiling PRIVATE op_host/custom_op.cpp)"
    names = ["op_host/sqrt.cpp", "op_host/stray.cpp", "op_kernel/sqrt.cpp"]
    root = write_operator("Sqrt", files={"CMakeLists.txt": script, **dict.fromkeys(names, "")})
    assert gathered(root) == {"op_host/sqrt.cpp", "op_kernel/sqrt.cpp"}


def test_shared_headers_come_along_with_what_they_include(write_operator):
    kernel = '#include "kernel_operator.h"\n#include "own.h"\n'
    host = '#include "shared/base.h"\n#include "missing.h"\n#include "../escape.h"\n'
    files = {"op_host/sqrt.cpp": host, "op_kernel/sqrt.cpp": kernel, "op_kernel/own.h": ""}
    root = write_operator("Sqrt", files=files)
    shared = root / SHARED_INCLUDES[0]
    (shared / "shared").mkdir(parents=True)
    (shared / "shared/base.h").write_text('#include "shared/more.h"\n#  include <last.h>\n')
    (shared / "shared/more.h").write_text('#include "shared/base.h"\n')
    (shared / "last.h").write_text("int last;\n")
    (shared / "own.h").write_text("another file of the same name\n")
    (shared.parent / "escape.h").write_text("outside\n")
    assert gathered(root) == files.keys() | {f"op_host/{name}" for name in ("shared/base.h", "shared/more.h", "last.h")}


def test_bytes_that_are_no_text_stay_recognisable(write_operator):
    root = write_operator("Sqrt")
    (root / "tasks/level1/Math/Sqrt/answer/0/op_kernel/sqrt.cpp").write_bytes(b"\xff\n")
    candidate = Checkout(root).gather(Checkout(root).operators[0], Variant.ANSWER)
    assert candidate is not None
    assert candidate.files["op_kernel/sqrt.cpp"] == "\udcff\n"
    assert not is_damaged(candidate)


def test_damage_by_a_later_commit_is_recognised(write_operator):
    root = write_operator("Sqrt", files={"op_kernel/sqrt.cpp": "int a; // Implementation note.\n"})
    candidate = Checkout(root).gather(Checkout(root).operators[0], Variant.ANSWER)
    assert candidate is not None
    assert is_damaged(candidate)
