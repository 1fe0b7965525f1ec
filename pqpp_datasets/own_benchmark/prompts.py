"""The prompts of several files under one numbering: a prompt is its text and its source."""

from collections.abc import Mapping

import numpy as np

from pqpp_datasets.errors import DataFileError
from pqpp_datasets.own_benchmark.judgment_files import Coded, Columns, pairs_of

COLUMNS = ("source", "prompt_id", "category")
DEFAULT_SOURCE = "own"


class Prompts:
    """Prompts in the order in which the files bring them.

    A row without a source stands for the text's only source in any of the files, so all files are
    learned before the first is numbered.

    Attributes:
        keys: (source, text) of each prompt.

    Example:
        >>> cat, named = Coded(np.zeros(1, np.int32), ["A cat."]), Coded(np.zeros(1, int), ["coco"])
        >>> prompts, runs = Prompts(), Columns(prompt=cat)
        >>> prompts.learn({"prompt": cat, "source": named})
        >>> prompts.number(runs).tolist(), prompts.keys
        ([0], [('coco', 'A cat.')])
    """

    def __init__(self):
        self.keys: list[tuple[str, str]] = []
        self._numbers: dict[tuple[str, str], int] = {}
        self._known: dict[str, dict[int, str]] = {"prompt_id": {}, "category": {}}
        self._sources: dict[str, set[str]] = {}

    def learn(self, columns: Mapping[str, Coded]) -> None:
        """Take in which sources a file names for each text.

        Args:
            columns: As for `number`.
        """
        if "source" not in columns:
            return
        prompt, source = columns["prompt"], columns["source"]
        for row in pairs_of(source, prompt)[1]:
            if name := source.names[source.codes[row]]:
                text = prompt.names[prompt.codes[row]]
                self._sources.setdefault(text, set()).add(name)

    def number(self, columns: Columns) -> np.ndarray:
        """Return the number of each row's prompt, taking in those that are new.

        Args:
            columns: With `prompt`, and `source`, `prompt_id`, `category` where there are any.

        Raises:
            DataFileError: If one prompt comes with two ids or categories, or a row has no source
                and its text several.
        """
        prompt = columns["prompt"]
        source = columns.get("source") or Coded(np.zeros_like(prompt.codes), [""])
        codes, first = pairs_of(source, prompt)
        numbers = np.empty(len(first), np.int64)
        for code in np.argsort(first):
            row = first[code]
            text = prompt.names[prompt.codes[row]]
            key = (source.names[source.codes[row]] or self._only_source(columns, row, text), text)
            if key not in self._numbers:
                self._numbers[key] = len(self.keys)
                self.keys.append(key)
            numbers[code] = self._numbers[key]
        found = numbers[codes]
        for name, known in self._known.items():
            if name in columns:
                self._take_in(columns, name, known, found)
        return found

    def _only_source(self, columns: Columns, row: int, text: str) -> str:
        known = sorted(self._sources.get(text, ())) or [DEFAULT_SOURCE]
        if len(known) > 1:
            raise DataFileError(
                f"{columns.places.of(row)}: no source came for {text!r:.60}, which other rows have "
                f"from {', '.join(known)[:100]}; name the source"
            )
        return known[0]

    def _take_in(self, columns: Columns, name: str, known: dict, numbers: np.ndarray) -> None:
        column = columns[name]
        numbered = Coded(numbers, [""] * len(self.keys))
        _, first = pairs_of(numbered, column)
        for row in np.sort(first):
            value = column.names[column.codes[row]]
            earlier = known.setdefault(int(numbers[row]), value)
            if earlier != value:
                raise DataFileError(
                    f"{columns.places.of(row)}: {columns.said(name)} is {value!r:.60}, an "
                    f"earlier row of the same prompt has {earlier!r:.60}; give one of them"
                )

    def split_keys(self) -> list[str]:
        """Return what the split goes by: the user's own id, else source and text.

        An id that is made here counts the rows of a file, whose order must not move a prompt.
        """
        own = self._known["prompt_id"]
        return [own.get(n) or "\0".join(key) for n, key in enumerate(self.keys)]

    def identities(self) -> dict[str, list]:
        """Return the columns `prompt_id`, `source`, `prompt`, `caption_id`, `image_id`, `category`.

        Where the files give no id, it is `<source>-<n>`, n counting the prompts of that source.

        Raises:
            DataFileError: If two prompts have one id.
        """
        counted: dict[str, int] = {}
        ids = []
        for number, (source, _) in enumerate(self.keys):
            own = f"{source}-{counted.get(source, 0)}"
            counted[source] = counted.get(source, 0) + 1
            ids.append(self._known["prompt_id"].get(number) or own)
        seen: dict[str, int] = {}
        for number, prompt_id in enumerate(ids):
            if seen.setdefault(prompt_id, number) != number:
                texts = [self.keys[n][1][:40] for n in (seen[prompt_id], number)]
                raise DataFileError(
                    f"prompt_id {prompt_id!r} stands for {texts[0]!r} and {texts[1]!r}; give each "
                    "prompt an id of its own"
                )
        categories = self._known["category"]
        return {
            "prompt_id": ids,
            "source": [source for source, _ in self.keys],
            "prompt": [text for _, text in self.keys],
            "caption_id": [None] * len(ids),
            "image_id": [None] * len(ids),
            "category": [categories.get(number) or None for number in range(len(ids))],
        }
