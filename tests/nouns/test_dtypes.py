"""Element types have the names and numbers of the toolkit's table, which host code is compiled against."""

from __future__ import annotations

import re

from npukb_twin.compile.build import source_root
from npukernelbench.nouns import DType


def test_names_and_numbers_are_those_that_host_code_sees() -> None:
    table = (source_root() / "include_host/twin_host/dtypes.def").read_text()
    numbers = {name: int(number) for name, number in re.findall(r"^NPUKB_DTYPE\((\w+), (\d+)", table, re.MULTILINE)}
    assert {dtype: numbers[dtype.ge] for dtype in DType} == {dtype: dtype.ge_number for dtype in DType}
    assert len({dtype.ge_number for dtype in DType}) == len(DType)
