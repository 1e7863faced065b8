"""Whole commands as users start them: launchers, kills, full disks, docs, packages."""

from pathlib import Path

import pytest

HERE = Path(__file__).parent


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark each test of this directory as slow: each starts several processes."""
    for item in items:
        if HERE in item.path.parents:
            item.add_marker(pytest.mark.slow)
