"""CraftAveragePooling2d: means of windows over the last 2 axes.

The lines that a row of windows covers are added up first, then their columns are gathered. Elements outside count
as zeros.
"""


@host
def plan(x, kernel_size, stride, padding):
    height = x.shape[2]
    height_out = (height + 2 * padding - kernel_size) // stride + 1
    width = x.shape[3]
    width_out = (width + 2 * padding - kernel_size) // stride + 1
    rows = x.shape[0] * x.shape[1] * height_out
    share = max(1, ceil_div(rows, vector_cores()))
    segment = 4096
    tile = min(width_out, max(1, (segment - kernel_size) // stride))
    share_of_one = 1.0 / float(kernel_size * kernel_size)
    y.shape = x.shape[0:2] + (height_out, width_out)
    launch(
        cores=max(1, ceil_div(rows, share)),
        rows=rows,
        share=share,
        tile=tile,
        segment=segment,
        width=width,
        width_out=width_out,
        height=height,
        height_out=height_out,
        share_of_one=share_of_one,
    )


@kernel
def craft_average_pooling_2d(
    x: Input[float32],
    y: Output[float32],
    kernel_size: Attribute[int],
    stride: Attribute[int],
    padding: Attribute[int] = 0,
    *,
    rows,
    share,
    tile,
    segment,
    width,
    width_out,
    height,
    height_out,
    share_of_one,
):
    x_line = buffer(segment, float32, depth=2)
    lines = buffer(segment, float32)
    places = buffer(tile, int32)
    wanted = buffer(tile, float32)
    part = buffer(tile, float32)
    result = buffer(tile, float32, depth=2)
    first = core() * share
    for row in range(first, min(first + share, rows)):
        plane = row // height_out
        top = row % height_out * stride - padding
        for begin in range(0, width_out, tile):
            count = min(tile, width_out - begin)
            left = max(begin * stride - padding, 0)
            span = min((begin + count - 1) * stride - padding + kernel_size, width) - left
            with compute(span) as start_lines:
                lines[:] = 0.0
            for h in range(max(top, 0), min(top + kernel_size, height)):
                with copy_in:
                    load(x_line, x[(plane * height + h) * width + left], span)
                with compute(span) as add_line:
                    lines[:] = lines + x_line
            with compute(count) as gather_columns:
                places[:] = iota() * stride
                result[:] = 0.0
                for u in range(0, kernel_size):
                    column = begin * stride - padding + u
                    wanted[:] = float32(places) + float(column)
                    part[:] = gather(lines, min(max(places + (column - left), 0), span - 1))
                    result[:] = result + where((wanted >= 0.0) & (wanted < float(width)), part, 0.0)
                result[:] = result * share_of_one
            with copy_out:
                store(y[row * width_out + begin], result, count)


# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
