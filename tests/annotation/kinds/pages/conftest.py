"""A fixture that serves a study of each kind, shared by all tests with the same settings."""

import contextlib

import pytest
from support.kind_pages import make_kind_study
from support.served import serve_study


@pytest.fixture(scope="session")
def serve(tmp_path_factory):
    """A function that serves a study of a kind, with 99 annotators per item."""
    studies = {}
    with contextlib.ExitStack() as stack:

        def serve(kind, **settings):
            key = repr((kind, settings))
            if key not in studies:
                folder = tmp_path_factory.mktemp(kind)
                study = make_kind_study(folder, kind, people_per_item=99, **settings)
                studies[key] = stack.enter_context(serve_study(study))
            return studies[key]

        yield serve
