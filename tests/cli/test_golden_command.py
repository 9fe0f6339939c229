"""``npukb golden``: a kernel that is right, complete; and ``npukb judge`` on texts that are not complete yet."""

from __future__ import annotations


def test_a_static_kernel_is_complete_and_right(npukb, tmp_path):
    file = tmp_path / "kernels" / "sqrt.cpp"
    finished = npukb("golden", "sqrt", "--case", "smoke", "--out", file)
    assert (finished.code, finished.out.strip()) == (0, str(file))
    text = file.read_text()
    assert npukb("golden", "Sqrt").out == text
    assert "#define DTYPE_X" in text
    assert npukb("judge", "Sqrt", file, "--case", "smoke").out.startswith("✓ ok  Sqrt · case smoke · static")
    again = npukb("golden", "Sqrt", "--out", file)
    assert again.code == 2
    assert f"{file} is there already" in again.err


def test_an_operator_is_a_folder_or_a_text(npukb, tmp_path):
    folder = tmp_path / "elu"
    finished = npukb("golden", "CraftElu", "--track", "dynamic", "--out", folder)
    assert finished.code == 0
    assert "op_kernel/craft_elu.cpp" in finished.out
    names = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())
    assert names == ["op_host/craft_elu.cpp", "op_host/craft_elu_tiling.h", "op_kernel/craft_elu.cpp"]
    printed = tmp_path / "elu.md"
    printed.write_text(npukb("golden", "CraftElu", "--track", "dynamic").out)
    for answer in ((folder,), (printed, "--parser", "auto")):
        finished = npukb("judge", "CraftElu", *answer, "--track", "dynamic", "--case", "smoke")
        assert finished.out.startswith("✓ ok  CraftElu · case smoke · dynamic"), answer


def test_what_there_is_not_is_answered_with_what_there_is(npukb, tmp_path):
    for arguments, words in (
        (("Sqrtt",), "did you mean Sqrt"),
        (("Sqrt", "--case", "99"), "cases: 0, 1, 2, 3, 4, smoke"),
        (("Sqrt", "--track", "fast"), "static, dynamic"),
        (("level1",), "one is needed"),
        (("Sqrt", "--out", "/dev/null/sqrt.cpp"), "cannot write"),
    ):
        finished = npukb("golden", *arguments)
        assert finished.code == 2, arguments
        assert words in finished.err, arguments
    bare = npukb("golden", "CraftElu", "--track", "dynamic", "-p", "no:tile")
    assert (bare.code, "no golden maker 'tile'" in bare.err) == (3, True)


def test_texts_that_are_no_kernel_yet_are_told_apart(npukb, fake, tmp_path):
    file = tmp_path / "static.cpp"
    for text, words in (
        ("constexpr auto n = task_case::X_SIZE;", "without the constants of a case"),
        ("GET_TILING_DATA(sizes, tiling);", "device code of an operator of the dynamic track"),
    ):
        file.write_text(text)
        finished = npukb("judge", "Sqrt", file, "--case", "0", "--executor", "fake")
        assert finished.code == 2
        assert words in finished.err
        assert "npukb golden Sqrt --case 0 --out FILE" in finished.err
    for text in (
        "namespace task_case { constexpr int n = 1; }\nauto m = task_case::n;",
        "// task_case::X_SIZE, GET_TILING_DATA(sizes, tiling)",
        "#define GET_TILING_DATA(a, b)\nGET_TILING_DATA(sizes, tiling);",
    ):
        file.write_text(text)
        assert npukb("judge", "Sqrt", file, "--executor", "fake").code == 0, text
