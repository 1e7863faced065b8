"""Intermediate files: arcs grouped by bucket, and spooled pieces of an input."""

from contextlib import suppress
from pathlib import Path

import numpy as np

from ..atomic_output import whole_file
from ..file_errors import fill, writing


class RunWriter:
    """Writes batches of arcs grouped by bucket, and an index of the groups.

    The index is written last, under its own name, so a file that has one is whole. Used
    as a context manager, which writes the index unless the block fails.

    Parameters
    ----------
    path : Path
        Without suffix: `.arcs` and `.npy` are added.
    """

    def __init__(self, path: Path, buckets: int) -> None:
        self.path = path
        self.counts = [np.zeros(buckets, np.int64)]
        with writing(path):
            self.file = path.with_suffix(".arcs").open("xb")

    def append(self, counts: np.ndarray, *columns: np.ndarray) -> None:
        """Write a batch.

        Parameters
        ----------
        counts : ndarray of int64, shape (buckets,)
            How many arcs each bucket has; the columns are ordered by bucket.
        *columns : ndarray, shape (counts.sum(),)
            The same types in every batch.
        """
        self.counts.append(counts)
        with writing(self.path):
            for column in columns:
                self.file.write(column.view(np.uint8).data)

    def __enter__(self) -> "RunWriter":
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if kind is not None:
            with suppress(OSError):  # what failed may do so again
                self.file.close()
            return
        with writing(self.path):
            self.file.close()
        index = self.path.with_suffix(".npy")
        with whole_file(index) as temporary, temporary.open("wb") as file:
            np.save(file, np.stack(self.counts[1:] or self.counts))


def read_buckets(
    path: Path, buckets: range, places: np.ndarray, *columns: np.ndarray
) -> None:
    """Read the arcs of consecutive buckets, grouped by bucket.

    Parameters
    ----------
    path : Path
        As given to `RunWriter`.
    places : ndarray of int64, shape (buckets,)
        Where the arcs of each bucket go in the columns; moved on.
    *columns : ndarray
        Filled; as given to `RunWriter.append`.
    """
    with writing(path):
        counts = np.load(path.with_suffix(".npy"), mmap_mode="r")
    with writing(path), path.with_suffix(".arcs").open("rb") as file:
        begin = 0
        for batch in counts:
            total, before = int(batch.sum()), int(batch[: buckets.start].sum())
            ends = places + batch[buckets.start : buckets.stop]
            held = list(map(slice, places.tolist(), ends.tolist()))
            for column in columns:
                file.seek(begin + before * column.itemsize)
                for some in held:
                    fill(file, column[some])
                begin += total * column.itemsize
            places[:] = ends
