"""`limit_blas_threads`: one thread for linear algebra, then the earlier number again."""

import numpy as np
import pytest

from pqpp_files.threads import limit_blas_threads

threadpoolctl = pytest.importorskip("threadpoolctl")


def count_blas_threads():
    np.ones((2, 2)) @ np.ones((2, 2))
    pools = threadpoolctl.threadpool_info()
    return {pool["num_threads"] for pool in pools if pool["user_api"] == "blas"}


def test_blas_threads_are_limited_and_restored():
    with threadpoolctl.threadpool_limits(3, "blas"):
        before = count_blas_threads()
        with limit_blas_threads():
            with limit_blas_threads():
                assert count_blas_threads() == {1}
            assert count_blas_threads() == {1}
        assert count_blas_threads() == before != {1}
