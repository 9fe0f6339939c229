"""FeedsRepeat: every row as often as its count says, and zeros up to the size of the output."""

T = float16, float32, bfloat16
N = int32, int64


@host
def plan(feeds, output_feeds_size):
    n = feeds.shape[0]
    d = feeds.size // n
    share = ceil_div(n, vector_cores())
    y.shape = (output_feeds_size,) + feeds.shape[1 : feeds.rank]
    launch(cores=vector_cores(), lanes=vector_cores(), n=n, d=d, share=share, wide=min(d, 8192))


@kernel
def feeds_repeat(
    feeds: Input[T],
    feeds_repeat_times: Input[N],
    y: Output[T],
    output_feeds_size: Attribute[int],
    *,
    lanes,
    n,
    d,
    share,
    wide,
):
    row_in = buffer(wide, T)
    zeros = buffer(wide, T)
    begin = core() * share
    at = 0
    for row in range(0, n):
        times = feeds_repeat_times[row]
        if row >= begin and row < begin + share and times > 0:
            for offset in range(0, d, wide):
                length = min(wide, d - offset)
                with copy_in as read:
                    load(row_in, feeds[row * d + offset], length)
                with copy_out as repeat:
                    for copy in range(at, at + times):
                        store(y[copy * d + offset], row_in, length)
        at = at + times
    with compute(wide) as clear:
        zeros[:] = 0.0
    for row in range(at + core(), output_feeds_size, lanes):
        for offset in range(0, d, wide):
            length = min(wide, d - offset)
            with copy_out as write_zeros:
                store(y[row * d + offset], zeros, length)


# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
