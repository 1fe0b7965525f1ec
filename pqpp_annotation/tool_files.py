"""Files of other tools: their prompts and images."""

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pqpp_annotation.errors import AnnotationError
from pqpp_datasets.own_benchmark.formats import find_roles, flatten
from pqpp_files.atomic_write import write_whole
from pqpp_files.read_table import read_table

_SERVED = re.compile(r"^/data/(local-files/\?d=|upload/)")
Row = dict[str, Any]
TOOLS: dict[str, Callable[[Mapping[str, Any]], Any]] = {
    "label-studio": lambda record: record.get("data") or record,
    "argilla": lambda record: (record.get("metadata") or {}) | (record.get("fields") or {}),
}
"""Tool to what gives the prompt and the images of a record."""


def write_prompts(tool: str, file: str | Path, table: Path) -> None:
    r"""Write the prompts and images of a tool's records as a table that a study is made of.

    Records of pairs give a row for each side. Answers stay where they are: `pqpp build --from`
    reads them.

    Args:
        tool: A key of `TOOLS`.
        file: The tool's export: JSON or JSON Lines, a task or a record each.
        table: The table to write, JSON Lines.

    Raises:
        AnnotationError: No record has a prompt and an image.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> task = {"id": 1, "data": {"text": "a cat", "image": "/data/upload/1/a.png"}}
        >>> _ = (folder / "tasks.json").write_text(json.dumps([task]))
        >>> write_prompts("label-studio", folder / "tasks.json", folder / "prompts.jsonl")
        >>> (folder / "prompts.jsonl").read_text()
        '{"prompt": "a cat", "image": "1/a.png"}\n'
    """
    prompts = read_table(file)
    rows: dict[tuple, Row] = {}
    for cells in zip(*prompts.columns.values(), strict=True):
        record = dict(zip(prompts.columns, cells, strict=True))
        fields = flatten(TOOLS[tool](record))
        roles = find_roles(fields)
        for side in ("", "_a", "_b"):
            image, model = (roles.get(f"{name}{side}", "") for name in ("image", "model"))
            if "prompt" not in roles or not isinstance(fields.get(image), str):
                continue
            row: Row = {name: fields[name] for name in ("prompt_id", "control") if name in fields}
            row |= {"prompt": fields[roles["prompt"]], "image": _SERVED.sub("", fields[image])}
            row |= {"model": fields[model]} if model else {}
            rows.setdefault((row["prompt"], row["image"]), row)
    if not rows:
        raise AnnotationError(
            f"{file}: no record has a prompt and an image under their usual names; write a table "
            "with the columns prompt and image"
        )
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows.values())
    write_whole(table, "".join(lines))
