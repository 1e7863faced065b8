"""The peak memory of this process, since it was last forgotten."""

from pathlib import Path

_RESET_PEAK = "5"  # see clear_refs in proc(5)


def reset_peak() -> int | None:
    """Reset the peak of resident memory; return the present bytes.

    None where the kernel does not allow it.
    """
    try:
        Path("/proc/self/clear_refs").write_text(_RESET_PEAK)
    except OSError:
        return None
    return _status("VmRSS")


def peak() -> int:
    """Return the highest memory since it was forgotten, in bytes."""
    return _status("VmHWM")


def _status(name: str) -> int:
    for line in Path("/proc/self/status").read_text().splitlines():
        field, _, value = line.partition(":")
        if field == name:
            return int(value.split()[0]) * 1024
    raise OSError(f"/proc/self/status has no {name}")
