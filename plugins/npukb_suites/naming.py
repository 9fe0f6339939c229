"""Names that C++, YAML and our kernels accept, out of names that Python and file systems do."""

from __future__ import annotations

import re

__all__ = ["argument_name", "kernel_name", "task_name"]

#: What a parameter of a kernel cannot be called: keywords, types, and what the harness itself puts there.
_TAKEN = frozenset(
    """
    workspace tiling tiling_data half float double int long short char bool void auto const static struct class union
    enum switch case default for while do if else return break continue goto new delete this operator template typename
    namespace using public private protected virtual friend inline register signed unsigned sizeof true false and or
    not xor try catch throw volatile extern export typedef mutable explicit
    """.split()  # noqa: SIM905  a list of words is read, not a list of quotes
)


def argument_name(name: str, taken: set[str]) -> str:
    """``name`` as a parameter that none of ``taken`` is; it is added to them."""
    base = re.sub(r"\W", "_", name).strip("_") or "x"
    base = f"x{base}" if base[0].isdigit() else base
    # A suffix rather than another word, so that readers recognise the name.
    result, number = (f"{base}_in" if base in _TAKEN else base), 2
    while result in taken:
        result, number = f"{base}{number}", number + 1
    taken.add(result)
    return result


def task_name(*parts: str) -> str:
    """A task's name: words with capitals, ``kernel-bench``, ``1``, ``19_ReLU`` as ``KernelBench_1_19_ReLU``."""
    words = [re.sub(r"[^A-Za-z0-9]+", "_", part).strip("_") for part in parts]
    return "_".join(word for word in words if word)


def kernel_name(task: str) -> str:
    """The entry function of a task: ``MyOp`` is ``my_op``, ``Abc2DEf`` is ``abc2d_ef``, as the toolkit's pages convert
    an operator's name to that of its file.
    """
    text = re.sub(r"(?<=[a-z])(?=[A-Z])|(?<=[A-Z0-9])(?=[A-Z][a-z])", "_", task).lower()
    name = re.sub(r"_+", "_", text)
    return f"{name}_kernel" if name in _TAKEN else name
