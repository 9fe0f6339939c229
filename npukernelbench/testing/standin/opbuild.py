"""What the stand-in's operator projects call: reads a definition, writes its interface, makes the package.

``opbuild.py SOURCE OUT VENDOR UNIT`` ends with a script ``custom_opp_standin_linux.run`` that installs the package. As
the toolkit's own scripts do, this one imports packages of Python that the toolkit does not bring along, and locks.
"""

from __future__ import annotations

import json
import multiprocessing
import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

NEEDED = ("attr", "decorator", "psutil")
HERE = Path(__file__).parent
#: aclnn's name, by the setter of an attribute's default.
ATTRIBUTES = {"Float": "double", "Int": "int64_t", "Bool": "bool"}


class Definition(NamedTuple):
    """What a definition says, out of its text."""

    name: str
    inputs: list[str]
    outputs: list[str]
    attributes: list[tuple[str, str]]
    socs: list[str]
    late: bool  # the kernel itself tells the shape of its output

    @property
    def plain_outputs(self) -> list[str]:
        """Outputs with a parameter of their own: one with the name of an input is that input."""
        return [name for name in self.outputs if name not in self.inputs]


def read(host: str) -> Definition:
    """The definition in the text of ``op_host``."""
    [name] = re.findall(r"OP_ADD\((\w+)\)", host)
    return Definition(
        name,
        re.findall(r'\bInput\("(\w+)"\)', host),
        re.findall(r'\bOutput\("(\w+)"\)', host),
        [(name, ATTRIBUTES[kind]) for name, kind in re.findall(r'\bAttr\("(\w+)"\)[^;]*\.(Float|Int|Bool)\(', host)],
        re.findall(r'\bAddConfig\("(\w+)"', host),
        "OutputShapeDependOnCompute" in host,
    )


def camel(name: str) -> str:
    """As aclnn writes a parameter: ``scale_by`` is ``scaleBy``."""
    first, *rest = name.split("_")
    return first + "".join(word.capitalize() for word in rest)


def snake(name: str) -> str:
    """File and kernel of an operator type."""
    text = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name)
    return re.sub(r"(?<=[A-Z])(?=[A-Z][a-z])", "_", text).lower()


def parameters(d: Definition) -> list[tuple[str, str]]:
    """Type and name of every parameter of the first phase: inputs, attributes, outputs."""
    found = [("const aclTensor *", camel(name) + ("Ref" if name in d.outputs else "")) for name in d.inputs]
    found += [(kind + " ", camel(name)) for name, kind in d.attributes]
    only = len(d.plain_outputs) == 1
    return found + [("const aclTensor *", "out" if only else camel(name) + "Out") for name in d.plain_outputs]


def header(d: Definition) -> str:
    """The generated header."""
    words = [kind + name for kind, name in parameters(d)]
    first = ",\n    ".join([*words, "uint64_t *workspaceSize", "aclOpExecutor **executor"])
    second = "void *workspace, uint64_t workspaceSize, aclOpExecutor *executor, aclrtStream stream"
    return f"aclnnStatus aclnn{d.name}GetWorkspaceSize(\n    {first});\naclnnStatus aclnn{d.name}({second});\n"


LIBRARY = """\
#include "{here}/kernel.h"
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include "{source}"
struct Tensor {{ uint8_t* address; int64_t count; int dtype; uint64_t rank; int64_t dims[8]; }};
struct Call {{ Tensor* tensors[16]; int count; float tiling[8]; }};
extern "C" const char* aclrtGetSocName() __attribute__((weak));

// Folders of ASCEND_CUSTOM_OPP_PATH name installed packages, in their order; then those of the toolkit.
static bool Registered(const std::string& folder) {{
    const char* soc = aclrtGetSocName ? aclrtGetSocName() : "";
    const std::string unit = std::strstr(soc, "910_93") ? "ascend910_93" : "ascend910b";
    const std::string file = folder + "/op_impl/ai_core/tbe/config/" + unit + "/aic-" + unit + "-ops-info.json";
    FILE* opened = std::fopen(file.c_str(), "r");
    if (opened == nullptr) return false;
    char text[4096] = {{}};
    const size_t size = std::fread(text, 1, sizeof text - 1, opened);
    std::fclose(opened);
    return size > 0 && std::strstr(text, "\\"{name}\\"") != nullptr;
}}
static bool Found() {{
    std::string paths = std::getenv("ASCEND_CUSTOM_OPP_PATH") ? std::getenv("ASCEND_CUSTOM_OPP_PATH") : "";
    for (size_t at = 0; at <= paths.size();) {{
        const size_t end = std::min(paths.find(':', at), paths.size());
        if (end > at && Registered(paths.substr(at, end - at))) return true;
        at = end + 1;
    }}
    return Registered(std::string(std::getenv("ASCEND_HOME_PATH")) + "/opp/vendors/{vendor}");
}}
extern "C" int aclnn{name}GetWorkspaceSize({arguments}, uint64_t* size, void** executor) {{
    Tensor* tensors[] = {{{tensors}}};
    for (Tensor* tensor : tensors) if (tensor == nullptr) return 161001;
    if (!Found() || tensors[0]->dtype != 0) return 561003;
    auto* call = new Call{{}};
    for (Tensor* tensor : tensors) call->tensors[call->count++] = tensor;
    call->tiling[0] = static_cast<float>(tensors[0]->count);
    {attributes}
    *size = STANDIN_WORKSPACE;
    *executor = call;
    return STANDIN_TILING;
}}
extern "C" int aclnn{name}(void* workspace, uint64_t, Call* call, void*) {{
    auto* data = reinterpret_cast<uint8_t*>(call->tiling);
    auto* space = static_cast<uint8_t*>(workspace);
    uint64_t late[8] = {{}};
    {{
        StandinLaunch bracket("{kernel}_0");
        {kernel}({passed}, space, data);
    }}
    {after}
    return 0;
}}
"""
LATE = """Tensor* out = call->tensors[call->count - 1];
    out->rank = late[0];
    for (uint64_t i = 0; i < out->rank; ++i) out->dims[i] = static_cast<int64_t>(late[1 + i]);"""


def library(d: Definition, source: Path, vendor: str) -> str:
    """Source of the interface's library, with the kernel inside."""
    kinds = {"const aclTensor *": "Tensor* "}
    words = [kinds.get(kind, kind) + name for kind, name in parameters(d)]
    tensors = [name for kind, name in parameters(d) if kind in kinds]
    order = [*d.inputs, *d.plain_outputs]
    passed = [f"call->tensors[{order.index(name)}]->address" for name in (*d.inputs, *d.outputs)]
    passed += ["reinterpret_cast<uint8_t*>(late)"] if d.late else []
    numbers = [f"call->tiling[{1 + i}] = static_cast<float>({camel(n)});" for i, (n, _) in enumerate(d.attributes)]
    return LIBRARY.format(
        here=HERE, source=source, name=d.name, vendor=vendor, kernel=snake(d.name), arguments=", ".join(words),
        tensors=", ".join(tensors), attributes=" ".join(numbers), passed=", ".join(passed),
        after=LATE if d.late else "",
    )  # fmt: skip


def package(d: Definition, tree: Path, unit: str) -> None:
    """The folders of a package, and what says for which chips it has kernels."""
    for folder in ("framework", "op_api/include", "op_api/lib", "op_proto/inc", f"op_impl/ai_core/tbe/kernel/{unit}"):
        (tree / folder).mkdir(parents=True, exist_ok=True)
    (tree / "version.info").write_text("custom_opp_compiler_version=9.1.0\n", encoding="utf-8")
    (tree / "op_api/include" / f"aclnn_{snake(d.name)}.h").write_text(header(d), encoding="utf-8")
    if unit in d.socs:
        config = tree / f"op_impl/ai_core/tbe/config/{unit}"
        config.mkdir(parents=True, exist_ok=True)
        (config / f"aic-{unit}-ops-info.json").write_text(json.dumps({d.name: {}}), encoding="utf-8")


RUN = """\
#!/bin/sh
# Installs below vendors/ of the folder that is named, else of the toolkit.
set -e
to="$ASCEND_HOME_PATH/opp"
case "$1" in --install-path=*) to="${{1#--install-path=}}" ;; esac
mkdir -p "$to"
cp -r "{tree}/." "$to/"
"""


def main(source: Path, out: Path, vendor: str, unit: str) -> None:
    """Make the package."""
    for name in NEEDED:
        import_module(name)
    with multiprocessing.Lock():
        host = "\n".join(path.read_text(encoding="utf-8") for path in sorted(source.glob("op_host/*.cpp")))
        definition = read(host)
        kernel = next(path for path in source.glob("op_kernel/**/*.cpp"))
        tree = out / "standin_tree"
        package(definition, tree / "vendors" / vendor, unit)
        code = out / "standin_opapi.cpp"
        code.write_text(library(definition, kernel, vendor), encoding="utf-8")
        flags = dict(word.split("=") for word in re.findall(r"STANDIN_\w+=\d+", host))
        numbers = {"STANDIN_WORKSPACE": "0", "STANDIN_TILING": "0"} | flags
        built = tree / "vendors" / vendor / "op_api/lib/libcust_opapi.so"
        command = ["c++", "-shared", "-fPIC", "-w", *(f"-D{name}={value}" for name, value in numbers.items())]
        subprocess.run([*command, "-o", str(built), str(code)], check=True)
        script = out / "custom_opp_standin_linux.run"
        script.write_text(RUN.format(tree=tree), encoding="utf-8")
        script.chmod(0o755)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], sys.argv[4])
