"""The one table of votes that everything about a benchmark of one's own is computed from."""

from dataclasses import dataclass

import numpy as np

from pqpp_datasets.own_benchmark.judgment_files import Places
from pqpp_datasets.own_benchmark.prompts import Prompts
from pqpp_datasets.own_benchmark.votes.scales import Scale


@dataclass(frozen=True)
class Votes:
    """Votes on generated images, a row a vote, in the order of the file.

    Columns of texts are numbers here, with the names beside: five million votes take little memory.
    Blank votes and those with a mark for a missing one are left out before. One annotator has one
    vote on one image, unless there are no ids of annotators.

    Attributes:
        prompt: int64 (votes,), the prompt: a position in `prompts.keys` (source and text) and in
            the columns of `prompts.identities()` (`prompt_id`, ...).
        model: int32 (votes,), a position in `model_names`.
        image: int32 (votes,), a position in `image_names`.
        annotator: int32 (votes,), a position in `annotator_names`. Without ids of annotators
            (`has_annotators` is False) it only counts the votes of an image, 0, 1, ...: equal
            numbers are then not one person.
        item: int64 (votes,), the image that was judged, 0 to `len(first)` - 1: a distinct
            combination of prompt, model and image. One name of an image under two prompts or
            models is two items.
        first: int64 (items,), a row of each item, to look its prompt, model and image up.
        value: float64 (votes,), the vote on `scale`; never NaN.
        positive: bool (votes,), whether the scale calls that value positive.
        control: bool (votes,), whether a member of the control group voted.
        reference: bool (votes,), whether the image is a reference image and no generated one.
        seconds: float64 (votes,), how long the vote took, NaN where it is not known; None where
            the file has no such column.
        row: int64 (votes,), the row that came with it; `places.of(row)` is "votes.csv, row 12".
        places: Where the rows stand.
        prompts: The prompts, which have ids, sources, texts and categories.
        model_names: The models, as the user writes them.
        image_names: The images, likewise.
        annotator_names: The annotators, likewise.
        has_annotators: Whether the file says who voted.
        scale: What the values mean: range, level of measurement, which are positive.
        is_ready: Whether the values are ready scores of images, made of votes that did not come.
        deviation: float64 (votes,), the standard deviation that came with a ready score, NaN where
            it is not known; None where the file has no such column.
    """

    prompt: np.ndarray
    model: np.ndarray
    image: np.ndarray
    annotator: np.ndarray
    item: np.ndarray
    first: np.ndarray
    value: np.ndarray
    positive: np.ndarray
    control: np.ndarray
    reference: np.ndarray
    seconds: np.ndarray | None
    row: np.ndarray
    places: Places
    prompts: Prompts
    model_names: list[str]
    image_names: list[str]
    annotator_names: list[str]
    has_annotators: bool
    scale: Scale
    is_ready: bool = False
    deviation: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.value)


def depths(groups: np.ndarray) -> np.ndarray:
    """Count 0, 1, 2, ... in each run of equal values.

    Example:
        >>> depths(np.array([7, 7, 3, 7])).tolist()
        [0, 1, 0, 0]
    """
    changes = np.r_[True, groups[1:] != groups[:-1]] if len(groups) else np.array([], bool)
    starts = np.flatnonzero(changes)
    return np.arange(len(groups)) - np.repeat(starts, np.diff(np.r_[starts, len(groups)]))
