"""Lines behind a line's numbers, found by names."""

from __future__ import annotations

from npukernelbench.judge.definitions import defining_lines, statement, storing_lines

SOURCE = """\
constexpr uint32_t TILE = 128;
void Init(GM_ADDR y, uint64_t total) {
    begin = GetBlockIdx() * total;
    yGlobal.SetGlobalBuffer((__gm__ float*)y + begin);
}
void Process() {
    for (uint32_t i = 0; i < count; i += TILE) {
        CopyOut(i, TILE);
    }
}
void CopyIn(uint32_t offset) {
    const DataCopyParams copy{1, offset};
}
void CopyOut(uint32_t offset, uint32_t length) {
    LocalTensor<float> y = queue.DeQue<float>();
    const DataCopyParams copy{1, length};
    DataCopyPad(yGlobal[offset],
                y,
                copy);
}
"""


def numbers(line):
    return [defining_line.number for defining_line in defining_lines({"kernel.cpp": SOURCE}, "kernel.cpp", line)]


def test_a_statement_may_have_several_lines():
    assert statement(SOURCE, 18) == "DataCopyPad(yGlobal[offset], y, copy);"
    assert statement(SOURCE, 99) == ""


def test_a_copy_leads_to_its_length_its_offset_the_loop_and_the_base():
    behind = numbers(17)
    assert {4, 3, 7, 8, 16, 1} <= set(behind)
    assert 12 not in behind, "a variable of that name in another function"
    assert 15 not in behind, "where a tensor comes from says nothing about sizes"


def test_what_stores_to_global_memory():
    assert [line.number for line in storing_lines({"kernel.cpp": SOURCE})] == [17]


def test_a_product_leads_to_its_operands_and_their_bases():
    source = """\
void Multiply(uint32_t row) {
    aGlobal.SetGlobalBuffer(a + row * pitch);
    product.SetTensorA(aGlobal);
    product.IterateAll(cGlobal);
}
"""
    lines = defining_lines({"kernel.cpp": source}, "kernel.cpp", 4)
    assert [line.number for line in lines] == [3, 2]
