"""Studies on the database of a test."""

import pytest
from support.studies import small_store


@pytest.fixture
def made(tmp_path, database):
    """A function that makes a study on the database of this test, and opens it."""
    stores = []

    def make(**settings):
        stores.append(small_store(tmp_path, **database, **settings))
        return stores[-1]

    yield make
    for store in stores:
        store.close()


@pytest.fixture
def store(made):
    """A study of four prompts with two images each."""
    return made()
