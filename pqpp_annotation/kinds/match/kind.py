"""Match: does the image show what the prompt says, yes or no, with linked prompts on demand.

Source: GIMBRR, "Assessment": people "rate image-prompt pairs on whether they match or not", may
view related prompts on the same page "(e.g. the single objects that correspond to a multiple
object representation prompt)", and go on from "a csv file with partially completed annotation
results".
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, ClassVar

from pqpp_annotation.kinds.kind import Vote
from pqpp_annotation.kinds.labels import LabelKind, judgments
from pqpp_annotation.kinds.settings import with_defaults

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
    partial_columns: ClassVar[Mapping[str, tuple[str, ...]]] = {
        "prompt_id": ("Prompt_no", "prompt_id"),
        "image": ("File_name", "image"),
        "model": ("Algorithm", "model"),
        "answer": ("Score", "annotation", "label"),
    }

    def check_study(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Take `question`."""
        return with_defaults(self.name, settings, {"question": "Does this image match the prompt?"})

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
        ids = [one.strip() for one in next(filter(None, cells), "").split(",")]
        models = {row.get("model", "") for row in rows}
        linked = [
            {
                "prompt": table[one][0]["prompt"],
                "images": [
                    sha256_of[row["image"]]
                    for row in table[one]
                    if row.get("model", "") in models and row["image"] in sha256_of
                ],
            }
            for one in ids
            if table.get(one)
        ]
        columns = ("File_name", "Task_backup", "Dashboard_version", *_DIRECTORY)
        kept = {row["image"]: {n: row[n] for n in columns if row.get(n)} for row in rows}
        return {"linked": linked, "columns": {image: own for image, own in kept.items() if own}}

    def shown_detail(self, detail: Mapping[str, Any]) -> dict[str, Any]:
        """Show the linked prompts."""
        return {"linked": detail.get("linked", [])}

    def export(self, votes: Iterable[Vote], settings: Mapping) -> dict[str, Iterable[dict]]:
        """Return `judgments` for `pqpp build`, and `gimbrr` with that study's columns."""
        kept = list(votes)
        return {"judgments": judgments(kept), "gimbrr": gimbrr_rows(kept)}


def gimbrr_rows(votes: Iterable[Vote]) -> Iterator[dict[str, Any]]:
    """Turn votes into the columns of GIMBRR's annotations, a row a vote; training is left out.

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
        if vote.purpose == "training":
            continue
        own = vote.detail.get("columns", {}).get(vote.image, {})
        answer = str(bool(vote.value["label"]))
        yield {
            "File_name": own.get("File_name") or PurePosixPath(vote.image).name,
            "Prompt_no": vote.prompt_id,
            "Task_backup": own.get("Task_backup") or own.get("Task", ""),
            "annotation": answer,
            "Dashboard_version": own.get("Dashboard_version", ""),
            "Algorithm": vote.model,
            "ID": vote.prompt_id,
            "Prompt": vote.prompt,
            **{name: own.get(name, "") for name in _DIRECTORY},
            "Score": answer,
            "annotator": vote.annotator,
        }


KIND = Match()
