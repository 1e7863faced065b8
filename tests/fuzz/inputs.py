"""What the targets share: where inputs lie, and what a refusal must be."""

from pathlib import Path

from mndmst.host.errors import MndmstError

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data"
# Folders in the working directory of a target, which the runner removes
CORPUS, SCRATCH = Path("corpus"), Path("scratch")


def check_refusal(error: MndmstError, named: str) -> None:
    """Raise AssertionError for an error that is not one line that names its input."""
    text = str(error)
    assert named in text, f"the error does not name {named}: {text}"
    assert "\n" not in text, f"the error has several lines: {text}"


def scratch_file(name: str, content: bytes) -> Path:
    """Write an input to a file in the scratch folder; return its path."""
    path = SCRATCH / name
    path.write_bytes(content)
    return path
