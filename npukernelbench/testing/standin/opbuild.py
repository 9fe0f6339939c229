"""What the stand-in's operator projects call: reads a definition, writes its interface, makes the package.

``opbuild.py SOURCE OUT VENDOR UNIT [flat]`` ends with a script ``custom_opp_SYSTEM_ARCHITECTURE.run`` that installs
the package by ``installer.sh``. As the toolkit's own scripts do, this one imports packages of Python that the toolkit
does not bring along, and locks.
"""

from __future__ import annotations

import json
import multiprocessing
import os
import platform
import re
import shutil
import subprocess
import sys
from importlib import import_module
from pathlib import Path
from typing import NamedTuple

NEEDED = ("attr", "decorator", "psutil")
HERE = Path(__file__).parent
#: aclnn's name, by the setter of an attribute's default.
ATTRIBUTES = {
    "Float": "double ", "Int": "int64_t ", "Bool": "bool ", "String": "char *", "ListInt": "const aclIntArray *",
    "ListFloat": "const aclFloatArray *", "ListBool": "const aclBoolArray *",
}  # fmt: skip
_CORE = Path("op_impl/ai_core/tbe")
_TENSOR, _LIST = "const aclTensor *", "const aclTensorList *"
_NUMBERS = frozenset({"double ", "int64_t ", "bool "})


class Definition(NamedTuple):
    """What a definition says, out of its text."""

    name: str
    inputs: list[str]
    outputs: list[str]
    attributes: list[tuple[str, str, bool]]  # name, aclnn's type, whether it may be left out
    socs: list[str]
    presence: dict[str, str]  # of inputs and outputs: REQUIRED, OPTIONAL or DYNAMIC
    late: bool  # the kernel itself tells the shape of its output

    @property
    def plain_outputs(self) -> list[str]:
        """Outputs with a parameter of their own: one with the name of an input is that input."""
        return [name for name in self.outputs if name not in self.inputs]


def read(host: str) -> Definition:
    """The definition in the text of ``op_host``; loops over names count as what they repeat."""
    # Definitions are read as text and not compiled, so that loops over names have to be written out first.
    host = _LOOP.sub(_unrolled, host)
    [name] = re.findall(r"\bOP_ADD\s*\(\s*(\w+)\s*[,)]", host)
    arguments = r'\b(?:In|Out)put\("(\w+)"\)[^;]*?\.ParamType\((\w+)\)'
    attributes = rf'\bAttr\("(\w+)"\)([^;]*)\.({"|".join(ATTRIBUTES)})\('
    return Definition(
        name,
        re.findall(r'\bInput\("(\w+)"\)', host),
        re.findall(r'\bOutput\("(\w+)"\)', host),
        [(name, ATTRIBUTES[kind], "OPTIONAL" in more) for name, more, kind in re.findall(attributes, host)],
        re.findall(r'\bAddConfig\(\s*"(\w+)"', host),
        dict(re.findall(arguments, host)),
        "OutputShapeDependOnCompute" in host,
    )


#: A loop over names, as definitions have it for arguments that are alike.
_LOOP = re.compile(r"for \(const char\* (?P<name>\w+) : \{(?P<values>[^}]*)\}\) \{(?P<body>.*?)\n\s*\}", re.DOTALL)


def _unrolled(loop: re.Match[str]) -> str:
    word = re.compile(rf"\b{loop['name']}\b")
    return "\n".join(word.sub(value.strip(), loop["body"]) for value in loop["values"].split(","))


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
    kinds = {name: _LIST if presence == "DYNAMIC" else _TENSOR for name, presence in d.presence.items()}
    tensors = [(kinds.get(name, _TENSOR), camel(name) + _ending(d, name)) for name in d.inputs]
    tensors += [
        (kind, camel(name) + ("Optional" if kind == "char *" and free else "")) for name, kind, free in d.attributes
    ]
    only = len(d.plain_outputs) == 1
    return tensors + [(kinds.get(name, _TENSOR), "out" if only else camel(name) + "Out") for name in d.plain_outputs]


def _ending(d: Definition, name: str) -> str:
    """What is put behind the name of an input: one that is an output, too, and one that may be left out."""
    if name in d.outputs:
        return "Ref"
    return "Optional" if d.presence.get(name) == "OPTIONAL" else ""


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
#include "{source}"
struct Tensor {{ uint8_t* address; int64_t count; int dtype; uint64_t rank; int64_t dims[8]; }};
struct Call {{ Tensor* tensors[16]; int count; float tiling[8]; }};
extern "C" const char* aclrtGetSocName() __attribute__((weak));

// Folders of ASCEND_CUSTOM_OPP_PATH name installed packages, in their order; then those below vendors/ of the toolkit,
// in the order of config.ini there. The kernel that is launched is that of the first package which has one, whosever
// interface was called.
static bool g_another = false;
struct Text {{ char characters[4096]; }};
static const char* Variable(const char* name) {{ return std::getenv(name) ? std::getenv(name) : ""; }}
static Text Read(const char* file) {{
    Text text{{}};
    FILE* opened = std::fopen(file, "r");
    if (opened == nullptr) return text;
    std::fread(text.characters, 1, sizeof text - 1, opened);
    std::fclose(opened);
    return text;
}}
static bool Registered(const char* folder) {{
    const char* soc = aclrtGetSocName ? aclrtGetSocName() : "";
    const char* unit = std::strstr(soc, "910_93") ? "ascend910_93" : "ascend910b";
    const char* last = std::strrchr(folder, '/');
    g_another = last == nullptr || std::strcmp(last, "/{vendor}") != 0;
    Text file{{}};
    const char* pattern = "%s/op_impl/ai_core/tbe/config/%s/aic-%s-ops-info.json";
    std::snprintf(file.characters, sizeof file, pattern, folder, unit, unit);
    return std::strstr(Read(file.characters).characters, "\\"{name}\\"") != nullptr;
}}
static bool AnyRegistered(const char* before, const char* names, const char* between) {{
    for (size_t length = std::strcspn(names, between);; length = std::strcspn(names += length + 1, between)) {{
        Text folder{{}};
        std::snprintf(folder.characters, sizeof folder, "%s%.*s", before, static_cast<int>(length), names);
        if (length != 0 && Registered(folder.characters)) return true;
        if (names[length] == 0) return false;
    }}
}}
static bool Found() {{
    if (AnyRegistered("", Variable("ASCEND_CUSTOM_OPP_PATH"), ":")) return true;
    Text vendors{{}}, file{{}};
    std::snprintf(vendors.characters, sizeof vendors, "%s/vendors/", Variable("ASCEND_OPP_PATH"));
    std::snprintf(file.characters, sizeof file, "%sconfig.ini", vendors.characters);
    Text config = Read(file.characters);
    config.characters[std::strcspn(config.characters, "\\n")] = 0;  // its first line
    const size_t key = sizeof "load_priority=" - 1;
    if (std::strncmp(config.characters, "load_priority=", key) != 0) return false;
    return AnyRegistered(vendors.characters, config.characters + key, ",");
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
        if (!g_another) {kernel}({passed}, space, data);
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
    kinds = {_TENSOR: "Tensor* "}
    words = [kinds.get(kind, kind) + name for kind, name in parameters(d)]
    tensors = [name for kind, name in parameters(d) if kind in kinds]
    order = [*d.inputs, *d.plain_outputs]
    passed = [f"call->tensors[{order.index(name)}]->address" for name in (*d.inputs, *d.outputs)]
    passed += ["reinterpret_cast<uint8_t*>(late)"] if d.late else []
    plain = [camel(name) for name, kind, _ in d.attributes if kind in _NUMBERS]
    numbers = [f"call->tiling[{1 + i}] = static_cast<float>({name});" for i, name in enumerate(plain)]
    return LIBRARY.format(
        here=HERE, source=source, name=d.name, vendor=vendor, kernel=snake(d.name), arguments=", ".join(words),
        tensors=", ".join(tensors), attributes=" ".join(numbers), passed=", ".join(passed),
        after=LATE if d.late else "",
    )  # fmt: skip


def package(d: Definition, tree: Path, unit: str) -> None:
    """The folders of a package, and what says for which chips it has kernels."""
    core = (f"{_CORE}/op_tiling", f"{_CORE}/kernel/{unit}")
    for folder in ("framework", "op_api/include", "op_api/lib", "op_proto/inc", *core):
        (tree / folder).mkdir(parents=True, exist_ok=True)
    (tree / "version.info").write_text("custom_opp_compiler_version=9.1.0\n", encoding="utf-8")
    (tree / "op_api/include" / f"aclnn_{snake(d.name)}.h").write_text(header(d), encoding="utf-8")
    if unit in d.socs:
        config = tree / f"{_CORE}/config/{unit}"
        config.mkdir(parents=True, exist_ok=True)
        (config / f"aic-{unit}-ops-info.json").write_text(json.dumps({d.name: {}}), encoding="utf-8")


RUN = """\
#!/bin/sh
exec bash "{here}/installer.sh" "$(dirname "$(realpath "$0")")/{tree}" "{vendor}" "{architecture}" "{glibc}" "$@"
"""
TREE = "standin_tree"


def built_on() -> tuple[str, str]:
    """Architecture and C library that the package asks for: this machine's, unless a test says otherwise."""
    architecture, _, glibc = os.environ.get("ASCEND_STANDIN_BUILT", "").partition(" ")
    return architecture or platform.machine(), glibc or platform.libc_ver()[1] or "0"


def installer(out: Path, vendor: str) -> Path:
    """The script in ``out`` that installs the package that lies there."""
    architecture, glibc = built_on()
    try:
        system = platform.freedesktop_os_release()["ID"]
    except (OSError, KeyError):
        system = "linux"
    script = out / f"custom_opp_{system}_{architecture}.run"
    text = RUN.format(here=HERE, tree=TREE, vendor=vendor, architecture=architecture, glibc=glibc)
    script.write_text(text, encoding="utf-8")
    script.chmod(0o755)
    return script


def main(source: Path, out: Path, vendor: str, unit: str, *, flat: bool) -> None:
    """Make the package. A ``flat`` project has its kernel in one place, under the operator's name."""
    for name in NEEDED:
        import_module(name)
    # A lock is a semaphore in /dev/shm: this fails in a sandbox that hides it, as the toolkit's scripts do.
    with multiprocessing.Lock():
        host = "\n".join(path.read_text(encoding="utf-8") for path in sorted(source.glob("op_host/*.cpp")))
        definition = read(host)
        named = source / "op_kernel" / f"{snake(definition.name)}.cpp"
        kernel = named if flat else next(path for path in source.glob("op_kernel/**/*.cpp"))
        tree = out / TREE
        package(definition, tree, unit)
        host_library = out / "libascend_all_ops.so"
        if host_library.is_file():
            shutil.copy(host_library, tree / _CORE / "op_tiling/liboptiling.so")
        code = out / "standin_opapi.cpp"
        code.write_text(library(definition, kernel, vendor), encoding="utf-8")
        # Host code of a test chooses workspace and the result of tiling by words such as STANDIN_TILING=1.
        flags = dict(word.split("=") for word in re.findall(r"STANDIN_\w+=\d+", host))
        numbers = {"STANDIN_WORKSPACE": "0", "STANDIN_TILING": "0"} | flags
        built = tree / "op_api/lib/libcust_opapi.so"
        command = ["c++", "-shared", "-fPIC", "-w", *(f"-D{name}={value}" for name, value in numbers.items())]
        subprocess.run([*command, "-o", str(built), str(code)], check=True)
        installer(out, vendor)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], sys.argv[4], flat="flat" in sys.argv[5:])
