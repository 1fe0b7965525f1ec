"""The lexical predictor's arithmetic once more: one prompt at a time, plain loops, no sharing.

Reads the saved files only, so that what is shipped is what is checked.
"""

import json
import math
import re
import unicodedata
from collections import Counter
from itertools import combinations, pairwise
from pathlib import Path

from safetensors.numpy import load_file

_FUNCTION_WORDS = """
a an the this that some its it his her their there of in on at to with by for from and is are
"""
FUNCTION_WORDS = set(_FUNCTION_WORDS.split())
KINDS = ("word", "bigram", "chars", "pair")


class Reference:
    """Predicts from a folder's files."""

    def __init__(self, folder: Path):
        config = json.loads((folder / "config.json").read_text())
        self.targets = config["targets"]
        self.n_prompts = config["index"]["n_prompts"]
        self.tensors = load_file(folder / "model.safetensors")
        self.words = self._texts("word.text")
        size = len(self.words)
        names = {kind: [] for kind in KINDS}
        names["word"] = [(word,) for word in self.words]
        names["chars"] = self._texts("chars.text")
        for kind in ("bigram", "pair"):
            keys = [divmod(int(key), size) for key in self.tensors[f"{kind}.keys"]]
            names[kind] = [(self.words[a], self.words[b]) for a, b in keys]
        names["pair"] = [tuple(sorted(pair)) for pair in names["pair"]]
        self.numbers = {kind: {name: i for i, name in enumerate(names[kind])} for kind in KINDS}

    def _texts(self, name: str) -> list[str]:
        text = self.tensors[name].tobytes().decode("utf-8")
        return text.split("\n") if text else []

    def frequency(self, kind: str, name) -> int:
        number = self.numbers[kind].get(name)
        table = self.tensors[f"{kind}.frequency"]
        if number is None:
            return 0
        return int(table[number]) if number < len(table) else 1

    def predict(self, prompt: str) -> list[float]:
        grams = ngrams(prompt)
        dense = surface(prompt) if any(word[0].isalnum() for (word,) in grams["word"]) else None
        features = dense or [None] * 7
        for kind in KINDS:
            features += self._rarity(kind, grams[kind])
        features += self._association(grams["pair"])
        return [self._target(t, grams, features) for t in range(len(self.targets))]

    def _rarity(self, kind: str, found: list) -> list:
        if not found:
            return [None] * 5
        counts = [self.frequency(kind, name) for name in found]
        rare = [math.log((self.n_prompts + 1) / (count + 1)) for count in counts]
        mean, deviation = mean_and_deviation(rare)
        return [mean, max(rare), deviation, sum(rare), counts.count(0) / len(counts)]

    def _association(self, pairs: list) -> list:
        if not pairs:
            return [None] * 4
        values = []
        for pair in pairs:
            together = self.frequency("pair", pair) + 0.25
            alone = [self.frequency("word", (word,)) + 0.5 for word in pair]
            values.append(math.log(together * self.n_prompts / (alone[0] * alone[1])))
        mean, deviation = mean_and_deviation(values)
        return [mean, max(values), min(values), deviation]

    def _target(self, target: int, grams: dict, features: list) -> float:
        score = float(self.tensors["intercept"][target])
        for number, value in enumerate(features):
            if value is None:
                continue
            centre = float(self.tensors["dense.mean"][number])
            scaled = (value - centre) / float(self.tensors["dense.deviation"][number])
            scaled = min(max(scaled, -4.0), 4.0)
            score += scaled * float(self.tensors["dense.weights"][number, target])
        for kind in KINDS:
            score += self._ngram_score(kind, grams[kind], target)
        low, high = (-1.0, 2.0) if self.targets[target].endswith("hbpp") else (0.0, 1.0)
        return min(max(score, low), high)

    def _ngram_score(self, kind: str, found: list, target: int) -> float:
        table = self.tensors[f"{kind}.frequency"]
        values = {}
        for name, count in Counter(found).items():
            number = self.numbers[kind].get(name)
            if number is not None and number < len(table):
                idf = math.log((1 + self.n_prompts) / (1 + int(table[number]))) + 1
                values[number] = (1 + math.log(count)) * idf
        length = math.sqrt(sum(value * value for value in values.values()))
        weights, scale = self.tensors[f"{kind}.weights"], self.tensors[f"{kind}.scale"]
        return sum(
            value / length * int(weights[number, target]) * float(scale[target])
            for number, value in values.items()
        )


def ngrams(prompt: str) -> dict[str, list]:
    text = unicodedata.normalize("NFKC", prompt[:2000]).replace("\u2019", "'").lower()
    words = re.findall(r"\w+(?:'\w+)?|[^\w\s]", text)
    chars = []
    for word in words:
        framed = f" {word[:40]} "
        chars += [framed[i : i + n] for n in (2, 3, 4, 5) for i in range(len(framed) - n + 1)]
    content = []
    for word in words:
        if word[0].isalnum() and word not in FUNCTION_WORDS and word not in content:
            content.append(word)
    pairs = [tuple(sorted(pair)) for pair in combinations(content[:40], 2)]
    return {
        "word": [(word,) for word in words],
        "bigram": list(pairwise(words)),
        "chars": chars,
        "pair": pairs,
    }


def surface(prompt: str) -> list[float]:
    lengths = [len(word) for (word,) in ngrams(prompt)["word"] if word[0].isalnum()]
    text = prompt.strip()
    return [
        len(lengths),
        math.log(1 + len(lengths)),
        len(text),
        math.log(1 + len(text)),
        sum(lengths) / len(lengths),
        max(lengths),
        float(text.endswith(".")),
    ]


def mean_and_deviation(values: list[float]) -> tuple[float, float]:
    mean = sum(values) / len(values)
    return mean, math.sqrt(sum((value - mean) ** 2 for value in values) / len(values))
