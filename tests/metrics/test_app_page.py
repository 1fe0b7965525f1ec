"""The page of a metric in a real browser: it computes its example and is accessible."""

import pytest
from support.served_page import find_barriers, serve_page

pytestmark = pytest.mark.browser
SERVE = """
from pqpp_metrics.app import make_metric_page
from pqpp_hub.space import serve_page
serve_page(make_metric_page("ndcg"), port=0)
"""
GRADIO_FINDINGS = ('aria-prohibited-attr: <div aria-label="Empty value"',)
"""Of gradio's own JSON view: while empty, it labels an element without a role."""


@pytest.mark.daily
def test_page_has_no_barriers_and_sends_no_requests(make_visitor, tmp_path):
    pytest.importorskip("gradio")
    with serve_page(SERVE, tmp_path) as served:
        page = make_visitor().open(served.url)
        compute = page.get_by_role("button", name="Compute")
        compute.wait_for()
        before = [b for b in find_barriers(page) if not any(one in b for one in GRADIO_FINDINGS)]
        assert not before, "\n".join(before)
        compute.click()
        page.wait_for_selector("#status [role=status]")
        after = find_barriers(page)
        assert not after, "\n".join(after)
        assert served.outside_requests == []
