"""Match: does the image show what the prompt says, yes or no, with linked prompts on demand.

Source: GIMBRR, "Assessment": people "rate image-prompt pairs on whether they match or not", may
view related prompts on the same page "(e.g. the single objects that correspond to a multiple
object representation prompt)", and go on from "a csv file with partially completed annotation
results".
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, ClassVar

from pqpp_annotation.kinds.kind import Vote
from pqpp_annotation.kinds.labels import LabelKind, judgments
from pqpp_annotation.languages import gettext_noop

_LINKED = ("linked_prompts", "Linked_prompts")
# Columns of GIMBRR's prompt directory, which its annotations repeat.
_DIRECTORY = (
    "Representations",
    "Auto_assessment",
    "Task",
    "Task_specific_label",
    "img2img_instructions",
    "Linked_prompts",
)


class Match(LabelKind):
    """Yes (1) or no (0) for each image."""

    name = "match"
    scale = "yes-no"
    level = "nominal"
    settings: ClassVar[Mapping[str, Any]] = {
        "question": gettext_noop("Does this image match the prompt?")
    }
    partial_columns: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "prompt_id": ("Prompt_no", "prompt_id"),
        "image": ("File_name", "image"),
        "model": ("Algorithm", "model"),
        "answer": ("Score", "annotation", "label"),
    }

    def detail(
        self,
        rows: Sequence[Mapping[str, str]],
        table: Mapping[str, Sequence[Mapping[str, str]]],
        sha256_of: Mapping[str, str],
    ) -> dict[str, Any]:
        """Keep the linked prompts, with images of the same models, and GIMBRR's own columns.

        The column `linked_prompts` holds ids of prompts, with commas between them; those that are
        not in the study are left out, as in GIMBRR's own tool.
        """
        cells = (rows[0].get(name) or "" for name in _LINKED)
        prompt_ids = map(str.strip, next(filter(None, cells), "").split(","))
        models = {row.get("model", "") for row in rows}
        linked = [
            {
                "prompt": table[prompt_id][0]["prompt"],
                "images": [
                    sha256_of[row["image"]]
                    for row in table[prompt_id]
                    if row.get("model", "") in models and row["image"] in sha256_of
                ],
            }
            for prompt_id in prompt_ids
            if table.get(prompt_id)
        ]
        columns = ("File_name", "Task_backup", "Dashboard_version", *_DIRECTORY)
        kept = {row["image"]: {n: row[n] for n in columns if row.get(n)} for row in rows}
        return {"linked": linked, "columns": {name: cells for name, cells in kept.items() if cells}}

    def shown_detail(
        self, detail: Mapping[str, Any], url_of: Callable[[str], str]
    ) -> dict[str, Any]:
        """Show the linked prompts."""
        linked = detail.get("linked", [])
        return {"linked": [{**pair, "images": [*map(url_of, pair["images"])]} for pair in linked]}

    def other_images(self, detail: Mapping[str, Any]) -> list[str]:
        """Return the images of the linked prompts."""
        return [sha256 for pair in detail.get("linked", []) for sha256 in pair["images"]]

    def tables(self, votes: Sequence[Vote]) -> dict[str, Iterable[dict]]:
        """Return `judgments` for `pqpp build`, and `gimbrr` with that study's columns."""
        return {"judgments": judgments(votes), "gimbrr": gimbrr_rows(votes)}


def gimbrr_rows(votes: Iterable[Vote]) -> Iterator[dict[str, Any]]:
    """Turn votes into the columns of GIMBRR's annotations, a row a vote.

    `Score` is what GIMBRR's own tool calls the answer in the files that it continues from;
    `annotator` is ours.

    Example:
        >>> vote = Vote("1701", "a book", "Dalle/p1701.png", "Dalle", "anna", False, {"label": 1},
        ...             2.0, 0, "work", {"columns": {"Dalle/p1701.png": {"Task": "Single object"}}})
        >>> [row] = gimbrr_rows([vote])
        >>> row["File_name"], row["annotation"], row["Task"], row["Linked_prompts"]
        ('p1701.png', 'True', 'Single object', '')
    """
    for vote in votes:
        cells = vote.detail.get("columns", {}).get(vote.image, {})
        answer = str(bool(vote.value["label"]))
        yield {
            "File_name": cells.get("File_name") or PurePosixPath(vote.image).name,
            "Prompt_no": vote.prompt_id,
            "Task_backup": cells.get("Task_backup") or cells.get("Task", ""),
            "annotation": answer,
            "Dashboard_version": cells.get("Dashboard_version", ""),
            "Algorithm": vote.model,
            "ID": vote.prompt_id,
            "Prompt": vote.prompt,
            **{name: cells.get(name, "") for name in _DIRECTORY},
            "Score": answer,
            "annotator": vote.annotator,
        }


TASK_KIND = Match()
