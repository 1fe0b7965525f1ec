"""The owner's pages read what the tests of the store try on both databases."""

import pytest


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.slow)])
def database(request, monkeypatch) -> dict[str, str]:
    """As that of all tests of studies; on PostgreSQL it is slow."""
    if request.param == "sqlite":
        return {}
    monkeypatch.setenv("STUDY_DATABASE", request.getfixturevalue("new_postgresql")())
    return {"database": "$STUDY_DATABASE"}
