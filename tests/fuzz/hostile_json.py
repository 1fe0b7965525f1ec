"""Damaged and malicious JSON, made from an undamaged text and a seed."""

import copy
import json
from collections.abc import Callable

import numpy as np

CODE_FIELDS = {
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


def _choose_value(random: np.random.Generator) -> object:
    values = _NUMBERS if random.random() < 0.5 else _ODD
    return values[random.integers(len(values))]


def _find_places(value: object) -> list[tuple]:
    """Return pairs of each mapping or list of a tree and a key or index in it."""
    places, queue = [], [value]
    while queue:
        container = queue.pop()
        keys = list(container) if isinstance(container, dict) else range(len(container))
        places += [(container, key) for key in keys][:50]
        queue += [container[key] for key in keys if isinstance(container[key], dict | list)]
    return places


def _change_values(random: np.random.Generator, content: object) -> None:
    """Change one to three values somewhere in a tree."""
    for _ in range(random.integers(1, 4)):
        places = _find_places(content)
        if not places:
            return
        values, key = places[random.integers(len(places))]
        way = random.random()
        if way < 0.75:
            values[key] = copy.deepcopy(_choose_value(random))
        elif way < 0.85:
            del values[key]
        else:
            other, index = places[random.integers(len(places))]
            values[key] = json.loads(json.dumps(other[index])) if index in other else None


def _add_code(random: np.random.Generator, content: object) -> None:
    """Add a field that names code, or another file, somewhere in a tree."""
    dicts = [container for container, _ in _find_places(content) if isinstance(container, dict)]
    at = content if random.random() < 0.6 or not dicts else dicts[random.integers(len(dicts))]
    key = list(CODE_FIELDS)[random.integers(len(CODE_FIELDS))]
    if isinstance(at, dict):
        at[key] = CODE_FIELDS[key]


def _make_invalid_text(random: np.random.Generator, text: str) -> bytes:
    """Return invalid, unusual or very large JSON."""
    cut = int(random.integers(len(text)))
    depth = int(random.choice([500, 900, 5000, 10**6]))
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
        lambda: raw.rstrip()[:-1] + b', "last": ' + b"[" * depth + b"]" * depth + b"}",
        lambda: raw.rstrip()[:-1] + b', "last": ' + b'{"a":' * depth + b"1" + b"}" * depth + b"}",
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
    """Return the content of a JSON file in an untrusted folder, made from an undamaged one."""
    ways: list[Callable] = [_change_values, _change_values, _change_values, _add_code]
    choice = int(random.integers(len(ways) + 1))
    if choice == len(ways):
        return _make_invalid_text(random, text)
    content = json.loads(text)
    ways[choice](random, content)
    return json.dumps(content, ensure_ascii=bool(random.integers(2))).encode(errors="surrogatepass")
