"""One thread for linear algebra, and what was before again."""

import numpy as np
import pytest

from pqpp_files.threads import limit_blas_threads

threadpoolctl = pytest.importorskip("threadpoolctl")


def blas_threads():
    np.ones((2, 2)) @ np.ones((2, 2))
    pools = threadpoolctl.threadpool_info()
    return {one["num_threads"] for one in pools if one["user_api"] == "blas"}


def test_blas_threads_are_limited_and_restored():
    with threadpoolctl.threadpool_limits(3, "blas"):
        before = blas_threads()
        with limit_blas_threads():
            with limit_blas_threads():
                assert blas_threads() == {1}
            assert blas_threads() == {1}
        assert blas_threads() == before != {1}
