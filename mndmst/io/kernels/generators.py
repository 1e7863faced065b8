"""Random edges by number: each is a hash of the seed and its own number alone.

So any process can make any of them, and together they make the same graph however
many they are (counter-based random numbers; Salmon, Moraes, Dror and Shaw, SC 2011).
"""

import numpy as np

from ...kernels.binary_search import first_above
from ...native.kernel import kernel
from .csr_conversion import scatter

STEP = np.uint64(0x9E3779B97F4A7C15)
LEVELS = 4  # of R-MAT for each hash: 16 bits of it choose a quadrant
BLOCK = 512  # edges of R-MAT that vector instructions make at once
ROUNDS = 4


@kernel
def _hash(seed, number, stream):
    """Return 64 random bits for a number in one of several streams."""
    word = scatter(np.uint64(seed) + (np.uint64(stream) + np.uint64(1)) * STEP)
    return scatter(word ^ (np.uint64(number) * STEP))


@kernel
def _below(bits, limit):
    """Return 32 random bits times a limit below 2^32, divided by 2^32."""
    return np.int64(((bits >> np.uint64(32)) * np.uint64(limit)) >> np.uint64(32))


@kernel
def rmat(seed, scale, bounds, begin, src, dst):
    """Make R-MAT edges from number `begin` on.

    `bounds` (uint64 [3]) are a, a + b and a + b + c, times 2^16.
    """
    u, v = np.empty(BLOCK, np.uint64), np.empty(BLOCK, np.uint64)
    bits = np.zeros(BLOCK, np.uint64)
    for first in range(0, len(src), BLOCK):
        count = min(BLOCK, len(src) - first)
        u[:], v[:] = 0, 0
        for level in range(scale):
            if level % LEVELS == 0:
                for i in range(count):
                    bits[i] = _hash(seed, begin + first + i, level // LEVELS)
            _descend(bits, bounds[0], bounds[1], bounds[2], u, v)
        for i in range(count):
            src[first + i], dst[first + i] = u[i], v[i]


@kernel
def _descend(bits, a, ab, abc, u, v):
    """Choose a quadrant of the next level for a block of edges, without a branch."""
    for i in range(len(bits)):
        draw = bits[i] & np.uint64(0xFFFF)
        bits[i] >>= np.uint64(16)
        lower, right = draw >= ab, ((draw >= a) & (draw < ab)) | (draw >= abc)
        u[i] = (u[i] << np.uint64(1)) | np.uint64(lower)
        v[i] = (v[i] << np.uint64(1)) | np.uint64(right)


@kernel
def gnm(seed, num_vertices, begin, src, dst):
    """Make edges of G(n, m) from number `begin` on, none of them twice."""
    # The numbers of all pairs are permuted by a Feistel network, walked until it comes
    # back among them (Black and Rogaway, CT-RSA 2002); edge i is pair permutation(i)
    pairs = np.uint64(num_vertices) * np.uint64(num_vertices - 1) // np.uint64(2)
    half = np.uint64(1)
    while half < np.uint64(32) and pairs >> (np.uint64(2) * half):
        half += np.uint64(1)
    mask = (np.uint64(1) << half) - np.uint64(1)
    for i in range(len(src)):
        number = np.uint64(begin + i)
        while True:
            left, right = number >> half, number & mask
            for turn in range(ROUNDS):
                left, right = right, left ^ (_hash(seed, right, turn) & mask)
            number = left << half | right
            if number < pairs:
                break
        # Pair number v (v - 1) / 2 + u is (u, v) with u < v; the root is put right
        v = np.int64((1.0 + np.sqrt(1.0 + 8.0 * np.float64(number))) / 2.0)
        while np.uint64(v) * np.uint64(v - 1) // np.uint64(2) > number:
            v -= 1
        while np.uint64(v) * np.uint64(v + 1) // np.uint64(2) <= number:
            v += 1
        u = number - np.uint64(v) * np.uint64(v - 1) // np.uint64(2)
        src[i], dst[i] = u, v


@kernel
def road(seed, side, keep, begin, src, dst):
    """Make streets of a square grid of crossings: 2 v leads right, 2 v + 1 down.

    `keep` (uint64) is the share of the streets to make, times 2^32. Returns how many
    were made: the filled entries of `src` and `dst`.
    """
    count = 0
    for i in range(len(src)):
        number = begin + i
        v, down = number // 2, number % 2
        row, column = v // side, v % side
        edge = row == side - 1 if down else column == side - 1
        if not edge and _hash(seed, number, 0) >> np.uint64(32) < keep:
            src[count], dst[count] = v, v + (side if down else 1)
            count += 1
    return count


@kernel
def clique_bounds(seed, num_vertices, largest):
    """Return the first vertex of each clique of SSCA#2, and the number of vertices."""
    bounds = [0]
    while bounds[-1] < num_vertices:
        size = 1 + _below(_hash(seed, len(bounds), 1), largest)
        bounds.append(min(num_vertices, bounds[-1] + size))
    return np.array(bounds)


@kernel
def ssca2(seed, bounds, between, begin, end, src, dst):
    """Make the SSCA#2 edges that the vertices [begin, end) list.

    A vertex lists those before it in its clique, and for each distance 1, 2, 4 ...
    with falling probability a vertex of the clique as far ahead: `between` at distance
    1, and half of it as the distance doubles. Returns the number of edges; empty `src`
    and `dst` are not filled.
    """
    cliques = len(bounds) - 1
    clique = first_above(bounds, begin) - 1
    count = 0
    for v in range(begin, end):
        while bounds[clique + 1] <= v:
            clique += 1
        for u in range(bounds[clique], v):
            if len(src):
                src[count], dst[count] = u, v
            count += 1
        distance, chance, stream = 1, between, 2
        while distance < cliques:
            bits = _hash(seed, v, stream)
            if np.float64(bits & np.uint64(0xFFFFFFFF)) < chance * 4294967296.0:
                other = (clique + distance) % cliques
                size = bounds[other + 1] - bounds[other]
                if len(src):
                    src[count] = v
                    dst[count] = bounds[other] + _below(bits, size)
                count += 1
            distance, chance, stream = 2 * distance, chance / 2, stream + 1
    return count
