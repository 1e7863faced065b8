"""Parameters of points: signatures, docstrings, options and checks follow tables."""

import inspect
import math
import re
from pathlib import Path
from types import SimpleNamespace

import pytest

import mndmst
from mndmst.cli.main import parse
from mndmst.host.errors import ConfigError
from mndmst.points.clusters.density_clusters import DensityRule, density_rule
from mndmst.points.clusters.parameters import PARAMETERS
from mndmst.points.metrics import METRICS
from mndmst.points.pairwise_forest import ALL_PAIRS
from mndmst.service.client import Service

NUMBERS = [p for p in PARAMETERS.values() if p.kind in (int, float)]
TEXTS = [p for p in PARAMETERS.values() if p.kind is str]


def given(**values: object) -> SimpleNamespace:
    """Return all parameters, with their defaults where no value is given."""
    defaults = {name: p.default for name, p in PARAMETERS.items()}
    return SimpleNamespace(**(defaults | values))


def option(name: str) -> str:
    return "--" + name.replace("_", "-")


def described(name: str) -> str:
    """Return what the docstring of HDBSCAN says of a parameter, on one line."""
    text = inspect.cleandoc(mndmst.HDBSCAN.__doc__ or "")
    found = re.search(rf"^{name} : .*\n((?:    .*\n)+)", text, re.MULTILINE)
    assert found is not None
    return " ".join(found[1].split())


@pytest.mark.parametrize("name", PARAMETERS)
def test_the_estimator_has_the_default_and_the_effect(name: str) -> None:
    parameter = PARAMETERS[name]
    signature = inspect.signature(mndmst.HDBSCAN.__init__)
    assert signature.parameters[name].default == parameter.default
    effect = parameter.effect[0].upper() + parameter.effect[1:]
    assert described(name).startswith(effect)


def test_the_command_has_an_option_for_each_parameter() -> None:
    """None if it is not given: the command takes the default, or that of a model."""
    arguments = vars(parse(["hdbscan", "rings"]))
    assert {arguments[name] for name in PARAMETERS} == {None}


def test_defaults_are_those_of_the_rule() -> None:
    assert density_rule(given()) == DensityRule()


@pytest.mark.parametrize("parameter", NUMBERS, ids=lambda p: p.name)
@pytest.mark.parametrize("value", ["below", math.nan, "five", True])
def test_option_and_rule_refuse_the_same_numbers(parameter, value, capsys) -> None:
    if value == "below":
        value = parameter.least - 1 if parameter.kind is int else -1e-9
    with pytest.raises(ConfigError, match=f"^{parameter.name} "):
        density_rule(given(**{parameter.name: value}))
    with pytest.raises(SystemExit, match="2"):
        parse(["hdbscan", "rings", option(parameter.name), str(value)])
    assert option(parameter.name) in capsys.readouterr().err


@pytest.mark.parametrize("parameter", TEXTS, ids=lambda p: p.name)
@pytest.mark.parametrize("value", ["", "other", 3])
def test_option_and_rule_refuse_the_same_texts(parameter, value, capsys) -> None:
    with pytest.raises(ConfigError, match=f"^{parameter.name} .*: give "):
        density_rule(given(**{parameter.name: value}))
    with pytest.raises(SystemExit, match="2"):
        parse(["hdbscan", "rings", option(parameter.name), str(value)])
    assert option(parameter.name) in capsys.readouterr().err


@pytest.mark.parametrize("name", PARAMETERS)
def test_none_is_taken_where_it_stands_for_a_default(name: str) -> None:
    if name in ("min_samples", "max_cluster_size", "store_centers"):
        assert density_rule(given(**{name: None})) == DensityRule()
    else:
        with pytest.raises(ConfigError, match=f"^{name} "):
            density_rule(given(**{name: None}))


def test_the_largest_epsilon_is_at_least_the_epsilon() -> None:
    values = given(cluster_selection_epsilon=2, cluster_selection_epsilon_max=1)
    with pytest.raises(ConfigError, match="give at least cluster_selection_epsilon"):
        density_rule(values)


def test_an_integer_beyond_float64_is_refused() -> None:
    with pytest.raises(ConfigError, match="alpha is beyond float64"):
        density_rule(given(alpha=10**400))


def test_an_infinite_alpha_is_refused_by_the_command_too() -> None:
    with pytest.raises(SystemExit, match="2"):
        parse(["hdbscan", "rings", "--alpha", "inf"])


def of_metric(text: str) -> str:
    """Return the part of a page or docstring that describes the parameter `metric`."""
    begin = re.search(r"`--metric NAME`|^metric : |^\| `metric` ", text, re.MULTILINE)
    assert begin is not None
    return re.split(r"\n(?!    )", text[begin.start() :], maxsplit=1)[0]


DOCS = Path(mndmst.__file__).parent / "docs"
COMMANDS = (DOCS / "commands.md").read_text()
# Each begins with the metrics that are searched; the command and the page on Python
# then have those that compare all pairs.
DESCRIPTIONS = {
    "cli/point_options.py": of_metric(COMMANDS),
    "docs/python.md": of_metric((DOCS / "python.md").read_text()),
    "HDBSCAN": of_metric(inspect.getdoc(mndmst.HDBSCAN) or ""),
    "single_linkage": of_metric(inspect.getdoc(mndmst.single_linkage) or ""),
    "service/client.py": of_metric(inspect.getdoc(Service.load_points) or ""),
    "serve of cli/point_options.py": of_metric(
        COMMANDS.partition("## mndmst serve")[2]
    ),
}


@pytest.mark.parametrize("where", DESCRIPTIONS)
def test_every_metric_is_described_where_a_user_looks(where: str) -> None:
    searched, *rest = DESCRIPTIONS[where].split("all pairs", maxsplit=1)
    if where not in ("cli/point_options.py", "docs/python.md"):
        rest = [" ".join(ALL_PAIRS)]  # HDBSCAN's docstring refers to the table
    for text, metrics in ((searched, METRICS), (rest[0], ALL_PAIRS)):
        missing = set(metrics) - set(re.findall(r"\w+", text))
        assert not missing, f"add them to the description of `metric` in {where}"
