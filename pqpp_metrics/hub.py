"""Publishing a metric as a Space on the Hub, from where `evaluate.load` takes it."""

import pqpp_hub
from pqpp_metrics.registration import metric_path

# What every metric's Space has beside its module and its card; they lie above the metrics' folders.
_SHARED = ("app.py", "requirements.txt")


def push_metric(name, repo_id, private=False, revision=None, dry_run=False, token=None):
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
        UnknownMetricError: there is no such metric.
        pqpp_hub.HubError: the Hub cannot be reached or refuses, or the Space is called otherwise.
    """
    files = metric_files(name)
    if pqpp_hub.is_repository_id(repo_id) and repo_id.split("/")[1] != name:
        raise pqpp_hub.HubError(
            f"the Hub Space {repo_id!r} would not be found by evaluate, which looks for a module "
            f"of the Space's name; call it {repo_id.split('/')[0]}/{name}"
        )
    return pqpp_hub.push_files(
        files,
        repo_id,
        "space",
        files.__contains__,
        f"Upload the metric {name} with pqpp",
        private=private,
        revision=revision,
        dry_run=dry_run,
        token=token,
    )


def metric_files(name):
    """Return what the Space of a metric holds: the name there to the path here.

    Args:
        name: The metric, as in `list_metrics`.

    Raises:
        UnknownMetricError: there is no such metric.

    Example:
        >>> list(metric_files("ndcg"))
        ['ndcg.py', 'README.md', 'app.py', 'requirements.txt']
    """
    module = metric_path(name)
    own = {module.name: module, "README.md": module.with_name("README.md")}
    return own | {shared: module.parents[1] / shared for shared in _SHARED}
