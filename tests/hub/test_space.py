"""Pages of Spaces: errors without users' input, and pinned requirements."""

import logging
import re
from importlib import metadata

from pqpp_files.extras import list_pins
from pqpp_hub import space


def test_page_errors_do_not_contain_the_input(caplog):
    def fail(text):
        raise KeyError(text)

    with caplog.at_level(logging.DEBUG):
        value, message = space.add_message(fail)("a secret prompt")
    assert value is None and "Something went wrong" in message and "secret" not in message
    assert "KeyError in " in caplog.text and "secret" not in caplog.text
    assert all(record.exc_info is None for record in caplog.records)


def test_requirements_are_pinned(monkeypatch):
    first, *others = list_pins("demo", "models")
    assert first == f"pqpp[demo,models]=={metadata.version('pqpp')}"
    assert f"torch=={metadata.version('torch')}" in others
    assert f"numpy=={metadata.version('numpy')}" in others
    assert not [one for one in others if one.startswith(("diffusers", "pytest"))]
    assert all(re.fullmatch(r"[\w.-]+==[\w.+!]+", one) for one in others)

    distribution = metadata.distribution

    class Installed:
        version = "1.0"
        requires = ("numpy>=1", "a-package-that-nobody-has")

        def read_text(self, name):
            return '{"url": "https://x.org/p", "vcs_info": {"vcs": "git", "commit_id": "a1"}}'

    monkeypatch.setattr(
        metadata, "distribution", lambda name: Installed() if name == "pqpp" else distribution(name)
    )
    numpy = f"numpy=={metadata.version('numpy')}"
    assert list_pins() == ["pqpp @ git+https://x.org/p@a1", numpy]
