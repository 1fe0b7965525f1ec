"""Damaged and malicious JSON: a text for a text, from a seed."""

import copy
import json
from collections.abc import Callable

import numpy as np

CODE = {
    "auto_map": {"AutoModel": "someone/else--model.Theirs", "AutoTokenizer": ["x--y.Z", None]},
    "custom_pipelines": {"x": {"impl": "theirs.Pipeline", "pt": ["AutoModel"]}},
    "custom_pipeline": "theirs",
    "custom_generate": "someone/else",
    "trust_remote_code": True,
    "tokenizer_class": "os.system",
    "processor_class": "subprocess.Popen",
    "_target_": "os.system",
    "py/reduce": ["os.system", ["touch canary"]],
    "quantization_config": {"quant_method": "theirs", "modules_to_not_convert": ["*"]},
    "adapter": "someone/else",
    "transformers_weights": "../secret/weights.safetensors",
    "chat_template": "{{ ''.__class__.__mro__[1].__subclasses__() }}",
    "vocab_file": "../secret/vocab.txt",
    "tokenizer_file": "../secret/tokenizer.json",
    "name_or_path": "../secret",
    "_name_or_path": "../secret",
}
_NUMBERS = (0, -1, 1, 3, 2**31, 2**63, 10**7, 10**30, 0.5, -0.5, 1e308, float("nan"), float("inf"))
_ODD = (None, True, False, "", "0", "a", "\x1b[2J\n", "é" * 9, "a" * 10**6, "${HF_TOKEN}")
_ODD += ("../secret", [], {}, [[]], [None], [1, "a"], {"a": {"b": []}}, [0] * 10**5, ["a"] * 10**5)


def _odd(random: np.random.Generator) -> object:
    values = _NUMBERS if random.random() < 0.5 else _ODD
    return values[random.integers(len(values))]


def _places(value: object) -> list[tuple]:
    """Return each mapping or list of a tree, with the keys or places in it."""
    found, left = [], [value]
    while left:
        one = left.pop()
        keys = list(one) if isinstance(one, dict) else range(len(one))
        found += [(one, key) for key in keys][:50]
        left += [one[key] for key in keys if isinstance(one[key], dict | list)]
    return found


def _changed(random: np.random.Generator, content: object) -> None:
    """Change one to three values somewhere in a tree."""
    for _ in range(random.integers(1, 4)):
        places = _places(content)
        if not places:
            return
        inside, key = places[random.integers(len(places))]
        way = random.random()
        if way < 0.75:
            inside[key] = copy.deepcopy(_odd(random))
        elif way < 0.85:
            del inside[key]
        else:
            other, there = places[random.integers(len(places))]
            inside[key] = json.loads(json.dumps(other[there])) if there in other else None


def _with_code(random: np.random.Generator, content: object) -> None:
    """Put what names code, or another file, somewhere into a tree."""
    inside = [one for one, _ in _places(content) if isinstance(one, dict)]
    at = content if random.random() < 0.6 or not inside else inside[random.integers(len(inside))]
    key = list(CODE)[random.integers(len(CODE))]
    if isinstance(at, dict):
        at[key] = CODE[key]


def _texts(random: np.random.Generator, text: str) -> bytes:
    """Return what is no sound JSON, or more than that."""
    cut = int(random.integers(len(text)))
    deep = int(random.choice([500, 900, 5000, 10**6]))
    raw = text.encode()
    ways = [
        lambda: raw[:cut],
        lambda: raw[:cut] + bytes(random.integers(0, 256, 3, np.uint8)) + raw[cut + 1 :],
        lambda: b"\xef\xbb\xbf" + raw,
        lambda: text.encode("utf-16"),
        lambda: b"",
        lambda: b"[]",
        lambda: b"null",
        lambda: raw + raw,
        lambda: raw.rstrip()[:-1] + b', "last": ' + b"[" * deep + b"]" * deep + b"}",
        lambda: raw.rstrip()[:-1] + b', "last": ' + b'{"a":' * deep + b"1" + b"}" * deep + b"}",
        lambda: raw.rstrip()[:-1] + b', "last": ' + b"9" * 5000 + b"}",
        lambda: raw.rstrip()[:-1] + b', "last": [' + b"[]," * 10**7 + b"1]}",
        lambda: raw.rstrip()[:-1] + b', "last": "' + b"a" * 10**8 + b'"}',
        lambda: raw.replace(b"{", b'{"predictor_type": "static", "targets": [], ', 1),
        lambda: raw.replace(b"{", b'{"\\ud800": 1, ', 1),
        lambda: raw.replace(b"{", b'{"a": NaN, "b": -Infinity, ', 1),
        lambda: b"%YAML\n&a [*a]",
        lambda: bytes(random.integers(0, 256, 300, np.uint8)),
    ]
    return ways[random.integers(len(ways))]()


def hostile_json(random: np.random.Generator, text: str) -> bytes:
    """Return what a JSON file of a foreign folder may hold instead of a sound text."""
    ways: list[Callable] = [_changed, _changed, _changed, _with_code]
    place = int(random.integers(len(ways) + 1))
    if place == len(ways):
        return _texts(random, text)
    content = json.loads(text)
    ways[place](random, content)
    return json.dumps(content, ensure_ascii=bool(random.integers(2))).encode(errors="surrogatepass")
