"""Publishing a metric as a Space on the Hub, from where `evaluate.load` takes it."""

from pathlib import Path

import pqpp_hub
from pqpp_hub.space import app_of, space_files
from pqpp_metrics.registration import metric_path


def push_metric(
    name: str,
    repo_id: str,
    private: bool = False,
    revision: str | None = None,
    dry_run: bool = False,
    token: str | None = None,
) -> pqpp_hub.PushReport:
    """Publish a metric as a Space on the Hub, in one commit: whole or not at all.

    The Space holds the module, its card, a page on which the metric can be tried, and what must
    be installed for it. `evaluate.load("OWNER/NAME")` takes a module that is called like its
    Space. Files of others in the Space stay; for all else see `pqpp_hub.push_files`.

    Args:
        name: The metric, as in `list_metrics`.
        repo_id: `OWNER/NAME`; NAME must be the metric's, or evaluate would not find its module.
        private: Make a new Space private; a public one that exists is then refused.
        revision: The branch; `main` if left out.
        dry_run: Only say what would change.
        token: With write permission; the stored one if left out. It is never shown or logged.

    Returns:
        A `pqpp_hub.PushReport`.

    Raises:
        FileNotFoundError: there is no such metric.
        pqpp_hub.HubError: the Hub cannot be reached or refuses, or the Space is called otherwise.
    """
    metric_path(name)
    if pqpp_hub.is_repository_id(repo_id) and repo_id.split("/")[1] != name:
        wanted = f"of the Space's name; call it {repo_id.split('/')[0]}/{name}"
        raise pqpp_hub.HubError(f"in {repo_id!r} evaluate would look for a module {wanted}")
    files = metric_files(name)
    message = f"Upload the metric {name} with pqpp"
    return pqpp_hub.push_files(
        files, repo_id, "space", files.__contains__, message, private, revision, dry_run, token
    )


def metric_files(name: str) -> dict[str, Path | bytes]:
    """Return what the Space of a metric holds, by name.

    Args:
        name: The metric, as in `list_metrics`.

    Raises:
        FileNotFoundError: there is no such metric.

    Example:
        >>> list(metric_files("ndcg"))
        ['ndcg.py', 'README.md', 'app.py', 'requirements.txt']
    """
    module = metric_path(name)
    card = module.with_name("README.md").read_text(encoding="utf-8")
    app = app_of("pqpp_metrics.app", "serve_metric", name)
    return {module.name: module, **space_files(card, app)}
