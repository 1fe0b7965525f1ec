"""The rows that a predictor was fitted to, as hashes: enough to tell overlap, never a text.

A row is known by its prompt, in one spelling. Where both sides have an id that is the same in every
release (``mscoco-<COCO caption id>``, ``drawbench-<index>``), the id tells two captions of one text
apart: PQPP's train and validation splits share two such texts, and no row.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from pqpp_backbones.checkpoint import CONFIG, FITTED_ROWS
from pqpp_backbones.errors import CheckpointError
from pqpp_files.foreign.arrays import load_tensors
from pqpp_files.hashes import sha256_of_parts
from pqpp_models.prompts import normalise, read_ids, read_prompts

KEY = "fitted_rows"
"""What a checkpoint's configuration calls them."""

_TENSOR = "rows"
_LASTING = re.compile(r"(?:mscoco|drawbench)-\d+")
_REMEDY = "save or download the predictor again"


@dataclass(frozen=True, eq=False)
class FittedRows:
    """Hashes of rows.

    Attributes:
        hashes: uint64, shape ``(rows, 2)``, sorted and distinct: of the prompt, and of id and
            prompt, 0 where a row has no lasting id.
    """

    hashes: NDArray[np.uint64]

    @classmethod
    def of(cls, rows: Any, scored: NDArray[np.bool_] | None = None) -> Self:
        """Return those of some rows; blank prompts are left out.

        Args:
            rows: as ``read_prompts`` takes them; a column ``prompt_id`` is read too.
            scored: one a row, which of them were fitted to; all if left out.

        >>> len(FittedRows.of(["A red cat.", "a red  cat", "a dog", " "]))
        2
        """
        hashes = _hashes_of(rows)
        kept = hashes[:, 0] > 0 if scored is None else (hashes[:, 0] > 0) & scored
        return cls(np.unique(hashes[kept], axis=0))

    def __len__(self) -> int:
        return len(self.hashes)

    def __or__(self, other: Self) -> Self:
        return type(self)(np.unique(np.concatenate([self.hashes, other.hashes]), axis=0))

    def among(self, rows: Any) -> NDArray[np.bool_]:
        """Tell which of some rows are among these.

        >>> FittedRows.of(["A red cat."]).among(["a dog", "a red cat"]).tolist()
        [False, True]
        """
        texts, named = _hashes_of(rows).T
        known, known_named = self.hashes.T
        same = np.isin(named, known_named) | np.isin(texts, known[known_named == 0])
        return (texts > 0) & np.where(named > 0, same, np.isin(texts, known))

    def to_file(self) -> tuple[dict[str, Any], bytes]:
        """Return what a configuration says of them, and the content of their file."""
        from safetensors.numpy import save

        content = save({_TENSOR: np.ascontiguousarray(self.hashes)})
        return {"rows": len(self), "sha256": sha256_of_parts([content])}, content

    @classmethod
    def read(cls, folder: Path, config: Mapping[str, Any]) -> Self | None:
        """Return those of a checkpoint, None where it does not record them.

        Raises:
            CheckpointError: the file is missing, damaged or another checkpoint's.
        """
        facts = config.get(KEY)
        if facts is None:
            return None
        path = folder / FITTED_ROWS
        try:
            content = path.read_bytes()
            if sha256_of_parts([content]) != facts["sha256"]:
                raise ValueError("its sha256 differs")
            hashes = load_tensors(content, path.name)[_TENSOR]
            if hashes.dtype != np.uint64 or hashes.shape != (facts["rows"], 2):
                raise ValueError(f"it holds {hashes.dtype} {hashes.shape}")
        except (OSError, KeyError, ValueError, TypeError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise CheckpointError(
                f"{path} is missing, damaged or of another {CONFIG} ({reason:.80}); {_REMEDY}"
            ) from None
        return cls(hashes)


def _hashes_of(rows: Any) -> NDArray[np.uint64]:
    """Return the hashes of each row in their order; both are 0 where a prompt is blank."""
    rows = rows if hasattr(rows, "__getitem__") else list(rows)
    hashes = np.zeros((len(prompts := read_prompts(rows)), 2), np.uint64)
    for place, (prompt, name) in enumerate(zip(prompts, read_ids(rows), strict=True)):
        text = normalise(prompt)
        if text:
            lasting = name if name is not None and _LASTING.fullmatch(name) else None
            named = 0 if lasting is None else _hash_of(f"{lasting}\0{text}")
            hashes[place] = _hash_of(text), named
    return hashes


def _hash_of(text: str) -> int:
    return int(sha256_of_parts([text])[:16], 16) or 1
