"""The page of a metric in a real browser: it computes its example, and is no barrier."""

import pytest
from support.served_page import barriers, serving_page

pytestmark = pytest.mark.browser
SERVE = """
from pqpp_metrics.app import make_metric_page
from pqpp_hub.space import serve_page
serve_page(make_metric_page("ndcg"), port=0)
"""
GRADIOS = ('aria-prohibited-attr: <div aria-label="Empty value"',)
"""gradio's JSON, while it shows nothing, labels an element without a role: not ours to mend."""


@pytest.mark.daily
def test_it_is_no_barrier_and_asks_nobody(visitor, tmp_path):
    pytest.importorskip("gradio")
    with serving_page(SERVE, tmp_path) as served:
        page = visitor().open(served.url)
        compute = page.get_by_role("button", name="Compute")
        compute.wait_for()
        empty = [one for one in barriers(page) if not any(own in one for own in GRADIOS)]
        assert not empty, "\n".join(empty)
        compute.click()
        page.wait_for_selector("#status [role=status]")
        found = barriers(page)
        assert not found, "\n".join(found)
        assert served.asked_outside == []
