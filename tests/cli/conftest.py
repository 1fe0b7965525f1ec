"""Fixtures of the tests of commands."""

import json

import pytest

from pqpp_cli.main import main


@pytest.fixture
def compute(tmp_path, monkeypatch, capsys):
    """Run `pqpp metrics compute` in the test's folder, and return its notes and result."""
    monkeypatch.chdir(tmp_path)

    def run(*words, status=0):
        assert main(["metrics", "compute", *map(str, words), "--format", "json"]) == status
        output = capsys.readouterr()
        return output.err.strip(), json.loads(output.out) if status == 0 else None

    return run
