"""Make `evaluate.load("pqpp/<metric>")` find the metrics of this package.

evaluate has no plugin mechanism: its loader looks for a local folder, then on the Hub. This module
wraps the loader's factory, so that a path that starts with `pqpp/` becomes the path of the packaged
file; evaluate then copies, hashes and caches that file like any local one.

Importing this module imports nothing heavy: the wrapping waits until evaluate is imported.
"""

from __future__ import annotations

import functools
import importlib
import re
import sys
import threading
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pqpp_metrics.metric import Metric

_PREFIX = "pqpp/"
_PACKAGE = Path(__file__).parent
# evaluate's modules that import the factory by name.
_IMPORTERS = ("evaluate.inspect", "evaluate.evaluation_suite")
_FACTORY = "evaluation_module_factory"

_lock = threading.Lock()


def register() -> None:
    """Wrap evaluate's loader, now or as soon as evaluate is imported.

    Calling it again, from any thread, changes nothing.
    """
    import pqpp_autoload

    pqpp_autoload.call_when_imported("evaluate.loading", patch_library)


def patch_library(loading_module: ModuleType) -> None:
    """Wrap the factory of an imported `evaluate.loading`, and every copy of it; idempotent."""
    with _lock:
        original = getattr(loading_module, _FACTORY)
        if getattr(original, "resolves_pqpp", False):
            return

        @functools.wraps(original)
        def resolve(path, *args, **kwargs):
            if isinstance(path, str) and path.startswith(_PREFIX):
                path = str(get_metric_path(path.removeprefix(_PREFIX)))
            return original(path, *args, **kwargs)

        resolve.resolves_pqpp = True  # type: ignore[attr-defined]
        for module in (loading_module, *map(sys.modules.get, _IMPORTERS)):
            if getattr(module, _FACTORY, None) is original:
                setattr(module, _FACTORY, resolve)


def list_metrics() -> list[str]:
    """Return the names of the metrics of this package, sorted.

    Example:
        >>> "kendall_qpp" in list_metrics()
        True
    """
    modules = _PACKAGE.glob("*/*.py")
    return sorted(path.stem for path in modules if path.stem == path.parent.name)


def get_metric_path(name: str) -> Path:
    """Return the path of the evaluate module of a metric.

    Raises:
        FileNotFoundError: there is no such metric; the message names up to three similar ones.

    Example:
        >>> get_metric_path("ndcg").name
        'ndcg.py'
    """
    for package in (_PACKAGE, _PACKAGE.with_name("pqpp_feedback")):  # scores of images have models
        if (path := package / name / f"{name}.py").is_file():
            return path
    from pqpp_files.names import find_close_names

    stem, known = re.sub(r"(@|_cut)?[@_-]?\d+$", "", name.lower()), list_metrics()
    similar = " or ".join(repr(_PREFIX + metric) for metric in find_close_names(stem, known))
    hint = f"; did you mean {similar}?" if similar else "."
    raise FileNotFoundError(
        f"no metric '{_PREFIX}{name}'{hint} `pqpp metrics list` lists all {len(known)}"
    )


def read_card_section(name: str, heading: str) -> str:
    """Return the text under a second-level heading of a metric's card.

    Example:
        >>> read_card_section("smare", "Source").startswith("Faggioli")
        True
    """
    card = get_metric_path(name).with_name("README.md").read_text(encoding="utf-8")
    return card.partition(f"\n## {heading}\n")[2].partition("\n## ")[0].strip()


def load_metric(name: str) -> type[Metric]:
    """Return the class of a metric, which computes it without evaluate.

    Raises:
        FileNotFoundError: there is no such metric.

    Example:
        >>> kendall = load_metric("kendall_qpp")
        >>> kendall.score({"predictions": [1, 2, 3], "references": [1, 3, 2]})["n"]
        3
    """
    from pqpp_metrics.metric import Metric

    if get_metric_path(name).parents[1] != _PACKAGE:
        raise FileNotFoundError(f"{name} needs images; use pqpp assess score or evaluate.load")
    members = vars(importlib.import_module(f"pqpp_metrics.{name}.{name}")).values()
    return next(m for m in members if isinstance(m, type) and issubclass(m, Metric))


def read_metric_card(name: str) -> list[str]:
    """Return the front matter and the body of a metric's card.

    Raises:
        FileNotFoundError: there is no such metric.

    Example:
        >>> read_metric_card("ndcg")[1].strip().splitlines()[0]
        '# nDCG'
    """
    card = get_metric_path(name.removeprefix("pqpp/")).with_name("README.md")
    return card.read_text("utf-8").split("---\n", 2)[1:]
