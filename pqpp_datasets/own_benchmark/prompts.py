"""The prompts of several files under one numbering: a prompt is its text and its source."""

from collections.abc import Mapping

import numpy as np

from pqpp_datasets.errors import DataFileError
from pqpp_datasets.own_benchmark.judgment_files import Coded, Columns, pairs_of
from pqpp_datasets.own_benchmark.splits import stratified_split
from pqpp_datasets.prompt_text import normalise

COLUMNS = ("source", "prompt_id", "category")
_NONE = {"source": "own", "prompt_id": ""}


class Prompts:
    """Prompts in the order in which the files bring them.

    A row without a source stands for the text's only source in any of the files, so all files are
    learned before the first is numbered.

    Args:
        same_text: Whether prompts of one text and source that have ids of their own are prompts of
            their own; they come to one split. Otherwise they are refused.

    Attributes:
        keys: (source, text) of each prompt.

    Example:
        >>> cat, named = Coded(np.zeros(1, np.int32), ["A cat."]), Coded(np.zeros(1, int), ["coco"])
        >>> prompts, runs = Prompts(), Columns(prompt=cat)
        >>> prompts.learn({"prompt": cat, "source": named})
        >>> prompts.number(runs).tolist(), prompts.keys
        ([0], [('coco', 'A cat.')])
    """

    def __init__(self, same_text: bool = False):
        self.keys: list[tuple[str, str]] = []
        self._same_text = same_text
        self._numbers: dict[tuple[str, str, str], int] = {}
        self._known: dict[str, dict[int, str]] = {"prompt_id": {}, "category": {}}
        # What files name for a text: its sources, and its ids where one text may have several.
        self._named: dict[str, dict[str, set[str]]] = {"source": {}, "prompt_id": {}}

    def learn(self, columns: Mapping[str, Coded]) -> None:
        """Take in which sources and ids a file names for each text.

        Args:
            columns: As for `number`.
        """
        prompt = columns["prompt"]
        for role, known in self._named.items():
            if role not in columns or (role == "prompt_id" and not self._same_text):
                continue
            column = columns[role]
            for row in pairs_of(column, prompt)[1]:
                if name := column.names[column.codes[row]]:
                    known.setdefault(prompt.names[prompt.codes[row]], set()).add(name)

    def number(self, columns: Columns) -> np.ndarray:
        """Return the number of each row's prompt, taking in those that are new.

        Args:
            columns: With `prompt`, and `source`, `prompt_id`, `category` where there are any.

        Raises:
            DataFileError: If one prompt comes with two ids or categories, or a row has no source
                and its text several.
        """
        prompt = columns["prompt"]
        nothing = Coded(np.zeros_like(prompt.codes), [""])
        source, own = columns.get("source") or nothing, nothing
        if self._same_text:
            own = columns.get("prompt_id") or nothing
        codes, first = pairs_of(source, prompt, own)
        numbers = np.empty(len(first), np.int64)
        for code in np.argsort(first):
            row = first[code]
            text = prompt.names[prompt.codes[row]]
            name = source.names[source.codes[row]] or self._only(columns, row, text, "source")
            own_id = own.names[own.codes[row]]
            if self._same_text and not own_id:
                own_id = self._only(columns, row, text, "prompt_id")
            key = (name, text, own_id)
            if key not in self._numbers:
                self._numbers[key] = len(self.keys)
                self.keys.append(key[:2])
            numbers[code] = self._numbers[key]
        found = numbers[codes]
        for name, known in self._known.items():
            if name in columns:
                self._take_in(columns, name, known, found)
        return found

    def _only(self, columns: Columns, row: int, text: str, role: str) -> str:
        """Return the one source or id that files name for a text, or what stands for none."""
        known = sorted(self._named[role].get(text, ())) or [_NONE[role]]
        if len(known) > 1:
            raise DataFileError(
                f"{columns.places.of(row)}: no {role} came for {text!r:.60}, which other rows have "
                f"from {', '.join(known)[:100]}; name the {role}"
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
                    + (", or choose --same-text keep" if name == "prompt_id" else "")
                )

    def splits(self, fractions: Mapping[str, float], seed: int) -> list[str]:
        """Return the split of each prompt, as `stratified_split` deals them out by source.

        A prompt goes by the user's own id, else by source and text: an id that is made here counts
        the rows of a file, whose order must not move a prompt. Prompts of one text, however it is
        typed, are dealt out as one, by the first of their sources and ids: "A dog." and "a dog"
        never stand in two splits.
        """
        own = self._known["prompt_id"]
        first: dict[str, tuple[str, str]] = {}
        spelled = [normalise(text) for _, text in self.keys]
        for number, (source, text) in enumerate(self.keys):
            place = (source, own.get(number) or f"{source}\0{text}")
            first[spelled[number]] = min(first.get(spelled[number], place), place)
        sources, ids = zip(*first.values(), strict=True)
        found = dict(zip(first, stratified_split(ids, sources, fractions, seed), strict=True))
        return [found[text] for text in spelled]

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
