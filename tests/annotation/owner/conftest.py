"""The database of the tests of the owner's pages."""

import pytest
from support.postgresql import make_database_fixture

database = make_database_fixture(pytest.mark.slow)
