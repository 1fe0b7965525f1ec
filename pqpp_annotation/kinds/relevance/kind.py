"""Relevance: PQPP's four grades of an image, or relevant and not; true photos are unmarked.

Sources: PQPP, section 3.1: high relevance (over half of the prompt's concepts are there; 2), low
relevance (at least one; 1), no relevance (unrelated, yet realistic; 0), unrealistic (notable
artifacts, whatever else is there; -1). Two grades: PQPP, section 3.2: relevant or irrelevant, two
people an image; of the 50 queries of a batch 5 are controls, which in a study file is
`control: {every: 10}`; and ConQA, section 3: "Relevant" or "Irrelevant", or "Unsure" when
undecided, the images in random order.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from pqpp_annotation.errors import StudyError
from pqpp_annotation.kinds.kind import TaskKind, Vote
from pqpp_annotation.kinds.labels import UNSURE, LabelKind, judgments
from pqpp_annotation.languages import gettext_noop
from pqpp_files.names import did_you_mean

_NAMES = {1: "relevant", 0: "not_relevant", None: UNSURE}
_MOST_IMAGES = 200


class Relevance(LabelKind):
    """How well each image shows what the prompt says, by PQPP's four grades."""

    name = "relevance"
    scale: str | None = "pqpp"
    settings: ClassVar[Mapping[str, Any]] = {
        "question": gettext_noop("How well does this image show the prompt?"),
        "grades": "pqpp",  # or "binary"
        "images_per_page": 50,
    }

    def variant(self, settings: Mapping[str, Any]) -> TaskKind:
        """Return the kind with the grades that a study asks for."""
        grades = settings.get("grades", "pqpp")
        if grades not in _GRADES:
            raise StudyError(f"task: grades is {grades!r:.40}; {did_you_mean(grades, _GRADES)}")
        return _GRADES[grades]

    def check_study(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Refuse pages without an image, and endless ones."""
        checked = super().check_study(settings)
        if not 1 <= (images := checked["images_per_page"]) <= _MOST_IMAGES:
            raise StudyError(f"task: images_per_page is {images}; give 1 to {_MOST_IMAGES}")
        return checked

    def group(self, rows: Sequence[Mapping[str, str]], settings: Mapping) -> list[list[Mapping]]:
        """Cut the images of a prompt into pages of about equal size.

        They are dealt in turn, so that the first ranks of a retriever do not all meet on one page.
        """
        number = -(-len(rows) // settings["images_per_page"])
        return [list(rows[page::number]) for page in range(number)]


class BinaryRelevance(Relevance):
    """Relevant (1), not relevant (0) or unsure (None) for each image."""

    scale = None
    level = "nominal"
    settings: ClassVar[Mapping[str, Any]] = {
        **Relevance.settings,
        "question": gettext_noop("Is this image relevant?"),
        "unsure": True,  # whether one may be
    }

    def group(self, rows: Sequence[Mapping[str, str]], settings: Mapping) -> list[list[Mapping]]:
        """Cut the images of a query into pages; of controls, as an item is one or is none."""
        from pqpp_datasets.own_benchmark.options import FLAGS

        flags = [FLAGS.get(row.get("control", "").strip().lower(), 0) for row in rows]
        kinds = [
            [row for row, flag in zip(rows, flags, strict=True) if flag == wanted]
            for wanted in (0, 1)
        ]
        return [
            page for some in kinds for page in super(BinaryRelevance, self).group(some, settings)
        ]

    def labels(self, settings: Mapping[str, Any]) -> tuple[int | None, ...]:
        """Return the answers that may be given."""
        return (1, 0, None) if settings.get("unsure", True) else (1, 0)

    def expected(self, cell: str, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer that a cell stands for: relevant or not, in words or 1 and 0."""
        from pqpp_datasets.own_benchmark.generation import RELEVANCE

        words: dict[str, int | None] = {**RELEVANCE, "not relevant": 0, "not_relevant": 0}
        if settings.get("unsure", True):
            words[UNSURE] = None
        word = cell.strip().lower()
        if word not in words:
            raise StudyError(f"the answer is {cell!r:.60}; it must be {', '.join(words)}")
        return {"label": words[word]}

    def tables(self, votes: Sequence[Vote]) -> dict[str, Iterable[dict]]:
        """Return `relevance` for `pqpp build --relevance`, `triples` as ConQA's, and all `votes`.

        Unsure ones are counted in `triples` and stand in `votes`; `relevance` knows none.
        """
        return {
            "relevance": relevance_rows(votes),
            "triples": triples(votes),
            "votes": ({**row, "label": _NAMES[row["label"]]} for row in judgments(votes)),
        }


def relevance_rows(votes: Iterable[Vote]) -> Iterator[dict[str, Any]]:
    """Turn votes into the rows that `pqpp build --relevance` reads; unsure ones are left out.

    Example:
        >>> vote = Vote("3", "royalty", "9.jpg", "", "ann", False, {"label": 0}, 1.0, 0, "work", {})
        >>> list(relevance_rows([vote]))[0]["label"]
        0
    """
    for vote in votes:
        if vote.value["label"] is not None:
            about = vote.columns("prompt_id", "prompt", "image", "annotator")
            yield {**about, "label": vote.value["label"]}


def triples(votes: Iterable[Vote]) -> Iterator[dict[str, Any]]:
    """Count the votes on each image of a query, as ConQA publishes them.

    The three numbers are those that `pqpp_metrics.functional.conqa_relevance` takes.

    Example:
        >>> def vote(who, label):
        ...     return Vote("3", "royalty", "9.jpg", "", who, False, {"label": label}, 1.0, 0,
        ...                 "work", {})
        >>> [row] = triples([vote("ann", 1), vote("bob", None), vote("cy", 1)])
        >>> row["relevant"], row["not_relevant"], row["unsure"]
        (2, 0, 1)
    """
    counts: dict[tuple[str, str, str], Counter] = {}
    for vote in votes:
        key = (vote.prompt_id, vote.prompt, vote.image)
        counts.setdefault(key, Counter())[_NAMES[vote.value["label"]]] += 1
    for (prompt_id, prompt, image), count in counts.items():
        known = {name: count[name] for name in _NAMES.values()}
        yield {"prompt_id": prompt_id, "prompt": prompt, "image": image, **known}


TASK_KIND = Relevance()
_GRADES: dict[str, TaskKind] = {"pqpp": TASK_KIND, "binary": BinaryRelevance()}
