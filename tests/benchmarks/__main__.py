"""`python -m tests.benchmarks COMMAND`: see `commands.py`."""

import argparse
import sys

from mndmst.host.errors import MndmstError
from mndmst.host.launcher import prepare_environment
from mndmst.host.progress import notice

from .commands import add_commands


def main(argv: list[str] | None = None) -> int:
    """Run a command, by default the process's, and return its exit status."""
    prepare_environment(matrices=True)
    parser = argparse.ArgumentParser(
        prog="python -m tests.benchmarks",
        description="Time mndmst beside other programs, papers and other commits.",
    )
    add_commands(parser)
    arguments = parser.parse_args(argv)
    try:
        return int(arguments.process(arguments) or 0)
    except MndmstError as error:
        notice(f"error: {error}", "error")
        return 1


if __name__ == "__main__":
    sys.exit(main())
