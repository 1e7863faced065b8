"""Every numeric option of every command refuses numbers that it cannot use."""

import argparse
import math
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from mndmst.cli.__main__ import commands
from mndmst.cli.main import parse, parser
from mndmst.host.errors import ConfigError
from mndmst.host.option_types import Number
from mndmst.host.option_types import number as any_number
from mndmst.solver.config import RANGES, Config

NO_NUMBERS = ("", " ", "text", "--", "nan", "NaN", "1_0", "0x10", "٣", "1e", "1,5")
NO_WHOLE = ("0.5", "1.0", "1e3", "inf", "-inf", "1e400", "9" * 5000)


def numeric_options() -> Iterator[tuple[str, str, Callable[[str], Any]]]:
    """Yield the command, the option, and the function that reads its number."""
    for command, of in commands(parser()):
        for action in of._actions:
            kind = of._registry_get("type", action.type, action.type)
            if action.dest in RANGES and action.dest not in ("memory", "gpu_memory"):
                yield command, action.dest, through_config(action.dest, kind)
            elif isinstance(action.type, Number):
                yield command, action.dest, action.type
            else:
                plain = action.type in (int, float)
                assert not plain, f"{command} --{action.dest} has no bounds"


def through_config(name: str, kind: Callable[[str], Any]) -> Callable[[str], Any]:
    def read(text: str) -> Any:
        return getattr(Config.load(None, {name: kind(text)}, {}), name)

    return read


OPTIONS = list(numeric_options())


def outside(read: Callable[[str], Any]) -> list[str]:
    """Return numbers that are out of an option's range."""
    if not isinstance(read, Number):
        return ["-1", "-5", "-0.5", "-inf"]
    ends = [(read.least, -1), (read.most, 1)]
    bounds = [(end, step) for end, step in ends if math.isfinite(end)]
    if read.kind is int:
        return [str(int(end) + step) for end, step in bounds]
    return [repr(math.nextafter(end, step * math.inf)) for end, step in bounds]


@pytest.mark.parametrize(
    ("command", "option", "read"), OPTIONS, ids=[f"{c} {o}" for c, o, _ in OPTIONS]
)
def test_what_is_no_number_in_range_is_refused(
    command: str, option: str, read: Callable[[str], Any]
) -> None:
    whole = isinstance(read, Number) and read.kind is int
    for text in (*NO_NUMBERS, *outside(read), *(NO_WHOLE if whole else ())):
        with pytest.raises((argparse.ArgumentTypeError, ConfigError)):
            read(text)


def test_many_options_are_numeric() -> None:
    assert len(OPTIONS) > 50
    assert {"solve", "partition", "hdbscan", "verify"} <= {c for c, _, _ in OPTIONS}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("hdbscan rings --count -3", "--count: '-3' is not a whole number from 1 to"),
        ("linkage rings --count 0", "--count: '0' is not a whole number from 1 to"),
        ("linkage rings --threads 1000000000", "--threads: '1000000000' is not a whol"),
        ("linkage rings --threads -3", "--threads: '-3' is not a whole number from 0"),
        ("verify city f.h5 --threads -3", "--threads: '-3' is not a whole number from"),
        ("cluster f.h5 --count -5", "--count: '-5' is not a whole number from 1 on"),
        ("cluster f.h5 --min-size 1", "--min-size: '1' is not a whole number from 2"),
        ("hdbscan a.npy --min-samples 0", "--min-samples: '0' is not a whole number"),
        ("hdbscan a.npy --min-cluster-size 1", "'1' is not a whole number from 2 on"),
        ("neighbours rings out --k 1.5", "--k: '1.5' is not a whole number from 1 to"),
        ("generate gnm g --n 1e9 --m 5", "--n: '1e9' is not a whole number from 0 to"),
        ("generate rmat g --a nan", "--a: 'nan' is not a number from 0 to 1; see"),
        ("partition a b --jobs 10000", "--jobs: '10000' is not a whole number from 1"),
        ("partition a b --parts 0", "--parts: '0' is not a whole number from 1 to 1,0"),
    ],
)
def test_a_number_out_of_range_is_one_line(
    line: str, said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        parse(line.split())
    assert end.value.code == 2
    err = capsys.readouterr().err
    assert said in err and err.count("\n") == 1


def test_bounds_themselves_are_taken() -> None:
    assert Number(int, 1, 9)("9") == 9
    assert Number(int, -1)("-1") == -1
    assert Number(float, 0)("inf") == math.inf
    assert Number(float, -math.inf)("-1e300") == -1e300
    assert any_number("18446744073709551615") == 2**64 - 1
