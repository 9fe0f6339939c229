"""What many kernels of the tests begin with: a pipe with a buffer, two queues or a matrix product, and tensors on
global memory."""

from __future__ import annotations

__all__ = ["fresh", "on_buffer", "on_cubes", "on_global", "on_matmul", "on_queues", "on_vectors", "put"]


def on_buffer(ctype: str, name: str, size_bytes: int) -> str:
    """``pipe``, ``buffer``, and a tensor of UB that covers the buffer."""
    return f"""
    TPipe pipe;
    TBuf<TPosition::VECCALC> buffer;
    pipe.InitBuffer(buffer, {size_bytes});
    LocalTensor<{ctype}> {name} = buffer.Get<{ctype}>();
"""


def on_queues(depth: int, buffers: int, size_bytes: int) -> str:
    """``pipe``, and the queues ``in`` and ``out`` with so many buffers each."""
    return f"""
    TPipe pipe;
    TQue<TPosition::VECIN, {depth}> in;
    TQue<TPosition::VECOUT, {depth}> out;
    pipe.InitBuffer(in, {buffers}, {size_bytes});
    pipe.InitBuffer(out, {buffers}, {size_bytes});
"""


def on_vectors() -> str:
    """``pipe``, the queues ``in`` and ``out`` and ``buffer``, all without memory yet, and 512 floats of ``x``, of ``y``
    and of the workspace as ``from``, ``to`` and ``spare``.
    """
    return f"""
    TPipe pipe;
    TQue<TPosition::VECIN, 2> in;
    TQue<TPosition::VECOUT, 2> out;
    TBuf<TPosition::VECCALC> buffer;
{on_global("float", **{"from": "x, 512", "to": "y, 512", "spare": "workspace, 512"})}"""


def on_global(ctype: str, **places: str) -> str:
    """Tensors on global memory by name; a place is an address, or an address and a number of elements."""
    lines = [f"GlobalTensor<{ctype}> {', '.join(places)};"]
    lines += [f"{name}.SetGlobalBuffer((__gm__ {ctype}*){place});" for name, place in places.items()]
    return "".join(f"    {line}\n" for line in lines)


_CLEAN = "DataCacheCleanAndInvalid<{}, CacheLine::SINGLE_CACHE_LINE>"


def put(tensor: str, at: str, value: str, ctype: str = "int32_t") -> str:
    """Stores an element of global memory where other cores and transfers can see it."""
    return f"{tensor}.SetValue({at}, {value}); {_CLEAN.format(ctype)}({tensor}[{at}]);"


def fresh(tensor: str, at: str, ctype: str = "int32_t") -> str:
    """The element as memory holds it, whatever the core's data cache does."""
    return f"({_CLEAN.format(ctype)}({tensor}[{at}]), {tensor}.GetValue({at}))"


def on_matmul(cores: str, *, registered: bool = True) -> str:
    """``pipe``, and ``mm``, which multiplies halfs to floats with the tiling ``t`` of ``p``, on these cores."""
    register = "REGIST_MATMUL_OBJ(&pipe, GetSysWorkSpacePtr(), mm, &t);" if registered else ""
    return _multiplying(cores, f"Matmul<A, A, C> mm;\n{register}")


def on_cubes(configuration: str) -> str:
    """``pipe`` and ``mm`` on cube cores alone, where an object needs nobody to do its work."""
    opened = f"MatmulImpl<A, A, C, C, {configuration}> mm;\nmm.SetSubBlockIdx(0);\nmm.Init(&t, &pipe);"
    return _multiplying("AIC_ONLY", opened)


def _multiplying(cores: str, opened: str) -> str:
    return f"""
KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_{cores});
using A = MatmulType<TPosition::GM, CubeFormat::ND, half>;
using C = MatmulType<TPosition::GM, CubeFormat::ND, float>;
TCubeTiling t = TilingOf(p);
TPipe pipe;
{opened}
"""
