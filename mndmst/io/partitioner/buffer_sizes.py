"""Sizes of the partitioner's buffers. No size changes a graph."""

from dataclasses import dataclass


@dataclass(frozen=True)
class BufferSizes:
    """Bounds of the memory that a pass over edges holds at a time."""

    # A bucket should stay in the caches of a core
    largest_bucket: int = 1 << 22
    # Bytes of a batch: the edges as they are read, and their arcs by buckets
    smallest_batch: int = 1 << 20
    largest_batch: int = 1 << 28
    largest_load: int = 1 << 27  # bytes of arcs that are read at once
    block_bits: int = 20  # the counts of ends cover at most 2^block_bits blocks
    # Bytes of names in memory at once. Fewer would make many files, and more would take
    # memory from the page cache
    fewest_names: int = 1 << 20
    most_names: int = 1 << 29
    slice_edges: int = 1 << 17  # edges whose names are looked up at once


SIZES = BufferSizes()
