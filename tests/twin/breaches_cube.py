"""Ways to break the rules of the cube core, for test_rules.py: bodies run on one cube core, behind CUBE_SETUP."""

from __future__ import annotations

from tests.twin.breaches import Breach

#: What the bodies below may use: 256 halfs of a product in every memory, as cubes.py names them.
CUBE_SETUP = """
    KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIC_ONLY);
    if (GetBlockIdx() != 0) return;
    Cube cube;
    GlobalTensor<half> from = Gm<half>(x);
    GlobalTensor<float> to = Gm<float>(y);
    cube.Fractals(cube.a1.Get<half>(), from, 16, 16);
    cube.Fractals(cube.b1.Get<half>(), from, 16, 16);
    cube.Left<half>(16, 16);
    cube.Right<half>(16, 16);
    cube.Multiply<float, half>(16, 16, 16);
    LocalTensor<half> l1 = cube.a1.Get<half>(), l0a = cube.a2.Get<half>(), l0b = cube.b2.Get<half>();
    LocalTensor<float> c = cube.co1.Get<float>(), biases = cube.c2.Get<float>();
    LoadData2DParams one(0, 1, 1, 0, 0, false, 0);
    MmadParams product(16, 16, 16, 0, false, true), more(16, 16, 16, 0, false, false);
    FixpipeParamsV220 out(16, 16, 16, 16, false);
"""


def _cube(rule: str, body: str, text: str, *, warning: bool = False, twin: str = "fast") -> Breach:
    return Breach(rule, body, text, warning=warning, blocks=None, twin=twin, cube=True)


OF_CUBE = (
    # where operands lie
    _cube(
        "memory_overflow",
        "TBuf<TPosition::A2> rest;\ncube.pipe.InitBuffer(rest, 512);  // here",
        "of the L0A's",
        warning=True,
    ),
    _cube(
        "memory_overflow",
        """
        cube.pipe.Reset();
        TBuf<TPosition::B2> large;
        cube.pipe.InitBuffer(large, 65536);
        cube.pipe.InitBuffer(cube.a1, 512);
        LocalTensor<half> beyond(TPosition::A2, 65536, 16);  // here
        """,
        "at L0A address 65536",
    ),
    _cube("illegal_address", "LoadData(l0a, l0b, one);  // here", "src is in L0B and must be in L1"),
    _cube("illegal_address", "LoadData(c.ReinterpretCast<half>(), l1, one);  // here", "must be in L0A or L0B"),
    _cube("illegal_address", "Mmad(c, l0b, l0a, product);  // here", "fm is in L0B and must be in L0A"),
    _cube(
        "illegal_address",
        "DataCopy(biases, l0a.ReinterpretCast<float>(), 16);  // here",
        "src is in L0A and must be in L1",
    ),
    _cube("illegal_address", "DataCopy(to, c, 16);  // here", "src is in L0C and must be in L1"),
    _cube(
        "wrong_core", "LocalTensor<float> ub(TPosition::VECCALC, 0, 64);\nAbs(ub, ub, 64);  // here", "of vector cores"
    ),
    Breach(
        "wrong_core",
        "KERNEL_TASK_TYPE_DEFAULT(KERNEL_TYPE_AIV_ONLY);\n"
        "LocalTensor<half> l0(TPosition::A2, 0, 256), l1(TPosition::A1, 0, 256);\n"
        "LoadData(l0, l1, LoadData2DParams(0, 1, 1, 0, 0, false, 0));  // here",
        "of cube cores",
    ),
    _cube(
        "out_of_bounds",
        "LoadData(l0a[32768 - 256], l1, LoadData2DParams(0, 2, 1, 0, 0, false, 0));  // here",
        "of L0A, which has 65536",
    ),
    _cube("misaligned", "LoadData(l0a[16], l1, one);  // here", "not a multiple of 512"),
    _cube("misaligned", "Mmad(c[128], l0a, l0b, product);  // here", "not a multiple of 1024"),
    _cube("misaligned", "DataCopy(biases[8], l1.ReinterpretCast<float>(), 16);  // here", "not a multiple of 64"),
    # limits
    _cube("limit_exceeded", "product.k = 4096;\nMmad(c, l0a, l0b, product);  // here", "k 4096"),
    _cube("limit_exceeded", "product.unitFlag = 1;\nMmad(c, l0a, l0b, product);  // here", "unitFlag is 1"),
    _cube(
        "limit_exceeded",
        "one.ifTranspose = true;\nLoadData(l0a.ReinterpretCast<float>(), l1.ReinterpretCast<float>(), one);  // here",
        "ifTranspose",
    ),
    _cube("limit_exceeded", "out.nSize = 8;\nFixpipe<float, float, CFG_NZ>(to, c, out);  // here", "multiple of 16"),
    _cube("limit_exceeded", "out.dstStride = 0;\nFixpipe(to, c, out);  // here", "dstStride is 0"),
    _cube(
        "limit_exceeded", "Nd2NzParams p(4096, 1, 1, 0, 1, 16, 1, 0);\nDataCopy(l1, from, p);  // here", "ndNum 4096"
    ),
    _cube(
        "limit_exceeded",
        "LoadData3DParamsV2<half> p;\n"
        "p.l1H = 1, p.l1W = 16, p.channelSize = 18, p.kExtension = 16, p.mExtension = 16;\n"
        "LoadData(l0a, l1, p);  // here",
        "channelSize 18",
    ),
    _cube(
        "limit_exceeded",
        "LoadData3DParamsV2<half> p;\np.l1H = 2, p.l1W = 2, p.channelSize = 16, p.kExtension = 16, p.mExtension = 16;\n"
        "p.filterW = 3;\nLoadData(l0a, l1, p);  // here",
        "does not fit",
    ),
    # what leaves L0C
    _cube("quant_mode", "Fixpipe(Gm<half>(y), c, out);  // here", "quantPre 0 does not make"),
    _cube("quant_mode", "out.isChannelSplit = true;\nFixpipe(to, c, out);  // here", "channels are split"),
    _cube("quant_mode", "out.quantPre = VQF322B8_PRE;\nFixpipe(Gm<int8_t>(y), c, out);  // here", "no tensor of them"),
    _cube(
        "quant_mode",
        "DataCopyCO12DstParams p(16, 16, 16, 16, NoQuant, 0, false, true);\nDataCopy(to, c, p);  // here",
        "SetFixpipeNz2ndFlag",
    ),
    _cube(
        "quant_mode",
        "out.quantPre = QF322B8_PRE;\nout.deqScalar = 0x7f800000;\nFixpipe(Gm<int8_t>(y), c, out);  // here",
        "not a finite number",
        warning=True,
    ),
    _cube(
        "uninitialized_read", "Fixpipe(to, c[1024], out);  // here", "no Mmad has written", warning=True, twin="full"
    ),
    # unit flags
    _cube("unit_flag", "out.unitFlag = 3;\nFixpipe(to, c, out);  // here", "which no Mmad sets"),
    _cube(
        "unit_flag",
        "product.unitFlag = 3;\nMmad(c, l0a, l0b, product);\nMmad(c, l0a, l0b, product);  // here",
        "which nothing clears",
    ),
    # the order of pipes
    _cube(
        "missing_sync",
        "Mmad(c, l0a, l0b, more);\nMmad(c, l0a, l0b, more);  // here",
        "pipe M",
        warning=True,
        twin="full",
    ),
    _cube("missing_sync", "LoadData(l0a, l1, one);\nMmad(c, l0a, l0b, product);  // here", "pipe MTE1"),
)
