"""Options from files, variables and flags."""

import pickle
import re
from dataclasses import FrozenInstanceError, replace
from pathlib import Path

import numpy as np
import pytest

from mndmst.graph.tuning import SETTINGS, Tuning
from mndmst.host.errors import ConfigError
from mndmst.solver.config import MERGES, Config, parse_bytes, parse_ratio


def test_later_sources_win(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text('group_size = 8\nmerge = "ring"\nmemory = "2GiB"\n')
    environment = {"MNDMST_MERGE": "boruvka", "MNDMST_THREADS": "3", "HOME": "/"}
    config = Config.load(file, {"threads": 5, "ratio": None}, environment)
    assert (config.tuning.group_size, config.merge, config.threads) == (8, "boruvka", 5)
    assert (config.memory, config.ratio) == (2 << 30, None)


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("8GiB", 8 << 30),
        ("500MB", 500_000_000),
        ("1.5kib", 1536),
        ("7", 7),
        ("2G", 2 << 30),
        ("2g", 2 << 30),
        ("2GB", 2 * 10**9),
        ("2gb", 2 * 10**9),
        ("3m", 3 << 20),
        ("4K", 4096),
        ("0.5T", 1 << 39),
        ("9b", 9),
    ],
)
def test_sizes(text: str, size: int) -> None:
    assert parse_bytes(text) == size


@pytest.mark.parametrize(
    "text", ["", "GiB", "-1GiB", "8 apples", "0", "1e30T", "5" * 90]
)
def test_what_is_no_size(text: str) -> None:
    with pytest.raises(ConfigError, match="8GiB"):
        parse_bytes(text)


@pytest.mark.parametrize("text", ["1.1", "-0.1", "half", "nan"])
def test_what_is_no_ratio(text: str) -> None:
    with pytest.raises(ConfigError, match="between 0 and 1"):
        parse_ratio(text)
    assert parse_ratio("auto") is None


@pytest.mark.parametrize(
    ("options", "mend"),
    [
        ({"group_size": 1}, "2 or more"),
        ({"merge": "tree"}, ", ".join(MERGES)),
        ({"merge": ["ring"]}, ", ".join(MERGES)),
        ({"threads": "many"}, "threads many: give a whole number, 0 or more"),
        ({"threads": True}, "whole number"),
        ({"group_size": 2.5}, "--set group_size=2.5: give a whole number"),
        ({"group_size": [4]}, "whole number"),
        ({"timeout": 10**7}, "at most 1,000,000"),
        ({"memory": -5}, "memory -5: give a whole number, 0 or more"),
        ({"memory": "inf"}, "8GiB"),
        ({"ratio": 7.0}, "between 0 and 1"),
        ({"light_edges": float("nan")}, "--light-edges nan: give a number, 0 or more"),
        ({"checkpoint_interval": float("inf")}, "give a number"),
        ({"ring_gain": -1}, "0 or more, at most 1"),
        ({"round_gain": "lots"}, "--set round_gain=lots: give"),
        ({"colour": "red"}, "--colour red: there is no such option$"),
        ({"thread": 2}, "--thread 2: there is no such option; did you mean threads?"),
    ],
)
def test_what_cannot_be(options: dict, mend: str) -> None:
    with pytest.raises(ConfigError, match=f"^(?=--).*{mend}"):
        Config.load(None, options, {})


def test_messages_name_options_as_they_were_typed(tmp_path: Path) -> None:
    file = tmp_path / "run.toml"
    file.write_text("group_size = 1\n")
    with pytest.raises(ConfigError, match=r"run\.toml: group_size = 1: give a whole"):
        Config.load(file, {}, {})
    with pytest.raises(ConfigError, match=r"^MNDMST_MERGE=tree: give one of auto"):
        Config.load(None, {}, {"MNDMST_MERGE": "tree"})
    with pytest.raises(ConfigError, match=r"^--memory lots: 'lots' is not a size"):
        Config.load(None, {"memory": "lots"}, {})
    with pytest.raises(ConfigError, match=r"^threads is -1: give a whole number"):
        Config(threads=-1)


def test_programs_may_give_text_or_values() -> None:
    config = Config(memory="1KiB", ratio="0.5", light_edges=2, threads=np.int32(3))
    assert (config.memory, config.ratio) == (1024, 0.5)
    assert (config.light_edges, config.threads) == (2.0, 3)
    assert type(config.light_edges) is float


def test_options_are_set_once() -> None:
    config = Config(threads=1)
    with pytest.raises(FrozenInstanceError, match="threads"):
        config.threads = 2
    assert config == Config(threads=1) != config.updated({"threads": 2})
    assert hash(pickle.loads(pickle.dumps(config))) == hash(Config(threads=1))


@pytest.mark.parametrize("text", [b"group_size = 2.5", b"threads = \xff", b"threads ="])
def test_a_file_that_cannot_be_read_is_named(tmp_path: Path, text: bytes) -> None:
    file = tmp_path / "run.toml"
    file.write_bytes(text)
    with pytest.raises(ConfigError, match=re.escape(str(file))):
        Config.load(file, {}, {})


def test_settings_are_options_and_fields_of_the_tuning() -> None:
    tuning = Tuning(grain=7, leader_edges=0)
    config = Config(tuning=tuning).updated({"ring_gain": "0.5", "threads": 2})
    assert config.tuning == replace(tuning, ring_gain=0.5)
    assert config.as_dict().keys() & vars(tuning).keys() == {"light_edges", *SETTINGS}
    assert (config.as_dict()["leader_edges"], config.as_dict()["threads"]) == (0, 2)


@pytest.mark.parametrize("name", SETTINGS)
def test_settings_have_bounds(name: str) -> None:
    least, most = SETTINGS[name]
    for value in (least, most):
        assert getattr(Config().updated({name: value}).tuning, name) == value
    for value in (least - 1, most + 1, "nan", True, None):
        with pytest.raises(ConfigError, match=f"^{name} is .*: give a .*number"):
            Config().updated({name: value})
    with pytest.raises(ConfigError, match=f"^{name} is -1: give a .*number"):
        Config(tuning=replace(Tuning.default, **{name: -1}))
    with pytest.raises(ConfigError, match=rf"^MNDMST_{name.upper()}=\?: give a"):
        Config.load(None, {}, {f"MNDMST_{name.upper()}": "?"})


def test_a_tuning_is_a_tuning() -> None:
    with pytest.raises(ConfigError, match=r"^tuning is \{\}; give a Tuning"):
        Config(tuning={})  # type: ignore[arg-type]
