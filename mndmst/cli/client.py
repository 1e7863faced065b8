"""The command `client`."""

from typing import Any


def add(commands: Any) -> None:
    """Add the command to the parser."""
    client = commands.add_parser("client", help="ask a service", description="Ask a service.")
    client.set_defaults(process=lambda arguments: 0)
