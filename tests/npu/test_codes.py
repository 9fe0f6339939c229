"""What a code of the runtime means for the sample."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from npukb_npu.codes import ACLNN_CODES, CODES, Blame, Phase, judge
from npukernelbench.nouns import Outcome, Owner

ALL = {**CODES, **ACLNN_CODES}


@given(st.sampled_from(sorted(ALL)) | st.integers(-(2**31), 2**31 - 1), st.sampled_from(list(Phase)))
def test_only_the_candidates_own_phases_count_against_it(code: int, phase: Phase) -> None:
    judged = judge(code, phase)
    known = ALL.get(code)
    if judged.outcome is not Outcome.INFRA_ERROR:
        assert known is not None
        assert phase in (Phase.TILING, Phase.WORKSPACE, Phase.LAUNCH)
        assert known.blame not in (Blame.DEVICE, Blame.HARNESS)
    assert str(code) in judged.message
    if known is not None and known.blame is Blame.DEVICE:
        assert judged.probe
    if phase in (Phase.OPEN, Phase.PREPARE, Phase.COLLECT):
        assert judged.outcome is Outcome.INFRA_ERROR
        assert judged.outcome.owner is Owner.INFRA


@pytest.mark.parametrize("code", [code for code, one in CODES.items() if one.blame is Blame.KERNEL_FAULT])
def test_exceptions_of_a_core_are_the_kernels_and_the_device_is_looked_at(code: int) -> None:
    judged = judge(code, Phase.LAUNCH)
    assert (judged.outcome, judged.probe) == (Outcome.RULE_VIOLATION, True)
    assert judge(code, Phase.PREPARE).outcome is Outcome.INFRA_ERROR


def test_the_documented_families() -> None:
    """Exceptions, time-outs and broken devices, by the numbers that people know."""
    blames = {code: one.blame for code, one in CODES.items()}
    assert {blames[code] for code in (507015, 507049, 507050, 507042, 507043)} == {Blame.KERNEL_FAULT}
    assert {blames[code] for code in (507014, 507046, 507047, 507048)} == {Blame.KERNEL_HANG}
    assert {blames[code] for code in (507001, 507010, 507053, 507054, 507899)} == {Blame.DEVICE}
    assert not CODES.keys() & ACLNN_CODES.keys()
    assert all(code.name.startswith("ACL_ERROR_") for code in CODES.values())
    assert all(aclnn_code.name.startswith("ACLNN_ERR_") for aclnn_code in ACLNN_CODES.values())


def test_a_code_of_no_table_is_nobodys_but_ours() -> None:
    judged = judge(599999, Phase.LAUNCH)
    assert (judged.outcome, judged.probe) == (Outcome.INFRA_ERROR, True)
    assert "undocumented" in judged.message
