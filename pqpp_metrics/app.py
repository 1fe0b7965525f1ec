"""The web page of a metric's Space: fill in the inputs as JSON, read the result."""

from __future__ import annotations

import ast
import json
from typing import TYPE_CHECKING, Any

from pqpp_files.foreign.json_values import parse_json
from pqpp_hub.space import blank_page, said_here, serve_page, telling
from pqpp_metrics.registration import metric_card

if TYPE_CHECKING:
    import gradio


def example_inputs(card: str) -> dict[str, Any]:
    """Return the keyword arguments of the call of `compute` in a card's example.

    Args:
        card: The text of the README.

    Example:
        >>> example_inputs(">>> metric.compute(predictions=[1, 2], references=[2, 1])")
        {'predictions': [1, 2], 'references': [2, 1]}
    """
    code = "\n".join(line[4:] for line in card.splitlines() if line[:4] in (">>> ", "... "))
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "compute":
            return {word.arg: ast.literal_eval(word.value) for word in node.keywords if word.arg}
    return {}


def metric_page(name: str) -> gradio.Blocks:
    """Return the page of a metric, as a gradio Blocks.

    Args:
        name: The metric, as in `list_metrics`.

    Raises:
        FileNotFoundError: there is no such metric.
        MissingExtraError: the extra `demo` is not installed.
    """
    card = metric_card(name)[1]
    with blank_page(name) as page:
        import evaluate
        import gradio

        metric = evaluate.load(f"pqpp/{name}")
        arguments = [*metric.input_names(), *metric.options()]
        example = {key: json.dumps(value) for key, value in example_inputs(card).items()}

        def compute(*texts):
            named = zip(arguments, texts, strict=True)
            return metric.compute(**{key: parse_json(text) for key, text in named if text})

        gradio.Markdown(card)
        boxes = [gradio.Textbox(example.get(key, ""), label=f"{key} (JSON)") for key in arguments]
        button = gradio.Button("Compute", variant="primary")
        said = said_here()
        result = gradio.JSON(label="Result")
        told = telling(compute, refusals=(ValueError, TypeError))
        button.click(told, inputs=boxes, outputs=[result, said], api_name="compute")
    return page


def serve_metric(name: str) -> None:
    """Serve the page of a metric until it is told to stop, as its Space does.

    Args:
        name: The metric, as in `list_metrics`.
    """
    serve_page(metric_page(name))
