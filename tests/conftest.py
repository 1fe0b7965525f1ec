"""Fixtures for all tests: the real data, and separate caches."""

import os
from functools import cache
from pathlib import Path
from random import Random
from typing import NoReturn

import pytest
from hypothesis import settings

# Tests run in folders of their own, where a relative path would be wrong. NLTK reads its variable
# when it is first imported, so it is set here and not in a fixture.
if "NLTK_DATA" in os.environ:
    _folders = os.environ["NLTK_DATA"].split(os.pathsep)
    os.environ["NLTK_DATA"] = os.pathsep.join(str(Path(one).resolve()) for one in _folders if one)

# Tests share the cores, and some fork: the fork of a process with library threads can hang. numpy
# and torch read this variable when they are first imported.
os.environ.setdefault("OMP_NUM_THREADS", "1")

# Writing durably to a disk is slow, so tests write to memory if there is room.
_MEMORY = "/dev/shm"
if Path(_MEMORY).is_dir():
    _room = os.statvfs(_MEMORY)
    if _room.f_bavail * _room.f_frsize > 4e9 and not _room.f_flag & os.ST_NOEXEC:
        os.environ.setdefault("PYTEST_DEBUG_TEMPROOT", _MEMORY)

# The same examples in each run, without deadlines; `make test-all` tries new ones.
settings.register_profile("repeatable", deadline=None, derandomize=True, max_examples=25)
settings.register_profile("search", deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "repeatable"))


def pytest_addoption(parser):
    """Add `--shuffle SEED`, which runs the tests in random order."""
    parser.addoption("--shuffle", type=int, metavar="SEED", help="a random order")


def pytest_report_header(config):
    """Print the seed."""
    seed = config.getoption("shuffle")
    return None if seed is None else f"order of the tests: --shuffle {seed}"


def pytest_itemcollected(item):
    """Mark `daily` tests as `slow`, and tests that need outside data as `data`."""
    if item.get_closest_marker("daily"):
        item.add_marker("slow")
    marks = {mark.name for mark in item.iter_markers()}
    if "real_data" in item.fixturenames or marks & {"realdata", "nltk"}:
        item.add_marker("data")


def pytest_runtest_setup(item):
    """Skip a test marked `nltk` if NLTK's data is missing."""
    if item.get_closest_marker("nltk") and not _has_nltk_data():
        _leave_out("needs NLTK's data: see 'Real data' in CONTRIBUTING.md")


@cache
def _has_nltk_data() -> bool:
    import nltk

    def is_there(name: str) -> bool:
        try:
            return bool(nltk.data.find(name))
        except LookupError:
            return False

    names = ("tokenizers/punkt_tab", "corpora/stopwords", "corpora/wordnet")
    return all(is_there(name) or is_there(f"{name}.zip") for name in names)


def _leave_out(reason: str) -> NoReturn:
    """Skip the running test, or fail it if data is required."""
    if os.environ.get("PQPP_TEST_DATA_REQUIRED"):
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config, items):
    """Shuffle the tests by the seed."""
    seed = config.getoption("shuffle")
    if seed is not None:
        Random(seed).shuffle(items)


@pytest.fixture(scope="session")
def real_data() -> Path:
    """The folder of real data; without it the test is skipped, or fails if data is required."""
    named = os.environ.get("PQPP_TEST_DATA")
    if named and Path(named).is_dir():
        return Path(named).resolve()
    _leave_out("needs real data, named by PQPP_TEST_DATA: see 'Real data' in CONTRIBUTING.md")


@pytest.fixture(autouse=True)
def _own_environment(monkeypatch):
    """Keep a developer's settings out of the tests."""
    for name in ("PQPP_DATA_DIR", "PQPP_NO_AUTOLOAD", "PQPP_COLLECTION", "PQPP_WORD_VECTORS"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def cache(tmp_path, monkeypatch) -> Path:
    """A new cache for `datasets`, in this process and in those that the test starts."""
    import datasets

    folder = tmp_path / "cache"
    monkeypatch.setenv("HF_HOME", str(folder))
    monkeypatch.setenv("HF_DATASETS_CACHE", str(folder))
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", folder)
    monkeypatch.setattr(datasets.config, "DOWNLOADED_DATASETS_PATH", folder / "downloads")
    return folder
