"""Fixtures that make studies."""

import pytest
from support.studies import create_store


@pytest.fixture
def make_store(tmp_path, database):
    """A function that makes a study on the test's database, and opens it."""
    stores = []

    def make_and_open(**settings):
        stores.append(create_store(tmp_path, **database, **settings))
        return stores[-1]

    yield make_and_open
    for store in stores:
        store.close()


@pytest.fixture
def store(make_store):
    """A study of four prompts with two images each."""
    return make_store()
