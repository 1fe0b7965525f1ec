"""The kinds whose answer is one label for each image: relevance, rating and match.

Sources: PQPP, section 3.1: high relevance (over half of the prompt's concepts are shown; 2), low
relevance (at least one; 1), no relevance (unrelated, yet realistic; 0), unrealistic (notable
artifacts, whatever else is shown; -1). Two grades: PQPP, section 3.2: relevant or irrelevant, two
annotators per image; 5 of the 50 queries of a batch are controls (`control: {every: 10}` in a study
file); and ConQA, section 3: "Relevant", "Irrelevant" or "Unsure", with the images in random order.
Match: GIMBRR, "Assessment": annotators "rate image-prompt pairs on whether they match or not", can
view related prompts on the same page, and can continue "a csv file with partially completed
annotation results".
"""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import PurePosixPath
from typing import Any, ClassVar

from pydantic import BaseModel

from pqpp_annotation.errors import AnnotationError
from pqpp_annotation.kinds.kind import Fields, Rows, ShownItem, TaskKind, Vote
from pqpp_annotation.languages import gettext_noop
from pqpp_datasets.own_benchmark.options import FLAGS
from pqpp_datasets.own_benchmark.votes.scales import get_scale_by_name
from pqpp_files.names import did_you_mean

UNSURE = "unsure"
"""How tables write the answer None."""

_WORDS = {1: "relevant", 0: "not_relevant", None: UNSURE}
_MOST_IMAGES = 200
_MOST_STEPS = 11  # one per key
_LIKERT_WORDS = ("Not at all", "A little", "Partly", "Mostly", "Completely")
# Columns of GIMBRR's prompt directory, which its annotations repeat.
_DIRECTORY_COLUMNS = (
    "Representations",
    "Auto_assessment",
    "Task",
    "Task_specific_label",
    "img2img_instructions",
    "Linked_prompts",
)


class LabelAnswer(BaseModel, extra="forbid", strict=True):
    """A label, None for "unsure"."""

    label: int | None


class LabelKind(TaskKind):
    """A kind of task with an answer `{"label": integer or None}` for each image."""

    answer = LabelAnswer

    def list_choices(self, settings: Fields) -> list[dict[str, Any]]:
        """Return the answers for all labels except "unsure"."""
        labels = (n for n in self.list_labels(settings) if n is not None)
        return [{"label": n} for n in sorted(labels)]

    def check_answer(self, value: Fields, item: ShownItem, settings: Fields) -> None:
        """Refuse a label that is not on the scale."""
        super().check_answer(value, item, settings)
        if value["label"] not in self.list_labels(settings):
            raise AnnotationError("label is not on the scale; choose one of the labels shown", 409)

    def list_labels(self, settings: Fields) -> tuple[int | None, ...]:
        """Return the valid labels, with None for "unsure"."""
        scale = get_scale_by_name(str(self.get_scale(settings)))
        return tuple(range(int(scale.low), int(scale.high) + 1))

    def get_label(self, value: Fields) -> float | None:
        """Return the label, None for "unsure"."""
        return None if value["label"] is None else float(value["label"])

    def parse_expected(self, cell: str, settings: Fields) -> dict[str, Any]:
        """Parse a cell as a label: a number, a word of the scale, or "unsure"."""
        if cell.strip().lower() == UNSURE and None in self.list_labels(settings):
            return {"label": None}
        label = get_scale_by_name(str(self.get_scale(settings))).parse_label(cell)
        if label not in self.list_labels(settings):
            allowed = ", ".join(UNSURE if n is None else str(n) for n in self.list_labels(settings))
            raise AnnotationError(f"`expected` must be one of {allowed}; got {cell!r:.60}")
        return {"label": int(label)}

    def build_tables(self, votes: Sequence[Vote]) -> dict[str, Iterable[dict]]:
        """Return the table `judgments` for `pqpp build`."""
        return {"judgments": to_judgment_rows(votes)}


class Rating(LabelKind):
    """The task of rating each image on a Likert scale, by default 1 to 5."""

    name = "rating"
    scale = "likert5"
    settings: ClassVar[Fields] = {
        "question": gettext_noop("Does this image show the prompt?"),
        "low": 1,
        "high": 5,
        "labels": {},  # a map of steps to words
    }

    def complete_settings(self, settings: Fields) -> dict[str, Any]:
        """Complete the settings, and check the range of the scale and the words for its steps."""
        checked = super().complete_settings(settings)
        low, high = checked["low"], checked["high"]
        if not 1 <= high - low < _MOST_STEPS:
            raise AnnotationError(f"task.high must exceed task.low by 1 to {_MOST_STEPS - 1}")
        steps = [str(step) for step in self.list_labels(checked)]
        if "labels" not in settings and (low, high) == (1, 5):
            checked["labels"] = dict(zip(steps, _LIKERT_WORDS, strict=True))
        # Steps are numbers in YAML and strings in JSON.
        checked["labels"] = words = {str(step): word for step, word in checked["labels"].items()}
        if unknown := [step for step in words if step not in steps]:
            raise AnnotationError(f"task.labels: no step {unknown[0]!r}; use {', '.join(steps)}")
        # YAML reads an unquoted `no` as False.
        if invalid := [word for word in words.values() if not isinstance(word, str)]:
            raise AnnotationError(f"task.labels: {invalid[0]!r:.60} is not text; put it in quotes")
        return checked

    def get_scale(self, settings: Fields) -> str:
        """Return `likert5` for 1 to 5, else the range, such as `0..10`."""
        low, high = settings.get("low", 1), settings.get("high", 5)
        return "likert5" if (low, high) == (1, 5) else f"{low}..{high}"


class Relevance(LabelKind):
    """The task of rating how well each image shows the prompt, on PQPP's four-grade scale."""

    name = "relevance"
    scale: str | None = "pqpp"
    settings: ClassVar[Fields] = {
        "question": gettext_noop("How well does this image show the prompt?"),
        "grades": "pqpp",  # or "binary"
        "images_per_page": 50,
    }

    def choose_variant(self, settings: Fields) -> TaskKind:
        """Return the kind with four grades, or with two if `grades` is "binary"."""
        grades = str(settings.get("grades", "pqpp"))
        if grades not in _GRADES:
            hint = did_you_mean(grades, _GRADES)
            raise AnnotationError(f"task.grades: unknown value {grades!r:.40}; {hint}")
        return _GRADES[grades]

    def complete_settings(self, settings: Fields) -> dict[str, Any]:
        """Complete the settings, and check that `images_per_page` is from 1 to 200."""
        checked = super().complete_settings(settings)
        if not 1 <= (images := checked["images_per_page"]) <= _MOST_IMAGES:
            raise AnnotationError(f"task.images_per_page must be 1 to {_MOST_IMAGES}; got {images}")
        return checked

    def to_items(self, rows: Rows, settings: Mapping) -> list[list[Mapping]]:
        """Distribute the images of a prompt over pages of about equal size.

        Neighbouring images go to different pages, so that the top ranks are not all on one page.
        """
        n_pages = -(-len(rows) // settings["images_per_page"])
        return [list(rows[page::n_pages]) for page in range(n_pages)]


class BinaryRelevance(Relevance):
    """The task of labelling each image as relevant (1), not relevant (0) or unsure (None)."""

    scale = None
    level = "nominal"
    settings: ClassVar[Fields] = {
        **Relevance.settings,
        "question": gettext_noop("Is this image relevant?"),
        "unsure": True,  # whether "unsure" is offered
    }

    def to_items(self, rows: Rows, settings: Mapping) -> list[list[Mapping]]:
        """Distribute the images of a query over pages, control images separately."""
        flags = [FLAGS.get(row.get("control", "").strip().lower(), 0) for row in rows]
        pages: list[list[Mapping]] = []
        for is_control in (0, 1):
            group = [row for row, flag in zip(rows, flags, strict=True) if flag == is_control]
            pages += super().to_items(group, settings)
        return pages

    def list_labels(self, settings: Fields) -> tuple[int | None, ...]:
        """Return 1, 0 and, if offered, None for "unsure"."""
        return (1, 0, None) if settings.get("unsure", True) else (1, 0)

    def parse_expected(self, cell: str, settings: Fields) -> dict[str, Any]:
        """Parse a cell as an answer: a word, such as "relevant" or "unsure", or 1 or 0."""
        from pqpp_datasets.own_benchmark.generation import RELEVANCE

        words: dict[str, int | None] = {**RELEVANCE, "not relevant": 0, "not_relevant": 0}
        if settings.get("unsure", True):
            words[UNSURE] = None
        word = cell.strip().lower()
        if word not in words:
            raise AnnotationError(f"`expected` must be one of {', '.join(words)}; got {cell!r:.60}")
        return {"label": words[word]}

    def build_tables(self, votes: Sequence[Vote]) -> dict[str, Iterable[dict]]:
        """Return `relevance` for `pqpp build --relevance`, ConQA's `triples`, and all `votes`.

        "unsure" is in `triples` and `votes`, but not in `relevance`.
        """
        return {
            "relevance": (
                {**vote.get_columns("prompt_id", "prompt", "image", "annotator"), **vote.value}
                for vote in votes
                if vote.value["label"] is not None
            ),
            "triples": to_conqa_rows(votes),
            "votes": ({**row, "label": _WORDS[row["label"]]} for row in to_judgment_rows(votes)),
        }


class Match(LabelKind):
    """The task of deciding whether each image matches the prompt: yes (1) or no (0)."""

    name = "match"
    scale = "yes-no"
    level = "nominal"
    settings: ClassVar[Fields] = {"question": gettext_noop("Does this image match the prompt?")}

    def collect_extra_item_data(
        self, rows: Rows, table: Mapping[str, Rows], hashes: Mapping[str, str]
    ) -> dict[str, Any]:
        """Return the linked prompts, with images of the same models, and GIMBRR's columns.

        The column `linked_prompts` contains comma-separated prompt ids; ids that are not in the
        study are ignored, as in GIMBRR's own tool.
        """
        cells = (rows[0].get(name) or "" for name in ("linked_prompts", "Linked_prompts"))
        prompt_ids = map(str.strip, next(filter(None, cells), "").split(","))
        models = {row.get("model", "") for row in rows}
        linked = [
            {
                "prompt": table[prompt_id][0]["prompt"],
                "images": [
                    hashes[row["image"]]
                    for row in table[prompt_id]
                    if row.get("model", "") in models and row["image"] in hashes
                ],
            }
            for prompt_id in prompt_ids
            if table.get(prompt_id)
        ]
        columns = ("File_name", "Task_backup", "Dashboard_version", *_DIRECTORY_COLUMNS)
        # The dataset `gimbrr` has the names in lower case.
        by_image = {
            row["image"]: {n: cell for n in columns if (cell := row.get(n) or row.get(n.lower()))}
            for row in rows
        }
        return {"linked": linked, "columns": {k: cells for k, cells in by_image.items() if cells}}

    def get_extra_page_data(self, detail: Fields, get_url: Callable[[str], str]) -> dict[str, Any]:
        """Return the linked prompts with image URLs."""
        linked = detail.get("linked", [])
        return {"linked": [{**pair, "images": [*map(get_url, pair["images"])]} for pair in linked]}

    def list_linked_images(self, detail: Fields) -> list[str]:
        """Return the hashes of the linked prompts' images."""
        return [sha256 for pair in detail.get("linked", []) for sha256 in pair["images"]]

    def build_tables(self, votes: Sequence[Vote]) -> dict[str, Iterable[dict]]:
        """Return `judgments` for `pqpp build`, and `gimbrr` in GIMBRR's format."""
        return {"judgments": to_judgment_rows(votes), "gimbrr": to_gimbrr_rows(votes)}


def to_judgment_rows(votes: Iterable[Vote]) -> Iterator[dict[str, Any]]:
    """Convert votes on images to the rows that `pqpp build --judgments` reads.

    Example:
        >>> vote = Vote("7", "A cat.", "7/1.png", "sdxl", "anna", False, {"label": 2}, 3.25, 0,
        ...             "work", {})
        >>> [row] = to_judgment_rows([vote])
        >>> row["label"], row["annotator"], row["control"], row["seconds"]
        (2, 'anna', 'false', 3.25)
    """
    names = ("prompt_id", "prompt", "image", "model", "annotator")
    for vote in votes:
        yield vote.to_row(*names, label=vote.value["label"])


def to_conqa_rows(votes: Iterable[Vote]) -> Iterator[dict[str, Any]]:
    """Count the votes on each image of a query: relevant, not relevant, unsure.

    `pqpp_metrics.functional.conqa_relevance` accepts the three counts.

    Example:
        >>> def vote(who, label):
        ...     return Vote("3", "royalty", "9.jpg", "", who, False, {"label": label}, 1.0, 0,
        ...                 "work", {})
        >>> [row] = to_conqa_rows([vote("ann", 1), vote("bob", None), vote("cy", 1)])
        >>> row["relevant"], row["not_relevant"], row["unsure"]
        (2, 0, 1)
    """
    counts: dict[tuple[str, str, str], Counter] = {}
    for vote in votes:
        key = (vote.prompt_id, vote.prompt, vote.image)
        counts.setdefault(key, Counter())[_WORDS[vote.value["label"]]] += 1
    for (prompt_id, prompt, image), count in counts.items():
        votes_by_label = {name: count[name] for name in _WORDS.values()}
        yield {"prompt_id": prompt_id, "prompt": prompt, "image": image, **votes_by_label}


def to_gimbrr_rows(votes: Iterable[Vote]) -> Iterator[dict[str, Any]]:
    """Convert votes to GIMBRR's annotation format, one row per vote.

    `Score` is the answer column of files that GIMBRR's own tool continues; the column `annotator`
    is added by pqpp.

    Example:
        >>> vote = Vote("1701", "a book", "Dalle/p1701.png", "Dalle", "anna", False, {"label": 1},
        ...             2.0, 0, "work", {"columns": {"Dalle/p1701.png": {"Task": "Single object"}}})
        >>> [row] = to_gimbrr_rows([vote])
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
            **{name: cells.get(name, "") for name in _DIRECTORY_COLUMNS},
            "Score": answer,
            "annotator": vote.annotator,
        }


_GRADES: dict[str, TaskKind] = {"pqpp": Relevance(), "binary": BinaryRelevance()}
PRESETS: dict[str, TaskKind] = {"match": Match(), "rating": Rating(), "relevance": _GRADES["pqpp"]}
