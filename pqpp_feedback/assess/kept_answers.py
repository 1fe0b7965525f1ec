"""Answers of models that cost something, kept by what was asked: a second run asks nothing."""

import hashlib
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from pqpp_files.foreign.json_values import read_json
from pqpp_files.hashes import sha256_of_parts
from pqpp_files.paths import expanded
from pqpp_files.write_beside import write_whole


class KeptAnswers:
    """A folder of answers, a file each.

    Args:
        folder: None keeps none.

    Example:
        >>> import tempfile
        >>> kept = KeptAnswers(tempfile.mkdtemp())
        >>> kept.of(["a", "b"], lambda: {"said": "yes"}), kept.of(["a", "b"], lambda: {})
        ({'said': 'yes'}, {'said': 'yes'})
    """

    def __init__(self, folder: str | Path | None = None) -> None:
        self._folder = expanded(folder) if folder else None

    def of(self, asked: Sequence[str], ask: Callable[[], Any]) -> Any:
        """Return the answer to what was asked, kept or new.

        Args:
            asked: All that it depends on.
            ask: Gives a new answer, of values that JSON holds.

        Raises:
            FileError: The kept file is damaged.
        """
        if self._folder is None:
            return ask()
        key = sha256_of_parts("\n".join(asked))
        path = self._folder / key[:2] / f"{key}.json"
        if path.is_file():
            return read_json(path)
        answer = ask()
        path.parent.mkdir(parents=True, exist_ok=True)
        write_whole(path, json.dumps(answer))
        return answer


def pixel_hash(image: Any) -> str:
    """Return the hash of an image of PIL, whatever file it came from.

    Example:
        >>> from PIL import Image
        >>> len(pixel_hash(Image.new("RGB", (2, 2))))
        64
    """
    return hashlib.sha256(f"{image.size}".encode() + image.tobytes()).hexdigest()
