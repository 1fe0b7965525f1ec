"""One version everywhere, and a tested version for every requirement."""

import configparser
import datetime
import json
import re
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.version import Version

ROOT = Path(__file__).parents[2]


def read(name):
    return (ROOT / name).read_text("utf-8")


@pytest.fixture(scope="module")
def setup():
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string(read("setup.cfg"))
    return parser


@pytest.fixture(scope="module")
def requirements(setup):
    lists = [setup["options"]["install_requires"], *setup["options.extras_require"].values()]
    return [Requirement(line) for text in lists for line in text.split("\n") if line.strip()]


def test_version_is_the_same_everywhere(setup):
    version = setup["metadata"]["version"]
    citation = yaml.safe_load(read("CITATION.cff"))
    assert str(Version(version)) == version == str(citation["version"])
    headings = re.findall(r"^## (.*)$", read("CHANGELOG.md"), re.MULTILINE)
    assert headings[0] == "Unreleased"
    for heading in headings[1:]:
        number, date = heading.split(" - ")
        assert Version(number) <= Version(version)
        datetime.date.fromisoformat(date)
    if headings[1:]:
        assert headings[1].startswith(f"{version} - ")


def normalise(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def test_every_requirement_has_a_tested_version(requirements):
    pins = dict(line.split("==") for line in read("constraints.txt").split("\n") if "==" in line)
    pins = {normalise(name): version for name, version in pins.items()}
    for one in requirements:
        assert normalise(one.name) in pins, f"{one.name} has no line in constraints.txt"
        assert one.specifier.contains(pins[normalise(one.name)], prereleases=True), one


def test_versions_with_known_advisories_are_excluded(requirements):
    """Advisories of `.ci/advisories.json`; `SECURITY.md` has the date of the last check."""
    known = json.loads(read(".ci/advisories.json"))
    assert known["date"] in read("SECURITY.md")
    assert set(known["fixed"]) <= {normalise(one.name) for one in requirements}
    for one in requirements:
        fixed, advisories = known["fixed"].get(normalise(one.name), ("0", ""))
        least = [Version(part.version) for part in one.specifier if part.operator == ">="]
        assert max(least, default=Version("0")) >= Version(fixed), f"{one} admits {advisories}"
