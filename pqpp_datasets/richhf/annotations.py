"""Several annotators' marks on one image to a row of RichHF.

Source: "Rich Human Feedback for Text-to-Image Generation", sections 3.1, 3.2 and 3.4; the rules are
those of `pqpp_metrics.functional.consolidation`.
"""

import io
import numbers
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pqpp_datasets.errors import DataFileError

_SCORES = ("plausibility", "alignment", "aesthetics", "overall")
_POINTS = {
    "implausibility_map": "implausibility_points",
    "misalignment_map": "misalignment_points",
}
_LOWEST, _HIGHEST = 1, 5


def row_of_annotations(
    filename: str, annotations: Sequence[Mapping[str, Any]], height: int, width: int
) -> dict:
    """Consolidate annotations of one image into a row with the columns of `richhf`.

    Scores are averaged and brought from 1..5 to 0..1, a token's label is the most frequent one, and
    a marked point becomes a disk of radius height / 20; the maps are averaged over the annotators.

    Args:
        filename: Its name without suffix is the image's uid.
        annotations: One an annotator, with the scores `plausibility`, `alignment`, `aesthetics` and
            `overall` (1 to 5, higher is better), `token_labels` (0 misaligned, 1 aligned), and
            `implausibility_points` and `misalignment_points`, lists of [row, column] in pixels.
        height: Pixels of the image.
        width: Pixels of the image.

    Returns:
        The row, its maps as PNG.

    Raises:
        DataFileError: If a score is missing or out of range.
        MetricInputError: If labels or points are not as they must be.

    Example:
        >>> marks = {"plausibility": 3, "alignment": 5, "aesthetics": 4, "overall": 4,
        ...          "token_labels": [1, 0], "implausibility_points": [[10, 10]],
        ...          "misalignment_points": []}
        >>> row = row_of_annotations("uid.png", [marks], 40, 40)
        >>> row["plausibility"], row["token_labels"]
        (0.5, [1, 0])
    """
    from pqpp_metrics.functional.consolidation import majority_labels, points_heatmap

    if not annotations:
        raise DataFileError(f"{filename}: no annotation came; one or more are needed")
    scores = {}
    for name in _SCORES:
        given: list[Any] = [annotation.get(name) for annotation in annotations]
        for score in given:
            # numpy's whole numbers are Integral, its float32 is Real; a truth value is no score.
            is_number = isinstance(score, numbers.Real) and not isinstance(score, bool)
            if not is_number or not _LOWEST <= score <= _HIGHEST:
                raise DataFileError(f"{filename}: {name} is {score!r:.40}, 1 to 5 is allowed")
        scores[name] = float((np.mean(given) - _LOWEST) / (_HIGHEST - _LOWEST))
    maps = {
        ours: _png(points_heatmap([a.get(points, []) for a in annotations], height, width))
        for ours, points in _POINTS.items()
    }
    labels = majority_labels([annotation.get("token_labels", []) for annotation in annotations])
    return {"filename": filename, **scores, **maps, "token_labels": [int(n) for n in labels]}


def _png(heatmap: np.ndarray) -> bytes:
    from PIL import Image

    file = io.BytesIO()
    Image.fromarray(np.rint(255 * heatmap).astype(np.uint8)).save(file, "PNG")
    return file.getvalue()
