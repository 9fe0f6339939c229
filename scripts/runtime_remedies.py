"""Remedies in the twin's runtime, as texts with ``{0}`` for each value: they stand in the calls that report."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from itertools import count
from pathlib import Path

_LITERAL = re.compile(r'"((?:[^"\\\n]|\\.)*)"')
# Literals are matched first and kept: one may hold `//`, as addresses do.
_COMMENT = re.compile(r'("(?:[^"\\\n]|\\.)*")|//[^\n]*|/\*.*?\*/', re.DOTALL)
_CONVERSION = re.compile(r"%(?:[-+ 0#]*\d*(?:\.\d+|\.\*)?(?:hh|h|ll|l|z)?[diouxXfgesc]|(%))")


class RuntimeRemedies:
    """Arguments of functions that take a ``remedy``, and what is given to a variable of that name."""

    def __init__(self, root: Path, paths: Iterable[Path]) -> None:
        self._root = root
        self.found: dict[str, list[str]] = {}
        #: Arguments in which there is no text, and which are no variable of that name.
        self.lost: list[str] = []
        texts = {path: _COMMENT.sub(lambda match: match[1] or " ", path.read_text(encoding="utf-8")) for path in paths}
        places = {
            match[1]: match[2].split("const char* remedy")[0].count(",")
            for text in texts.values()
            for match in re.finditer(r"\bvoid (?:\w+::)*(\w+)\(([^()]*\bconst char\* remedy\b[^()]*)\)", text)
        }
        for path, text in texts.items():
            # Calls alone: a definition follows `void`, and that of a member `::`.
            for match in re.finditer(rf"(?<!void )(?<!::)\b({'|'.join(places)})\(", text):
                self._argument(path, text, match[1], _arguments(text, match.end())[places[match[1]] :])
            for match in re.finditer(r'\bremedy = ((?:"(?:[^"\\]|\\.)*"|[^;"])+);', text):
                self._keep(path, match[1])
            for match in re.finditer(r"snprintf\(remedy, sizeof remedy,", text):
                self._keep(path, _arguments(text, match.end())[0])

    def _argument(self, path: Path, text: str, function: str, arguments: list[str]) -> None:
        """``arguments`` from the remedy on. Functions of other classes may have the same name."""
        given = arguments[0] if arguments else ""
        if re.fullmatch(r"k[A-Z]\w*", given):
            constants = re.findall(rf'\b{given}(?:\[\])? =\s*((?:"(?:[^"\\]|\\.)*"\s*)+);', text)
            given = constants[0] if constants else given
        if '"' in given:
            self._keep(path, given)
        elif function in ("Violate", "Warn", "Fault", "Misuse") and given != "remedy" and "const char*" not in given:
            self.lost.append(f"{path.relative_to(self._root).as_posix()}: {function}(… {given} …)")

    def _keep(self, path: Path, expression: str) -> None:
        # The branches of `a ? b : c`: an even number of quotes follows a sign that is in no literal.
        for part in re.split(r"[?:](?=(?:[^\"]*\"[^\"]*\")*[^\"]*$)", expression):
            text = "".join(ast.literal_eval(f'"{piece}"') for piece in _LITERAL.findall(part))
            if text:
                number = count()
                marked = _CONVERSION.sub(lambda match: match[1] or f"{{{next(number)}}}", text)  # noqa: B023
                self.found.setdefault(marked, []).append(path.relative_to(self._root).as_posix())


def _arguments(text: str, begin: int) -> list[str]:
    """The arguments of a call, from behind its opening bracket."""
    found, depth, start, position = [], 0, begin, begin
    while position < len(text):
        character = text[position]
        if character == '"':
            literal = _LITERAL.match(text, position)
            assert literal is not None
            position = literal.end()
            continue
        if character in "([{":
            depth += 1
        elif character in ")]}" and depth == 0:
            break
        elif character in ")]}":
            depth -= 1
        elif character == "," and depth == 0:
            found.append(text[start:position].strip())
            start = position + 1
        position += 1
    return [*found, text[start:position].strip()]
