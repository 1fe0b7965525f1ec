"""One version everywhere, and a tested version for every requirement."""

import configparser
import datetime
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
