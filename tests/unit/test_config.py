"""Options from files, variables and flags."""

from pathlib import Path

import pytest

from mndmst.config import Config, parse_bytes, parse_ratio
from mndmst.errors import ConfigError


def test_later_sources_win(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text('group_size = 8\nmerge = "ring"\nmemory = "2GiB"\n')
    environment = {"MNDMST_MERGE": "boruvka", "MNDMST_THREADS": "3", "HOME": "/"}
    config = Config.load(file, {"threads": 5, "ratio": None}, environment)
    assert (config.group_size, config.merge, config.threads) == (8, "boruvka", 5)
    assert (config.memory, config.ratio) == (2 << 30, None)


@pytest.mark.parametrize(
    ("text", "size"),
    [("8GiB", 8 << 30), ("500MB", 500_000_000), ("1.5kib", 1536), ("7", 7)],
)
def test_sizes(text: str, size: int) -> None:
    assert parse_bytes(text) == size


@pytest.mark.parametrize("text", ["", "GiB", "-1GiB", "8 apples", "0"])
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(ConfigError, match="8GiB"):
        parse_bytes(text)


@pytest.mark.parametrize("text", ["1.1", "-0.1", "half", "nan"])
def test_what_is_no_ratio(text: str) -> None:
    with pytest.raises(ConfigError, match="between 0 and 1"):
        parse_ratio(text)
    assert parse_ratio("auto") is None
    assert parse_ratio("measure") == "measure"


@pytest.mark.parametrize(
    ("options", "mend"),
    [
        ({"group_size": 1}, "2 or more"),
        ({"merge": "tree"}, "auto, messages, ring, boruvka"),
        ({"threads": "many"}, "many"),
        ({"colour": "red"}, "no such option: colour"),
    ],
)
def test_what_cannot_be(options: dict, mend: str) -> None:
    with pytest.raises(ConfigError, match=mend):
        Config.load(None, options, {})
