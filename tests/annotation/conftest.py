"""Fixtures of the annotation tests: databases and browsers."""

import pytest
from support import postgresql
from support.browser import browser, make_visitor  # noqa: F401

pytest.importorskip("sqlalchemy", reason="needs the extra `annotate`")


@pytest.fixture(scope="session")
def make_postgresql():
    """A function that creates an empty database on a temporary PostgreSQL server."""
    pytest.importorskip("psycopg", reason="needs the extra `postgresql`")
    with postgresql.run_server("fsync=off") as new_database:
        yield new_database


database = postgresql.make_database_fixture(pytest.mark.daily)
