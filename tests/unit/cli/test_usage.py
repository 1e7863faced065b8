"""What the command line says to words that it cannot read, or reads otherwise."""

import argparse
import itertools
import subprocess
import sys
from pathlib import Path

import pytest
from processes import environment

from mndmst.cli.__main__ import commands
from mndmst.cli.main import parse, parser


def refused(line: str, capsys: pytest.CaptureFixture[str]) -> str:
    """Return what is said of a command line; it is one line, on standard error."""
    with pytest.raises(SystemExit) as end:
        parse(line.split())
    assert end.value.code == 2
    out, err = capsys.readouterr()
    assert out == "" and err.count("\n") == 1
    assert err.startswith("mndmst: error: ") and "usage" not in err
    return err


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("slove city", "no command slove; did you mean solve?"),
        ("neighbros rings out", "did you mean neighbours?"),
        ("xyzzy", "no command xyzzy; see mndmst --help"),
        ("solve city --treads 4", "no option --treads (did you mean --threads?)"),
        ("solve city --xyzzy", "no option --xyzzy; see mndmst solve --help"),
        ("hdbscan x --gen-min-span-tree", "--gen-min-span-tree; see mndmst"),
        ("hdbscan x --leaf-size 4", "hdbscan has no option --leaf-size; see mndmst"),
        ("solve --xyzzy 3", "solve has no option --xyzzy; see"),
        ("cluster f.h5 --cuont 3", "no option --cuont (did you mean --count?)"),
        ("solve city other", "solve takes no further argument: other"),
        ("--quiet solve city", "--quiet: options stand after a command"),
        (
            "generate rmat g --scale x",
            "--scale: 'x' is not a whole number from 1 to 48; see",
        ),
        (
            "generate rmat g --a x",
            "--a: 'x' is not a number from 0 to 1; see mndmst generate",
        ),
        ("cluster f.h5 --threshold x", "--threshold: 'x' is not a number"),
        ("partition a b --memory lots", "--memory: 'lots' is not a size; write for"),
        ("partition a -", "out: - is standard input or output, which cannot"),
        ("generate rmat -", "out: - is standard input or output"),
        ("neighbours a.csv -", "out: - is standard input or output"),
        ("hdbscan -", "POINTS: - is standard input or output"),
        ("linkage -", "POINTS: - is standard input or output"),
        ("hdbscan a.csv -o -", "--output: - is standard input or output"),
        ("info -", "path: - is standard input or output"),
        ("solve city --set group_size", "--set: group_size: give NAME=VALUE; see mnd"),
        ("solve city --set group-size=2", "'group-size'; did you mean group_size?"),
        ("components city --set ring_gian=0", "'ring_gian'; did you mean ring_gain?"),
        ("solve city --set x=1", "'x'; give one of group_size, ratio_samples, rati"),
        ("solve city --set memory=8G", "there is no setting 'memory'; give one of"),
        ("solve city --group-size 2", "solve has no option --group-size"),
        ("solve city --merge x", "--merge: invalid choice: 'x' (choose from"),
        ("solve", "the following arguments are required: graph"),
        ("cluster f.h5", "one of the arguments --threshold --count --min-size"),
    ],
)
def test_a_mistake_is_one_line_that_names_the_option(line, said, capsys):
    assert said in refused(line, capsys)


@pytest.mark.parametrize(
    ("line", "mend"),
    [
        ("-n 4 solve city", "mpirun -n 4 python -m mndmst solve city\n"),
        ("solve -n 4 city -o f.h5", "-n 4 python -m mndmst solve city -o f.h5\n"),
        ("solve city -np 16", "mpirun -n 16 python -m mndmst solve city\n"),
        ("solve city -n8", "mpirun -n 8 python -m mndmst solve city\n"),
        ("solve city --ranks=2", "mpirun -n 2 python -m mndmst solve city\n"),
        ("solve city -n", "mpirun -n N python -m mndmst solve city\n"),
    ],
)
def test_the_number_of_ranks_is_for_mpirun(line, mend, capsys):
    assert refused(line, capsys).endswith(mend)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("plan 9,9 --ranks 0", "--ranks: '0' is not a whole number from 1 to"),
        ("plan 9,9 --ranks 4 --nodes 2", "plan has no option --nodes"),
    ],
)
def test_a_command_has_numbers_of_ranks_of_its_own(line, said, capsys):
    assert said in refused(line, capsys)


@pytest.mark.parametrize(
    "line",
    [
        "partition https://host.org/a.gr.gz out",
        "convert http://host.org/a.gr a.csv",
        "solve s3://bucket/city",
        "neighbours https://host.org/a.npy out",
        "cluster f.h5 --count 2 --plot a.png --points https://host.org/a.npy",
    ],
)
def test_a_url_has_to_be_fetched_first(line, capsys):
    url = next(word for word in line.split() if "://" in word)
    assert f"{url} is a URL" in (said := refused(line, capsys))
    assert f"download it first, for example with curl -LO {url}" in said


@pytest.mark.parametrize("name", ["neighbors", "neighbour", "neighbor", "neighbours"])
def test_names_that_people_try_are_understood(name):
    assert parse([name, "rings", "out"]).points.name == "rings"


def test_every_argument_has_help():
    found = dict(commands(parser()))
    assert len(found) > 18
    without = [
        f"{name}: {action.dest}"
        for name, command in found.items()
        for action in command._actions
        if not action.help and not isinstance(action, argparse._SubParsersAction)
    ]
    assert without == []


def test_internals_stand_under_advanced():
    solve = dict(commands(parser()))["solve"]
    groups = {group.title: group for group in solve._action_groups}
    advanced = {action.dest for action in groups["advanced"]._group_actions}
    assert {"set", "light_edges", "ratio", "debug"} <= advanced
    assert not advanced & {"output", "memory", "threads", "backend", "quiet"}
    text = solve.format_help().partition("positional arguments")[2]
    assert text.index("--output") < text.index("advanced:") < text.index("--ratio X")


def test_quiet_means_one_thing():
    texts = {
        action.help
        for _, command in commands(parser())
        for action in command._actions
        if "-q" in action.option_strings
    }
    assert len(texts) == 1
    without = [
        name
        for name, command in commands(parser())
        if "-q" not in itertools.chain(*(a.option_strings for a in command._actions))
    ]
    assert without == []


@pytest.mark.parametrize("words", ["client -q a list", "client a list -q", "info -q"])
def test_quiet_stands_before_or_behind_an_action(words):
    assert parse(words.split()).quiet
    others = [word for word in words.split() if word != "-q"]
    assert not parse(others).quiet


def test_help_goes_to_standard_output_and_has_the_usage():
    run = subprocess.run(
        [sys.executable, "-m", "mndmst", "solve", "--help"], env=environment(),
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    assert run.stdout.startswith("usage: mndmst solve") and run.stderr == ""


def test_a_command_that_fails_has_status_1(tmp_path: Path) -> None:
    for words, status in ([["info", tmp_path / "none"], 1], [["--version"], 0]):
        run = subprocess.run(
            [sys.executable, "-m", "mndmst", *words], env=environment(),
            capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert run.returncode == status
        assert run.stderr.startswith("mndmst: error: ") == bool(status)
        assert run.stderr.count("\n") == status


@pytest.mark.parametrize("unbuffered", ["", "1"])
@pytest.mark.parametrize("words", ["--help", "--version", "client --help"])
def test_help_that_cannot_be_written_is_an_error(words: str, unbuffered: str) -> None:
    with Path("/dev/full").open("w") as full:
        run = subprocess.run(
            [sys.executable, "-m", "mndmst", *words.split()], stdout=full,
            env=environment() | {"PYTHONUNBUFFERED": unbuffered},
            stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
    assert run.returncode == 1
    message = "the output cannot be written (No space left on device)"
    assert run.stderr == f"mndmst: error: {message}\n"
