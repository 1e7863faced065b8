"""ReFrame test: solve and verify the small graph on 1 and 4 ranks, compare the digest.

reframe -C SETTINGS -c launch/packages/reframe/demo.py -r
"""

import tomllib
from pathlib import Path

import reframe as rfm
import reframe.utility.sanity as sn

GRAPH = Path(__file__).resolve().parents[3] / "partitions/demo"


@rfm.simple_test
class SolveDemo(rfm.RunOnlyRegressionTest):
    """The forest of the small graph has the digest in its recipe."""

    valid_systems = ["*"]
    valid_prog_environs = ["*"]
    ranks = parameter([1, 4])
    executable = "python3"
    time_limit = "10m"

    @run_before("run")
    def set_command(self) -> None:
        """Solve under the launcher, then verify on one rank."""
        self.num_tasks = self.ranks
        self.executable_opts = ["-m", "mndmst", "solve", str(GRAPH), "-o", "forest.h5"]
        self.postrun_cmds = [f"python3 -m mndmst verify {GRAPH} forest.h5"]

    @sanity_function
    def check_digest(self) -> object:
        """Compare the digest with the recipe's, and expect the verdict ok."""
        recipe = tomllib.loads(GRAPH.with_suffix(".toml").read_text())
        digest = recipe["answer"]["digest"]
        return sn.all(
            [
                sn.assert_found(rf"^RESULT .*digest={digest}", self.stdout),
                sn.assert_found(r"^VERDICT ok ", self.stdout),
            ]
        )

    @performance_function("s")
    def seconds(self) -> object:
        """Return the seconds of the run, from the start of Python."""
        found = r"^RESULT .*seconds=(\S+)"
        return sn.extractsingle(found, self.stdout, 1, float)
