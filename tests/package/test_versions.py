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


def text_of(name):
    return (ROOT / name).read_text("utf-8")


@pytest.fixture(scope="module")
def setup():
    parser = configparser.ConfigParser(interpolation=None)
    parser.read_string(text_of("setup.cfg"))
    return parser


@pytest.fixture(scope="module")
def asked(setup):
    lists = [setup["options"]["install_requires"], *setup["options.extras_require"].values()]
    return [Requirement(line) for text in lists for line in text.split("\n") if line.strip()]


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


def called(name):
    return re.sub(r"[-_.]+", "-", name).lower()


def test_every_requirement_has_its_tested_version(asked):
    pins = dict(line.split("==") for line in text_of("constraints.txt").split("\n") if "==" in line)
    pins = {called(name): version for name, version in pins.items()}
    for one in asked:
        assert called(one.name) in pins, f"{one.name} has no line in constraints.txt"
        assert one.specifier.contains(pins[called(one.name)], prereleases=True), one


def test_no_version_with_a_known_advisory_is_admitted(asked):
    """Those that `.ci/advisories.json` lists; `SECURITY.md` says when it was last looked at."""
    known = json.loads(text_of(".ci/advisories.json"))
    assert known["date"] in text_of("SECURITY.md")
    assert set(known["fixed"]) <= {called(one.name) for one in asked}
    for one in asked:
        fixed, advisories = known["fixed"].get(called(one.name), ("0", ""))
        least = [Version(part.version) for part in one.specifier if part.operator == ">="]
        assert max(least, default=Version("0")) >= Version(fixed), f"{one} admits {advisories}"
