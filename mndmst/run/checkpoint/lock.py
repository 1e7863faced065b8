"""One run for each folder of checkpoints."""

import fcntl
from pathlib import Path
from typing import IO

from ...host.errors import ConfigError
from ...io.layout import writing

NAME = "lock"


def lock(folder: Path) -> IO[str]:
    """Make a folder and keep it for this process, until it ends.

    Returns
    -------
    file
        Closing it lets the folder go.

    Raises
    ------
    ConfigError
        If another process has it.
    OutputError
        If the folder cannot be made.
    """
    with writing(folder):
        folder.mkdir(parents=True, exist_ok=True)
        file = (folder / NAME).open("w")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        file.close()
        raise ConfigError(
            f"{folder}: another run keeps its checkpoints there. Give --checkpoint "
            "another directory, or wait for that run."
        ) from error
    except OSError:
        pass  # a file system without locks: the folder is then the user's to keep
    return file
