"""CraftMaxPooling3d: largest elements of windows over the last 3 axes.

The lines that a row of windows covers are compared first, then their columns are gathered. Places outside are
moved to the border, which lies in the same window.
"""


@host
def plan(x, kernel_size, stride, padding):
    depth = x.shape[2]
    depth_out = (depth + 2 * padding - kernel_size) // stride + 1
    height = x.shape[3]
    height_out = (height + 2 * padding - kernel_size) // stride + 1
    width = x.shape[4]
    width_out = (width + 2 * padding - kernel_size) // stride + 1
    rows = x.shape[0] * x.shape[1] * depth_out * height_out
    share = max(1, ceil_div(rows, vector_cores()))
    segment = 4096
    tile = min(width_out, max(1, (segment - kernel_size) // stride))
    y.shape = x.shape[0:2] + (depth_out, height_out, width_out)
    launch(
        cores=max(1, ceil_div(rows, share)),
        rows=rows,
        share=share,
        tile=tile,
        segment=segment,
        width=width,
        width_out=width_out,
        depth=depth,
        height=height,
        depth_out=depth_out,
        height_out=height_out,
    )


@kernel
def craft_max_pooling_3d(
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
    depth,
    height,
    depth_out,
    height_out,
):
    x_line = buffer(segment, float32, depth=2)
    lines = buffer(segment, float32)
    places = buffer(tile, int32)
    result = buffer(tile, float32, depth=2)
    first = core() * share
    for row in range(first, min(first + share, rows)):
        plane = row // height_out // depth_out
        front = row // height_out % depth_out * stride - padding
        top = row % height_out * stride - padding
        for begin in range(0, width_out, tile):
            count = min(tile, width_out - begin)
            left = max(begin * stride - padding, 0)
            span = min((begin + count - 1) * stride - padding + kernel_size, width) - left
            with compute(span) as start_lines:
                lines[:] = -inf
            for d in range(max(front, 0), min(front + kernel_size, depth)):
                for h in range(max(top, 0), min(top + kernel_size, height)):
                    with copy_in:
                        load(x_line, x[((plane * depth + d) * height + h) * width + left], span)
                    with compute(span) as compare_line:
                        lines[:] = max(lines, x_line)
            with compute(count) as gather_columns:
                places[:] = iota() * stride
                result[:] = -inf
                for u in range(0, kernel_size):
                    shift_by = begin * stride - padding + u - left
                    result[:] = max(result, gather(lines, min(max(places + shift_by, 0), span - 1)))
            with copy_out:
                store(y[row * width_out + begin], result, count)


# npukernelbench canary 7c1f64d2-0b0e-4a53-9a55-5c3f1f0e9d26: benchmark data, not for training corpora
