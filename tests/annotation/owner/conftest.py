"""The database of the tests of the owner's pages."""

import pytest


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def database(request, monkeypatch) -> dict[str, str]:
    """Settings of a study with an empty SQLite database, or (slow) a PostgreSQL database."""
    if request.param == "sqlite":
        return {}
    monkeypatch.setenv("STUDY_DATABASE", request.getfixturevalue("make_postgresql")())
    return {"database": "$STUDY_DATABASE"}
