"""A plain writer of BVGraphs, by their definition (Boldi and Vigna, WWW 2004)."""

from pathlib import Path

WINDOW, SHORTEST, K = 2, 3, 3


def write_bvgraph(path: Path, lists: list[list[int]]) -> Path:
    """Write lists of ascending successors as `.graph` and `.properties`."""
    bits = "".join(_encode(lists, vertex) for vertex in range(len(lists)))
    bits += "0" * (-len(bits) % 8)
    octets = (int(bits[at : at + 8], 2) for at in range(0, len(bits), 8))
    path.write_bytes(bytes(octets))
    path.with_suffix(".properties").write_text(
        "#BVGraph properties\ngraphclass=it.unimi.dsi.webgraph.BVGraph\nversion=0\n"
        f"compressionflags=\nnodes={len(lists)}\narcs={sum(map(len, lists))}\n"
        f"windowsize={WINDOW}\nminintervallength={SHORTEST}\nzetak={K}\n"
    )
    return path


def _encode(lists: list[list[int]], vertex: int) -> str:
    """Encode a list by the list before it in the window that it has most from."""
    row = lists[vertex]
    if not row:
        return _gamma(0)
    near = range(1, min(WINDOW, vertex) + 1)
    shared = {back: len({*row} & {*lists[vertex - back]}) for back in near}
    back = max(shared, key=lambda b: (shared[b], -b), default=0)
    if not shared.get(back):
        return _gamma(len(row)) + _unary(0) + _extra(vertex, row)
    source = lists[vertex - back]
    rest = [v for v in row if v not in source]
    code = _gamma(len(row)) + _unary(back) + _blocks([v in row for v in source])
    return code + (_extra(vertex, rest) if rest else "")


def _blocks(kept: list[bool]) -> str:
    """Encode runs of what is copied and what is passed over, but for the last."""
    runs, copied = [0], True
    for keep in kept:
        if keep != copied:
            runs.append(0)
            copied = keep
        runs[-1] += 1
    codes = (_gamma(run - (i > 0)) for i, run in enumerate(runs[:-1]))
    return _gamma(len(runs) - 1) + "".join(codes)


def _extra(vertex: int, row: list[int]) -> str:
    """Encode intervals of consecutive successors, then the others."""
    runs: list[list[int]] = []
    for v in row:
        if runs and runs[-1][-1] == v - 1:
            runs[-1].append(v)
        else:
            runs.append([v])
    intervals = [run for run in runs if len(run) >= SHORTEST]
    code, after = _gamma(len(intervals)), 0
    for i, run in enumerate(intervals):
        code += _gamma(_natural(run[0] - vertex) if i == 0 else run[0] - after - 1)
        code += _gamma(len(run) - SHORTEST)
        after = run[-1] + 1
    single = [v for run in runs if len(run) < SHORTEST for v in run]
    for i, v in enumerate(single):
        code += _zeta(_natural(v - vertex) if i == 0 else v - single[i - 1] - 1)
    return code


def _natural(number: int) -> int:
    return 2 * number if number >= 0 else -2 * number - 1


def _unary(number: int) -> str:
    return "0" * number + "1"


def _gamma(number: int) -> str:
    digits = f"{number + 1:b}"
    return _unary(len(digits) - 1) + digits[1:]


def _zeta(number: int) -> str:
    group = ((number + 1).bit_length() - 1) // K
    left = 1 << group * K
    width = group * K + K
    rest = number + 1 - left  # minimal binary code of rest below left * (2^K - 1)
    if rest < left:
        return _unary(group) + f"{rest:0{width - 1}b}"
    return _unary(group) + f"{rest + left:0{width}b}"
