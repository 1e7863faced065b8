"""The page about names does what it says, with the files that its examples write."""

import re
from pathlib import Path

import pytest
from test_docs import DOCS, run

PAGE = (DOCS / "names.md").read_text()
# A script, what it is about, and what it prints
EXAMPLES = re.findall(
    r"([^\n]+)\n\n```sh\n(.*?)^```\n\n```csv\n(.*?)^```", PAGE, re.S | re.M
)


def test_every_script_of_the_page_is_an_example() -> None:
    assert len(EXAMPLES) == PAGE.count("```sh") == 5


@pytest.mark.parametrize(
    ("script", "printed"), [example[1:] for example in EXAMPLES],
    ids=[example[0][:16] for example in EXAMPLES],
)  # fmt: skip
def test_the_page_about_names(tmp_path: Path, script: str, printed: str) -> None:
    for package in ("pandas", "networkx"):
        if package in script:
            pytest.importorskip(package, reason=f"the example needs {package}")
    out = run(f"set -e\n{script}", tmp_path)
    assert out[out.index(printed.split("\n")[0]) :] == printed
