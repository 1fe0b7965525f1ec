"""Publish a metric as a Space on the Hub, for `evaluate.load`, and serve its page."""

from __future__ import annotations

import ast
import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pqpp_hub
from pqpp_files.foreign.json_values import parse_json
from pqpp_hub import space
from pqpp_metrics.registration import get_metric_path, read_metric_card

if TYPE_CHECKING:
    import gradio


def parse_example_call(card: str) -> dict[str, Any]:
    """Return the keyword arguments of the call of `compute` in a card's example.

    Args:
        card: The text of the README.

    Example:
        >>> parse_example_call(">>> metric.compute(predictions=[1, 2], references=[2, 1])")
        {'predictions': [1, 2], 'references': [2, 1]}
    """
    code = "\n".join(line[4:] for line in card.splitlines() if line[:4] in (">>> ", "... "))
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "compute":
            return {kw.arg: ast.literal_eval(kw.value) for kw in node.keywords if kw.arg}
    return {}


def make_metric_page(name: str) -> gradio.Blocks:
    """Return the page of a metric, as a gradio Blocks.

    Args:
        name: The metric, as in `list_metrics`.

    Raises:
        FileNotFoundError: there is no such metric.
        MissingExtraError: the extra `demo` is not installed.
    """
    card = read_metric_card(name)[1]
    with space.make_blocks(name) as page:
        import evaluate
        import gradio

        metric = evaluate.load(f"pqpp/{name}")
        arguments = [*metric.get_input_names(), *metric.get_options()]
        example = {key: json.dumps(value) for key, value in parse_example_call(card).items()}

        def compute(*texts: str) -> dict[str, Any]:
            pairs = zip(arguments, texts, strict=True)
            return metric.compute(**{key: parse_json(text) for key, text in pairs if text})

        gradio.Markdown(card)
        boxes = [gradio.Textbox(example.get(key, ""), label=f"{key} (JSON)") for key in arguments]
        button = gradio.Button("Compute", variant="primary")
        status = space.make_status_box()
        result = gradio.JSON(label="Result")
        handler = space.add_message(compute, refusals=(ValueError, TypeError))
        button.click(handler, inputs=boxes, outputs=[result, status], api_name="compute")
    return page


def serve_metric(name: str) -> None:
    """Serve the page of a metric until stopped, as its Space does."""
    space.serve_page(make_metric_page(name))


def push_metric(name: str, owner: str, **options: Any) -> pqpp_hub.PushReport:
    """Publish a metric as a Space on the Hub, in one commit.

    The Space contains the module, its card, a page for trying the metric, and its requirements. It
    is named after the metric, so that `evaluate.load("OWNER/NAME")` finds the module. Other files
    in the Space are kept; see `pqpp_hub.push_files`.

    Args:
        name: The metric, as in `list_metrics`.
        owner: The owner of the Space.
        **options: `private`, `revision`, `dry_run` and `token` of `pqpp_hub.push_files`.

    Returns:
        A `pqpp_hub.PushReport`.

    Raises:
        FileNotFoundError: there is no such metric.
        pqpp_hub.HubError: the Hub cannot be reached or refuses.
    """
    files, message = make_metric_files(name), f"Upload the metric {name} with pqpp"
    return pqpp_hub.push_files(files, f"{owner}/{name}", "space", message, **options)


def make_metric_files(name: str) -> dict[str, Path | bytes]:
    """Return the files of a metric's Space, by name.

    Args:
        name: The metric, as in `list_metrics`.

    Raises:
        FileNotFoundError: there is no such metric.

    Example:
        >>> list(make_metric_files("ndcg"))
        ['ndcg.py', 'README.md', 'app.py', 'requirements.txt']
    """
    module = get_metric_path(name)
    card = module.with_name("README.md").read_text(encoding="utf-8")
    app = space.make_app("pqpp_metrics.app", "serve_metric", name)
    return {module.name: module, **space.make_space_files(card, app)}
