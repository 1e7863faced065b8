"""The files for contributors: hooks run the checks of CI, forms are well formed."""

import re
import shlex
import subprocess
from pathlib import Path

import pytest
from processes import ROOT

yaml = pytest.importorskip("yaml", reason="the files are YAML")

FORMS = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"))
ELEMENTS = {"markdown", "textarea", "input", "dropdown", "checkboxes"}


def hooks() -> dict[str, dict]:
    text = (ROOT / ".pre-commit-config.yaml").read_text()
    (repository,) = yaml.safe_load(text)["repos"]
    return {hook["id"]: hook for hook in repository["hooks"]}


def test_hooks_run_the_checks_of_continuous_integration() -> None:
    checks = re.findall(
        r'step "\$venv/bin/(\S+)"(?: (\w+))?', (ROOT / ".ci/run").read_text()
    )
    assert len(checks) == 4
    entries = [hook["entry"] for hook in hooks().values()]
    for program, command in checks:
        wanted = f".venv/bin/{program} {command}".strip()
        assert any(entry.startswith(wanted) for entry in entries), wanted


def test_programs_of_hooks_come_with_the_extra_dev() -> None:
    extras = (ROOT / "pyproject.toml").read_text()
    for package in ("pre-commit", "ruff", "mypy", "import-linter"):
        assert f'"{package}>=' in extras


@pytest.mark.parametrize(
    ("subject", "fine"),
    [
        ("io: read gzip in several streams", True),
        ("points, service: " + "x" * 55, True),
        ("points, service: " + "x" * 56, False),
        ("Fix it", False),
        ("x" * 73 + "\n\nio: the body does not count", False),
    ],
)
def test_a_subject_is_short_and_begins_with_the_room(
    tmp_path: Path, subject: str, fine: bool
) -> None:
    message = tmp_path / "message"
    message.write_text(f"{subject}\n\nThe body says why.\n")
    command = [*shlex.split(hooks()["subject"]["entry"]), message]
    assert (subprocess.run(command, check=False).returncode == 0) == fine


@pytest.mark.parametrize("form", FORMS, ids=lambda form: form.stem)
def test_a_form_is_well_formed(form: Path) -> None:
    content = yaml.safe_load(form.read_text())
    if form.stem == "config":
        assert content == {"blank_issues_enabled": False}
        return
    assert content["name"] and content["description"]
    questions = [part for part in content["body"] if part["type"] != "markdown"]
    assert {part["type"] for part in content["body"]} <= ELEMENTS
    ids = [part["id"] for part in questions]
    assert len(ids) == len(set(ids)) and all(
        p["attributes"]["label"] for p in questions
    )
    assert any(p.get("validations", {}).get("required") for p in questions)
