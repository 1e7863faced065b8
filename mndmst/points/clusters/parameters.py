"""The table of HDBSCAN*'s parameters: the command's options and all checks follow it.

`HDBSCAN` states names and defaults once more in its signature, as scikit-learn requires
it, and effects in its docstring; a test compares both with the table.
"""

import math
from dataclasses import dataclass
from numbers import Integral, Real

from ...host.errors import ConfigError, shown

Value = int | float | bool | str | None


@dataclass(frozen=True)
class Parameter:
    """A parameter, under its name in hdbscan.

    Attributes
    ----------
    kind : type
        int, float, bool or str.
    effect : str
        The help of the command's option; the docstring of `HDBSCAN` begins with it.
    least, most : float
        Inclusive bounds of a number.
    choices : tuple of str
        The texts that are allowed.
    optional : bool
        Whether None is allowed, too.
    """

    name: str
    kind: type
    default: Value
    effect: str
    least: float = -math.inf
    most: float = math.inf
    choices: tuple[str, ...] = ()
    optional: bool = False

    def checked(self, value: object) -> Value:
        """Return a value as the parameter's kind.

        Raises ConfigError if the value is of another kind or out of range.
        """
        if value is None and self.optional:
            return None
        if self.kind is bool:
            from ...api.inputs import as_flag  # the command's help needs no NumPy

            return as_flag(value, self.name)
        if self.kind is str:
            if not isinstance(value, str) or value not in self.choices:
                raise ConfigError(
                    f"{self.name} {shown(value)}: give {' or '.join(self.choices)}"
                )
            return value
        number = self._number(value)
        if not self.allows(number):
            upper = "" if self.most == math.inf else f" and at most {self.most:g}"
            raise ConfigError(
                f"{self.name} {value}: give at least {self.least:g}{upper}"
            )
        return number

    def _number(self, value: object) -> int | float:
        flag = isinstance(value, bool)  # which is an Integral, too
        if self.kind is int and isinstance(value, Integral) and not flag:
            return int(value)
        if self.kind is float and isinstance(value, Real) and not flag:
            try:
                return float(value)
            except OverflowError as error:
                raise ConfigError(f"{self.name} is beyond float64") from error
        kind = "an integer" if self.kind is int else "a number"
        raise ConfigError(f"{self.name} {shown(value)} is not {kind}")

    def allows(self, number: float) -> bool:
        """Return whether a number is within the bounds."""
        return self.least <= number <= self.most


_TABLE = (
    Parameter(
        "min_cluster_size", int, 5, "smallest number of points that form a cluster",
        least=2,
    ),
    Parameter(
        "min_samples", int, None,
        "neighbours within the core distance, not counting the point itself, as in "
        "hdbscan; scikit-learn counts it",
        least=1, optional=True,
    ),
    Parameter(
        "cluster_selection_method", str, "eom",
        "select clusters by excess of mass, or the leaves of the condensed tree",
        choices=("eom", "leaf"),
    ),
    Parameter(
        "cluster_selection_epsilon", float, 0.0,
        "merge clusters born below this distance into their first ancestor born above "
        "it",
        least=0,
    ),
    Parameter(
        "cluster_selection_epsilon_max", float, math.inf,
        "do not select clusters born above this distance; with eom only",
        least=0,
    ),
    Parameter(
        "cluster_selection_persistence", float, 0.0,
        "merge leaves of the condensed tree of a smaller persistence, in 1 / distance",
        least=0,
    ),
    Parameter(
        "allow_single_cluster", bool, False,
        "allow a single cluster, whose outliers are noise",
    ),
    Parameter(
        "max_cluster_size", int, 0,
        "do not select larger clusters; with eom only, 0 for no limit",
        least=0, optional=True,
    ),
    Parameter(
        "alpha", float, 1.0,
        "divide distances, but not core distances, by this number; compares all pairs "
        "of points unless it is 1",
        least=1e-300, most=1e300,
    ),
    Parameter(
        "non_finite", str, "noise",
        "take rows with NaN or infinite coordinates as noise, or give them the labels "
        "-3 with NaN and -2 without, or refuse them",
        choices=("noise", "codes", "error"),
    ),
    Parameter(
        "noise", str, "keep",
        "keep noise, or give each noise point the cluster of its largest membership, "
        "which is its probability",
        choices=("keep", "nearest"),
    ),
    Parameter(
        "store_centers", str, None,
        "compute the mean point of each cluster, weighted by probabilities, or the "
        "medoid, or both",
        choices=("centroid", "medoid", "both"), optional=True,
    ),
)  # fmt: skip
PARAMETERS = {parameter.name: parameter for parameter in _TABLE}
