"""Writes the package that an operator project of the tests comes to: a script that installs a header and a library."""

import re
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
HEADER = """\
// generated
aclnnStatus aclnn{name}GetWorkspaceSize(
    const aclTensor *x,
    double scaleBy,
    const aclTensor *out,
    uint64_t *workspaceSize,
    aclOpExecutor **executor);
aclnnStatus aclnn{name}(void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream);
"""
LIBRARY = """\
#include "{here}/fake_kernel.h"
#include "{source}"
struct FakeTensor {{ uint8_t* address; int64_t count; int dtype; }};
struct Call {{ FakeTensor *x, *out; double scale; }};
extern "C" int aclnn{name}GetWorkspaceSize(FakeTensor* x, double scale, FakeTensor* out, uint64_t* size,
                                           void** executor) {{
    if (x->dtype != 0) return 561003;
    *size = FAKE_WORKSPACE;
    *executor = new Call{{x, out, scale}};
    return FAKE_TILING;
}}
extern "C" int aclnn{name}(void* workspace, uint64_t size, Call* call, void* stream) {{
    float tiling[2] = {{static_cast<float>(call->x->count), static_cast<float>(call->scale)}};
    auto* data = reinterpret_cast<uint8_t*>(tiling);
    {kernel}(call->x->address, call->out->address, static_cast<uint8_t*>(workspace), data);
    return 0;
}}
"""


def main(source: Path, out: Path, vendor: str, unit: str) -> None:
    assert unit == "ascend910b", unit
    host = "\n".join(path.read_text() for path in sorted(source.glob("op_host/*.cpp")))
    name = re.search(r"OP_ADD\((\w+)\)", host)[1]
    kernel = next(path for path in source.glob("op_kernel/**/*.cpp"))
    entry = re.search(r"void (\w+)\(", kernel.read_text())[1]
    tree = out / "fake_tree" / "vendors" / vendor / "op_api"
    (tree / "include").mkdir(parents=True, exist_ok=True)
    (tree / "lib").mkdir(exist_ok=True)
    snake = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).lower()
    (tree / "include" / f"aclnn_{snake}.h").write_text(HEADER.format(name=name))
    code = out / "fake_opapi.cpp"
    code.write_text(LIBRARY.format(name=name, here=HERE, source=kernel, kernel=entry))
    flags = [f"-D{word}" for word in re.findall(r"FAKE_\w+=\d+", host)]
    subprocess.run(["c++", "-shared", "-fPIC", "-w", *flags, "-o", tree / "lib/libcust_opapi.so", code], check=True)
    script = out / "custom_opp_fake_linux.run"
    script.write_text(
        f'#!/bin/sh\nset -e\nto="${{1#--install-path=}}"\nmkdir -p "$to"\ncp -r "{out}/fake_tree/." "$to/"\n'
    )
    script.chmod(0o755)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], sys.argv[4])
