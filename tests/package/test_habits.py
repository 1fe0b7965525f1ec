"""What an open project keeps: one version, pins, templates, steps of a release, commit hooks."""

import configparser
import datetime
import re
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.version import Version

from pqpp_cli.commands import named

ROOT = Path(__file__).parents[2]
FORMS = [
    path
    for path in sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"))
    if path.name != "config.yml"  # which says how forms are offered
]


def text_of(name):
    return (ROOT / name).read_text("utf-8")


@pytest.fixture(scope="module")
def setup():
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string(text_of("setup.cfg"))
    return parser


def lint_commands():
    """The commands of `make lint`, as lists of words; the folders that are checked left out."""
    recipe = re.search(r"^lint:.*\n((?:\t.*\n)+)", text_of("Makefile"), re.MULTILINE)[1]
    lines = recipe.replace("$(BIN)", ".venv/bin").replace("$(CHECKED)", "").splitlines()
    return [line.split() for line in lines]


def test_the_hooks_of_a_commit_are_those_of_make_lint():
    from pre_commit.clientlib import load_config

    (repository,) = load_config(ROOT / ".pre-commit-config.yaml")["repos"]
    assert repository["repo"] == "local"
    assert [hook["entry"].split() for hook in repository["hooks"]] == lint_commands()
    assert {hook["language"] for hook in repository["hooks"]} <= {"system", "unsupported"}


def test_the_hooks_see_the_files_that_make_lint_checks():
    hooks = yaml.safe_load(text_of(".pre-commit-config.yaml"))["repos"][0]["hooks"]
    seen = re.compile(next(hook["files"] for hook in hooks if hook["id"] == "ruff-check"))
    checked = re.search(r"^CHECKED := (.*)$", text_of("Makefile"), re.MULTILINE)[1]
    roots = checked.replace("$(wildcard pqpp_*/)", " ".join(p.name for p in ROOT.glob("pqpp_*/")))
    files = [ROOT / name for name in roots.split()]
    found = [p for f in files for p in ([f] if f.is_file() else f.rglob("*.py"))]
    assert len(found) > 500
    assert [p for p in found if not seen.search(p.relative_to(ROOT).as_posix())] == []
    assert not seen.search("docs/pictures/easy_and_hard.py") and not seen.search("setup.cfg")


def test_one_version_stands_everywhere(setup):
    version = setup["metadata"]["version"]
    citation = yaml.safe_load(text_of("CITATION.cff"))
    assert str(Version(version)) == version == str(citation["version"])
    headings = re.findall(r"^## (.*)$", text_of("CHANGELOG.md"), re.MULTILINE)
    assert headings[0] == "Unreleased"
    for heading in headings[1:]:
        number, date = heading.split(" - ")
        assert Version(number) <= Version(version)
        datetime.date.fromisoformat(date)
    if headings[1:]:
        assert headings[1].startswith(f"{version} - ")


def test_the_changelog_has_the_usual_headings():
    usual = ["Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"]
    for part in re.split(r"^## ", text_of("CHANGELOG.md"), flags=re.MULTILINE)[1:]:
        found = re.findall(r"^### (.*)$", part, re.MULTILINE)
        assert found == [name for name in usual if name in found]


def test_the_citation_has_what_its_schema_asks_for():
    citation = yaml.safe_load(text_of("CITATION.cff"))
    assert citation["cff-version"] == "1.2.0" and citation["type"] == "software"
    assert {"title", "message", "authors"} <= set(citation)
    for work in (citation, *citation["references"]):
        assert work["title"] and work["authors"]
        for author in work["authors"]:
            assert set(author) in ({"name"}, {"family-names", "given-names"})


def test_every_requirement_has_its_tested_version(setup):
    pins = dict(line.split("==") for line in text_of("constraints.txt").split("\n") if "==" in line)
    pins = {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in pins.items()}
    asked = [setup["options"]["install_requires"], *setup["options.extras_require"].values()]
    for line in "\n".join(asked).split("\n"):
        if line.strip():
            one = Requirement(line)
            name = re.sub(r"[-_.]+", "-", one.name).lower()
            assert name in pins, f"{name} has no line in constraints.txt"
            assert one.specifier.contains(pins[name], prereleases=True), line


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_issue_forms_are_read(path):
    form = yaml.safe_load(path.read_text("utf-8"))
    assert form["name"] and form["description"] and form["labels"]
    ids = [part["id"] for part in form["body"] if part["type"] != "markdown"]
    assert len(ids) == len(set(ids)) > 0
    for part in form["body"]:
        assert part["type"] in {"markdown", "textarea", "input", "dropdown", "checkboxes"}
        about = part["attributes"]
        assert about["value"] if part["type"] == "markdown" else about["label"]
        if part["type"] in {"dropdown", "checkboxes"}:
            assert about["options"]


def release_commands():
    blocks = re.findall(r"^ *```\n(.*?)^ *```$", text_of("RELEASE.md"), re.MULTILINE | re.DOTALL)
    return [line.strip() for block in blocks for line in block.splitlines()]


def test_every_step_of_a_release_is_a_command():
    steps = re.split(r"^\d+\. ", text_of("RELEASE.md"), flags=re.MULTILINE)[1:]
    assert len(steps) >= 8 and all("```" in step for step in steps)


def test_the_commands_of_a_release_are_there():
    targets = set(re.findall(r"^([a-z-]+):", text_of("Makefile"), re.MULTILINE))
    made = [re.search(r"\bmake ([a-z-]+)$", line) for line in release_commands()]
    assert {match[1] for match in made if match} <= targets and any(made)
    ours = [line.split()[1:] for line in release_commands() if line.startswith(".venv/bin/pqpp ")]
    assert len(ours) == 4
    for words in ours:
        named(words)
