"""Template arguments of kernels, as the launches of their file give them."""

from __future__ import annotations

import pytest

from npukb_conformance.survey.entries import entries_of

KERNEL = "template <typename T, int N> __global__ __aicore__ void k(GM_ADDR x) { }\n"
LAUNCH = "<<<1, nullptr, s>>>(x);"


@pytest.mark.parametrize(
    ("host", "arguments"),
    [
        (f"void f() {{ k<half, 2>{LAUNCH} }}", "half, 2"),
        (f"template <typename D> void go(int a) {{ k<D, 3>{LAUNCH} }}\ntemplate void go<float>(int);", "float, 3"),
        (
            f"template <typename D, int M = 4> void go(int a) {{ k<D, M>{LAUNCH} }}\nvoid f() {{ go<at::Half>(3); }}",
            "half, 4",
        ),
        (
            f"template <typename D, int M> void go(int a) {{ k<D, M>{LAUNCH} }}\n"
            "template <typename E> void outer() { go<E, 7>(1); }\nvoid f() { outer<bfloat16_t>(); }",
            "bfloat16_t, 7",
        ),
        (f"template <typename D> void go(D a) {{ k<D, 1>{LAUNCH} }}", "half, 1"),
        (f"template <typename D, bool B> void go(D a) {{ k<D, B>{LAUNCH} }}", "half, false"),
        (f"void f() {{ using T = float; k<T, (1 + 2)>{LAUNCH} }}", "float, (1 + 2)"),
        (f"void f() {{ k<scalar_t, kN>{LAUNCH} }}", "half, kN"),
        # A template that gives itself its own parameter says nothing.
        (f"template <typename D> void go(int a) {{ k<D, 1>{LAUNCH} go<D>(a - 1); }}", "half, 1"),
        ("", ""),
    ],
)
def test_a_host_templates_parameters_are_what_its_callers_give(host: str, arguments: str) -> None:
    [entry] = entries_of(KERNEL + host)
    assert (entry.is_template, entry.template) == (True, arguments)
