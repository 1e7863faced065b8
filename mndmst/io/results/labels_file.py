"""Files with a label for each vertex, as `mndmst components` writes them.

docs/files.md describes them. `digest` is the SHA-256 of the labels as little-endian
int64, counted from 0. Nothing depends on how many ranks computed them.
"""

from pathlib import Path

import numpy as np

from ..atomic_output import AtomicOutput
from ..file_access import (
    check_version,
    count_attribute,
    open_hdf5,
    read_attributes,
    reading,
    text_attribute,
)
from ..hdf5_reader import checked_dataset, read_dataset
from ..names import IdRange
from ..output_kinds import LABELS, hdf5_mark
from ..shards.graph_directory import FIRST_ID, read_first_id
from .digest_and_total import PIECE, PairDigest
from .parallel_columns import StoredAs, write_columns

FORMAT = LABELS.format
VERSION = 1


def write_labels(
    outputs: AtomicOutput,
    path: Path,
    labels: np.ndarray,
    graph_uuid: str,
    num_components: int,
    digest: str,
    first_id: int = 0,
) -> None:
    """Write labels that are spread over the ranks; every rank calls it.

    `first_id` is the id of vertex 0, from which the labels in the file count.
    """
    num_vertices = outputs.ranks.sum(len(labels))
    attributes = {
        **hdf5_mark(FORMAT, VERSION),
        "graph-uuid": graph_uuid,
        "num_vertices": num_vertices,
        "num_components": num_components,
        "digest": digest,
        **({FIRST_ID: first_id} if first_id else {}),
    }
    ids = IdRange(first_id, num_vertices)
    stored = {"labels": StoredAs(ids.stored_dtype, first_id)}
    columns = {"labels": labels}
    write_columns(outputs, path, LABELS, columns, lambda: attributes, stored)


def describe_labels(path: Path) -> dict[str, object]:
    """Return a labels file's attributes; `damage` says how its labels differ."""
    digest, components = PairDigest(), 0
    with reading(path, "compute it again"), open_hdf5(path) as file:
        facts = read_attributes(file)
        check_version(path, file, VERSION, "Compute the labels again")
        first_id = read_first_id(file)
        count = count_attribute(file, "num_vertices")
        facts["num_components"] = count_attribute(file, "num_components")
        facts["digest"] = text_attribute(file, "digest")
        labels = checked_dataset(path, file, "labels", count, "Compute it again")
        for low in range(0, len(labels), PIECE):
            piece = read_dataset(path, labels, low, low + PIECE) - np.int64(first_id)
            digest.add(piece)
            components += int((piece == np.arange(low, low + len(piece))).sum())
    computed = {"num_components": components, "digest": digest.hexdigest()}
    damage = [
        f"{name} is {value} by the labels, the attribute says {facts[name]}"
        for name, value in computed.items()
        if facts[name] != value
    ]
    return facts | computed | {"damage": damage}
