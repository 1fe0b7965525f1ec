"""Ranking: which of the candidate images of a query are relevant.

Sources: ConQA, section 3: "Relevant" or "Irrelevant", or "Unsure" when undecided, the images in
random order. PQPP, section 3.2: relevant or irrelevant, two people an image; of the 50 queries of
a batch 5 are controls, which in a study file is `control: {every: 10}`.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, ClassVar

from pqpp_annotation.errors import StudyError
from pqpp_annotation.kinds.kind import Vote
from pqpp_annotation.kinds.labels import LabelKind, judgments

_UNSURE = "unsure"
_NAMES = {1: "relevant", 0: "not_relevant", None: _UNSURE}
_MOST_IMAGES = 200


class Ranking(LabelKind):
    """Relevant (1), not relevant (0) or unsure (None) for each image."""

    name = "ranking"
    level = "nominal"
    settings: ClassVar[Mapping[str, Any]] = {
        "question": "Is this image relevant?",
        "unsure": True,  # whether one may be
        "images_per_page": 50,
    }

    def check_study(self, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Refuse pages without an image, and endless ones."""
        checked = super().check_study(settings)
        if not 1 <= (images := checked["images_per_page"]) <= _MOST_IMAGES:
            raise StudyError(f"task: images_per_page is {images}; 1 to {_MOST_IMAGES} is allowed")
        return checked

    def labels(self, settings: Mapping[str, Any]) -> tuple[int | None, ...]:
        """Return the answers that may be given."""
        return (1, 0, None) if settings.get("unsure", True) else (1, 0)

    def expected(self, cell: str, settings: Mapping[str, Any]) -> dict[str, Any]:
        """Return the answer that a cell stands for: relevant or not, in words or 1 and 0."""
        from pqpp_datasets.own_benchmark.generation import RELEVANCE

        words: dict[str, int | None] = {**RELEVANCE, "not relevant": 0, "not_relevant": 0}
        if settings.get("unsure", True):
            words[_UNSURE] = None
        word = cell.strip().lower()
        if word not in words:
            raise StudyError(f"the answer is {cell!r:.60}; {', '.join(words)} is allowed")
        return {"label": words[word]}

    def group(self, rows: Sequence[Mapping[str, str]], settings: Mapping) -> list[list[Mapping]]:
        """Cut the images of a query into pages of about equal size.

        They are dealt in turn, so that the first ranks of a retriever do not all meet on one page.
        Images that are controls get pages of their own, as an item is a control or is none.
        """
        from pqpp_datasets.own_benchmark.forms import FLAGS

        flags = [FLAGS.get(row.get("control", "").strip().lower(), 0) for row in rows]
        pages = []
        for is_control in (0, 1):
            images = [row for row, flag in zip(rows, flags, strict=True) if flag == is_control]
            number = -(-len(images) // settings["images_per_page"])
            pages += [images[page::number] for page in range(number)]
        return pages

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


TASK_KIND = Ranking()
