"""Events of clusters as lines and as a table."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..io.atomic_output import AtomicOutput
    from ..points.clusters.cluster_numbers import ClusterEvent


def sentences(events: "list[ClusterEvent]") -> Iterator[str]:
    """Yield a line for each event."""

    def named(numbers: tuple[int, ...], sizes: tuple[int, ...]) -> str:
        pairs = zip(numbers, sizes, strict=True)
        return " and ".join(f"{number} ({size:,})" for number, size in pairs)

    for event in events:
        old = named(event.old, event.old_sizes)
        new = named(event.new, event.new_sizes)
        match event.kind:
            case "split":
                yield f"cluster {old} splits into {new}"
            case "merged":
                yield f"clusters {old} merge into {new}"
            case "born":
                yield f"cluster {new} is born"
            case "died":
                yield f"cluster {old} dies"


def write_events(
    files: "AtomicOutput", path: Path, events: "list[ClusterEvent]"
) -> None:
    """Write events as a table; several numbers in a cell are separated by blanks."""
    from ..io.output_kinds import EVENTS

    with files.file(path, EVENTS) as temporary, temporary.open("w") as file:
        file.write("version,kind,old,new,old_sizes,new_sizes\n")
        for event in events:
            lists = event.old, event.new, event.old_sizes, event.new_sizes
            cells = [" ".join(map(str, numbers)) for numbers in lists]
            file.write(",".join([str(event.version), event.kind, *cells]) + "\n")
