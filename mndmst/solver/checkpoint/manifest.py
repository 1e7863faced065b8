"""The manifest of a checkpoint: its graph, and the files that belong to it."""

import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import accumulate, pairwise
from pathlib import Path
from typing import NamedTuple, TypedDict

from ...host import __version__
from ...host.errors import ConfigError, InputError, MndmstError
from ...io.file_access import MALFORMED, read_small, writing
from ...io.output_kinds import check_ordinary

MANIFEST = "mndmst-checkpoint.json"
FORMAT = "mndmst-checkpoint"
VERSION = 1
LARGEST = 1 << 30  # bytes of a manifest, 100 for each rank


class GraphIdentity(TypedDict):
    """The facts that identify a graph."""

    uuid: str
    num_vertices: int
    num_arcs: int
    weight_dtype: str


class Part(NamedTuple):
    """The file of one rank."""

    name: str
    edges: int
    digest: str


class Manifest(NamedTuple):
    """A whole checkpoint."""

    graph: GraphIdentity
    done: int | None  # All bands of weights up to this key are done
    vtxdist: list[int]  # The first vertex of each part, and the number of vertices
    parts: list[Part]

    def edge_bounds(self) -> list[int]:
        """Return the number of edges before each part, and of all edges."""
        return list(accumulate((part.edges for part in self.parts), initial=0))

    def text(self) -> str:
        """Return the text of the manifest, with a digest of its contents."""
        content = {
            "format": FORMAT,
            "version": VERSION,
            "creator": f"mndmst {__version__}",
            **self._asdict(),
            "parts": [part._asdict() for part in self.parts],
        }
        return json.dumps({**content, "digest": _digest(content)}, indent=1)


def read_manifest(folder: Path, graph: GraphIdentity) -> Manifest:
    """Read the manifest in a folder.

    Raises InputError if it is damaged, or not of this graph.
    """
    path = folder / MANIFEST
    with reading(path):
        content = json.loads(read_small(path, LARGEST))
        digest = content.pop("digest", None)
        if content["format"] != FORMAT or content["version"] != VERSION:
            raise InputError(
                f"{path}: is {content['format']}, version {content['version']}; this "
                f"is mndmst {__version__}, which reads {FORMAT}, version {VERSION}. "
                "Go on with the version that wrote it, or start without --resume."
            )
        if digest != _digest(content):
            raise damaged(path, "its digest is another")
        if content["graph"] != graph:
            raise InputError(
                f"{path}: is a checkpoint of another graph, {content['graph']}, where "
                f"{graph} is to be solved. Give --checkpoint another directory."
            )
        parts = [Part(**part) for part in content["parts"]]
        manifest = Manifest(graph, content["done"], content["vtxdist"], parts)
        _check(path, manifest)
    return manifest


def _check(path: Path, manifest: Manifest) -> None:
    """Refuse a manifest with a correct checksum and impossible contents."""
    n = manifest.graph["num_vertices"]
    bits = 8 * int(manifest.graph["weight_dtype"].lstrip("uintfloa"))
    bounds, edges = manifest.vtxdist, manifest.edge_bounds()
    done = 0 if manifest.done is None else manifest.done
    fine = (
        all(type(number) is int for number in (*bounds, *edges, done))
        and len(bounds) == len(manifest.parts) + 1
        and (bounds[0], bounds[-1]) == (0, n)
        and all(low <= high for line in (bounds, edges) for low, high in pairwise(line))
        and edges[-1] <= n
        and all(Path(part.name).name == part.name for part in manifest.parts)
        and 0 <= done < 1 << bits
    )
    if not fine:
        raise damaged(path, "its contents are impossible")


def check_own(path: Path) -> None:
    """Refuse a file with the name of the manifest that is not a manifest.

    Raises ConfigError for such a file, which must not be replaced; OutputError if it is
    not an ordinary file.
    """
    with writing(path):
        check_ordinary(path)
    if path.exists() and _content(path).get("format") != FORMAT:
        raise ConfigError(
            f"{path}: is not a manifest of a checkpoint, or is damaged. Rename it, or "
            "give --checkpoint another directory."
        )


def tokens_of(path: Path) -> set[str]:
    """Return the tokens of the files in a manifest; none without a manifest."""
    parts = _content(path).get("parts")
    listed = parts if isinstance(parts, list) else []
    names = [part.get("name") for part in listed if isinstance(part, dict)]
    return {str(name).partition("-")[0] for name in names}


def _content(path: Path) -> dict[str, object]:
    """Return the contents of a manifest; empty if it is missing or damaged."""
    try:
        whole = path.stat().st_size <= LARGEST
        content = json.loads(path.read_text()) if whole else {}
    except (OSError, ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


@contextmanager
def reading(path: Path) -> Iterator[None]:
    """Turn errors on a damaged file into an InputError that names the file."""
    try:
        yield
    except MndmstError:
        raise
    except FileNotFoundError as error:
        raise damaged(path, "it is missing") from error
    except MALFORMED as error:
        raise damaged(path, str(error).partition("\n")[0]) from error


def damaged(path: Path, why: str) -> InputError:
    """Return the error for a checkpoint that is damaged."""
    return InputError(
        f"{path}: the checkpoint is damaged ({why}). Copy it again from where it is "
        "whole, or start without --resume."
    )


def _digest(content: dict[str, object]) -> str:
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()
