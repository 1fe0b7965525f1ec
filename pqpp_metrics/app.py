"""The web page of a metric's Space: fill in the inputs as JSON, read the result.

One file serves every metric: it belongs to the metric whose module and README lie beside it.
"""

import ast
import json
from pathlib import Path

import evaluate
import gradio

from pqpp_metrics.registration import list_metrics


def find_metric(folder):
    """Return the name of the metric whose module file lies in a folder.

    Args:
        folder: A `pathlib.Path`.

    Raises:
        FileNotFoundError: no file of the folder is a metric of this package.
    """
    names = [path.stem for path in sorted(folder.glob("*.py")) if path.stem in list_metrics()]
    if not names:
        raise FileNotFoundError(
            f"no metric's module lies in {folder}; put <metric>.py beside app.py"
        )
    return names[0]


def example_inputs(card):
    """Return the keyword arguments of the call of `compute` in a card's example.

    Args:
        card: The text of the README.
    """
    code = "\n".join(line[4:] for line in card.splitlines() if line[:4] in (">>> ", "... "))
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Call) and getattr(node.func, "attr", "") == "compute":
            return {word.arg: ast.literal_eval(word.value) for word in node.keywords}
    return {}


def build(folder):
    """Return the page of the metric whose files lie in a folder, as a gradio Blocks.

    Args:
        folder: A `pathlib.Path` with `<metric>.py` and `README.md`.
    """
    name = find_metric(folder)
    metric = evaluate.load(f"pqpp/{name}")
    card = (folder / "README.md").read_text(encoding="utf-8")
    arguments = [*metric.input_names(), *metric.options()]
    example = example_inputs(card)

    def compute(*texts):
        try:
            given = {
                key: json.loads(text) for key, text in zip(arguments, texts, strict=True) if text
            }
            return metric.compute(**given)
        except (ValueError, TypeError) as error:
            raise gradio.Error(str(error)) from error

    with gradio.Blocks(title=name) as page:
        gradio.Markdown(_without_front_matter(card))
        boxes = [
            gradio.Textbox(_as_json(example.get(key)), label=f"{key} (JSON)") for key in arguments
        ]
        button = gradio.Button("Compute", variant="primary")
        button.click(compute, inputs=boxes, outputs=gradio.JSON(label="Result"), api_name="compute")
    return page


def _as_json(value):
    return "" if value is None else json.dumps(value)


def _without_front_matter(card):
    return card.split("---\n", 2)[-1]


if __name__ == "__main__":
    build(Path(__file__).parent).launch()
