"""Read prompts from the files of image generators.

These are images and text of the Stable Diffusion web UI, ComfyUI and InvokeAI, responses of
Civitai's API, and parts of DiffusionDB.
"""

import contextlib
import re
from collections.abc import Iterator, Mapping
from typing import Any

from pqpp_files.errors import FileError, reraise
from pqpp_files.extras import require_extra
from pqpp_files.foreign.images import open_image
from pqpp_files.foreign.json_values import parse_json
from pqpp_files.names import pluralize
from pqpp_files.open_input import Input
from pqpp_files.read_table import log_assumptions

_TEXTS = ("text", "text_g", "t5xxl", "clip_l", "prompt", "string", "value")
"""The names of texts in ComfyUI's nodes, in order of preference."""
_SETTINGS = re.compile(r"^Steps: \d+, ?\w.*$", re.MULTILINE)


def read_tool_prompts(source: Input) -> dict[str, list[Any]] | None:
    r"""Read the prompts in a file of an image generator; None for other files.

    Args:
        source: A PNG, JSON or text file.

    Returns:
        A table with the positive prompts as `prompt`; from Civitai and DiffusionDB, also with the
        other columns.

    Raises:
        FileError: An image contains no prompt, or the file cannot be read.

    Example:
        >>> import pathlib, tempfile
        >>> path = pathlib.Path(tempfile.mkdtemp()) / "block.txt"
        >>> _ = path.write_text("a cat\nNegative prompt: blurry\nSteps: 20, Sampler: Euler\n")
        >>> read_tool_prompts(Input(path))
        {'prompt': ['a cat']}
    """
    prompts, value = list[Any](), None
    with reraise(f"{source.name}: a damaged file of an image generator", "save the file again"):
        if source.suffix in ("", ".txt"):
            prompts = _read_blocks(source.read().decode("utf-8-sig", "replace"))
        elif source.suffix == ".png":
            with require_extra("a PNG file", "models"):
                texts = open_image(source.name).info
            if "parameters" in texts:
                prompts = _read_blocks(texts["parameters"]) or [texts["parameters"].strip()]
            elif keys := [n for n in ("prompt", "invokeai_metadata", "workflow") if n in texts]:
                prompts = _read_json(parse_json(texts[keys[0]], source.name))
        elif source.suffix == ".json":
            with contextlib.suppress(FileError):  # the reader of tables reports the error
                value = parse_json(source.read())
            prompts = _read_json(value)
    if prompts:
        log_assumptions(source.name, f"{pluralize(len(prompts), 'prompt')} of an image generator")
    elif source.suffix == ".png":
        raise FileError(f"{source.name} has no prompt; use the image that its generator saved")
    rows = [row if isinstance(row, dict) else {"prompt": row} for row in prompts]
    names = dict.fromkeys(name for row in rows for name in row)
    return {name: [row.get(name) for row in rows] for name in names} or None


def _read_blocks(text: str) -> list[str]:
    """Return the prompts of text blocks that end with a line of settings."""
    *blocks, rest = _SETTINGS.split(text)
    if rest.strip():  # lines of prompts, some with settings
        return []
    positive = (f"\n{block}".partition("\nNegative prompt:")[0].strip() for block in blocks)
    return [" ".join(text.split("\n")) for text in positive]


def _read_json(value: Any) -> list[Any]:
    """Return the prompts in a JSON value, or its rows that contain prompts."""
    if not isinstance(value, dict):
        return []
    if isinstance(value.get("nodes"), list) and isinstance(value.get("links"), list):
        return list(_read_graph(_to_api_graph(value["nodes"], value["links"])))
    objects = [item for item in value.values() if isinstance(item, dict)]
    if objects and all("class_type" in item for item in objects):
        return list(_read_graph(value))
    if isinstance(value.get("prompt"), dict):  # the body of an API request
        return _read_json(value["prompt"])
    if isinstance(value.get("positive_prompt"), str):
        return [value["positive_prompt"]]
    if isinstance(value.get("items"), list):
        items = [item for item in value["items"] if isinstance(item, dict)]
        pairs = [(item, item.pop("meta", None)) for item in items]
        pairs = [(item, meta) for item, meta in pairs if isinstance(meta, dict)]
        return [{"prompt": "", **i, **m} for i, m in pairs if isinstance(m.get("prompt"), str)]
    return [
        {"prompt": one["p"], "key": name, **{key: one[key] for key in one if key != "p"}}
        for name, one in value.items()
        if isinstance(one, dict) and isinstance(one.get("p"), str) and "se" in one
    ]


def _to_api_graph(nodes: list[Any], links: list[Any]) -> dict[str, Any]:
    origins: dict[Any, Any] = {link[0]: [str(link[1]), link[2]] for link in links}
    graph = {}
    for node in nodes:
        inputs = {one["name"]: origins.get(one.get("link")) for one in node.get("inputs") or ()}
        widgets = node.get("widgets_values")
        texts = [one for one in widgets if isinstance(one, str)] if type(widgets) is list else []
        text = {"text": texts[0]} if texts and not inputs.get("text") else {}
        is_text = re.search("Text|Prompt|Primitive|String", node["type"])
        inputs = inputs | text if is_text else inputs
        graph[str(node["id"])] = {"class_type": node["type"], "inputs": inputs}
    return graph


def _read_graph(graph: Mapping[str, Any]) -> Iterator[str]:
    """Yield the distinct texts that condition the samplers of a graph."""
    yielded = set()
    for node in graph.values():
        inputs = node.get("inputs", {})
        name = "positive" if "positive" in inputs else "conditioning"
        is_sampler_input = name == "positive" or "Guider" in str(node.get("class_type"))
        text = _find_text(graph, inputs.get(name), set()) if is_sampler_input else None
        if text and text not in yielded:
            yielded.add(text)
            yield text


def _find_text(graph: Mapping[str, Any], value: Any, visited: set[str]) -> str | None:
    """Return the value if it is text, or the first text that a link in a graph leads to."""
    if isinstance(value, str):
        return value.strip() or None
    if not isinstance(value, list) or not value or str(value[0]) in visited:
        return None
    visited.add(str(value[0]))
    inputs = graph.get(str(value[0]), {}).get("inputs", {})
    texts = [inputs[name] for name in _TEXTS if name in inputs]
    links = [one for name, one in inputs.items() if isinstance(one, list) and name != "negative"]
    return next(filter(None, (_find_text(graph, one, visited) for one in (*texts, *links))), None)
