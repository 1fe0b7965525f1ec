"""The databases that the tests of studies run on, and the browser that opens their pages."""

import pytest
from support import postgresql
from support.browser import browser, visitor  # noqa: F401

pytest.importorskip("sqlalchemy", reason="needs the extra `annotate`")


@pytest.fixture(scope="session")
def new_postgresql():
    """A function that makes an empty database on a PostgreSQL server of these tests."""
    pytest.importorskip("psycopg", reason="needs the extra `postgresql`")
    with postgresql.server("fsync=off") as new_database:
        yield new_database


@pytest.fixture(params=["sqlite", pytest.param("postgresql", marks=pytest.mark.daily)])
def database(request, monkeypatch) -> dict[str, str]:
    """Settings of a study that name an empty database: of SQLite, and daily of PostgreSQL."""
    if request.param == "sqlite":
        return {}
    monkeypatch.setenv("STUDY_DATABASE", request.getfixturevalue("new_postgresql")())
    return {"database": "$STUDY_DATABASE"}
