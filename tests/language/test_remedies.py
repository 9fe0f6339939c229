"""The script that finds remedies: every way that one takes from its text to a reader, and what it cannot follow."""

from __future__ import annotations

import textwrap
from pathlib import Path
from types import ModuleType


def test_a_remedy_is_followed_to_its_text(script: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "module.py"
    path.write_text(
        textwrap.dedent("""\
        _REMEDY = "a constant"
        _TABLE = {"x": (1, "of a table"), "y": (2, "of its second row")}

        class Fault(Exception):
            def __init__(self, message, remedy=""): ...

        @dataclass
        class Note:
            message: str
            remedy: str

        def _fault(message, what): return Fault(message, remedy=what)
        def _near(name): return f"nearest is {name}" if name else ""
        def _both(): return "text", "of a pair"

        def do(x, words):
            Fault("m", "an argument")
            Fault("m", remedy="a " + "sum")
            Fault("m", remedy=_REMEDY)
            Fault("m", remedy=f"{x} of {x!r}" if x else "otherwise")
            Note("m", "a field")
            _fault("m", "handed on")
            Fault("m", remedy=_near(x) or "no name is near")
            number, remedy = _TABLE[x]
            Fault("m", remedy=remedy)
            text, remedy = _both()
            Fault("m", remedy=x.made())
            words.text("said")
            Fault("not this one")
        """)
    )
    remedies = script.Remedies(tmp_path, [path])
    expected = "an argument|a sum|a constant|{0} of {1}|otherwise|a field|handed on|nearest is {0}|no name is near"
    expected += "|of a table|of its second row|of a pair"
    assert sorted(remedies.found) == sorted(expected.split("|"))
    assert [*remedies.said] == ["said"]
    assert remedies.lost == ["module.py: x.made()"]


def test_remedies_of_the_runtime_are_found(script: ModuleType, tmp_path: Path) -> None:
    path = tmp_path / "rule.cpp"
    path.write_text(
        textwrap.dedent("""\
        void Core::Warn(const char* rule, const char* remedy, const char* format, ...);
        constexpr const char* kApart =
            "Of a constant.";
        // core.Warn("r", "In a comment.", "m");
        core.Warn("a, b", "In " "pieces; (one).", "m");
        core.Warn("r", kApart, "m");
        core.Warn("r", deep ? "Deep." : "Flat: 100%%.", "m");
        snprintf(remedy, sizeof remedy, "Use %u of %s.", n, s);
        core.Warn("r", remedy, "m");
        core.Warn("r", from_elsewhere, "m");
        """)
    )
    remedies = script.RuntimeRemedies(tmp_path, [path])
    assert sorted(remedies.found) == [
        *("Deep.", "Flat: 100%.", "In pieces; (one).", "Of a constant.", "Use {0} of {1}."),
    ]
    assert remedies.lost == ["rule.cpp: Warn(… from_elsewhere …)"]
