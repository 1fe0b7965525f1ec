"""Damaged and malicious folders of models: a sound one, changed as a case's seed says."""

import hashlib
import json
import os
import pickle
import stat
from pathlib import Path

import numpy as np

from fuzz.hostile_json import hostile_json

_HASHES = {"model.safetensors": "weights_sha256"}
_CODE = "import os, pathlib\npathlib.Path({canary!r}).write_text('ran')\n"


class _Runs:
    """What runs a function when it is unpickled."""

    def __init__(self, canary: Path):
        self.canary = canary

    def __reduce__(self):
        return exec, (_CODE.format(canary=str(self.canary)),)


def make_hostile(random: np.random.Generator, folder: Path, room: Path) -> str:
    """Change a sound folder in one or two ways, and say how.

    Args:
        random: Decides.
        folder: Is changed.
        room: Its folder, which also holds `secret` with files that nobody may open, and where a
            file `canary` tells that something was executed.
    """
    said = []
    for _ in range(1 if random.random() < 0.8 else 2):
        names = sorted(path.name for path in folder.iterdir() if _is_small(path))
        texts = [name for name in names if name.endswith(".json")]
        ways = [_file] + [_text] * (4 if texts else 0)
        ways += [_weights] * (3 if "model.safetensors" in names else 0)
        way = ways[random.integers(len(ways))]
        said.append(f"{way.__name__[1:]}: {way(random, folder, room)}")
    if random.random() < 0.85:
        _hash_again(folder)
    return "; ".join(said)


def _hash_again(folder: Path) -> None:
    """Let the configuration hold the hashes of what is there, as an attacker would."""
    for name, field in _HASHES.items():
        try:
            if not (_is_small(folder / name) and _is_small(folder / "config.json")):
                continue
            config = json.loads((folder / "config.json").read_text())
            if field in config:
                config[field] = hashlib.sha256((folder / name).read_bytes()).hexdigest()
                (folder / "config.json").write_text(json.dumps(config))
        except (OSError, ValueError, TypeError, RecursionError, MemoryError):
            return


def _is_small(path: Path) -> bool:
    """Tell a plain file that can be read from what an earlier change has put there."""
    try:
        found = path.lstat()
    except OSError:
        return False
    return stat.S_ISREG(found.st_mode) and found.st_size < 2 * 10**8


def _text(random: np.random.Generator, folder: Path, room: Path) -> str:
    names = sorted(path.name for path in folder.glob("*.json") if _is_small(path))
    weights = [4 if name == "config.json" else 1 for name in names]
    name = str(random.choice(names, p=np.array(weights) / sum(weights)))
    try:
        text = (folder / name).read_text()
        json.loads(text)
    except (ValueError, RecursionError):  # changed before
        return "again"
    made = hostile_json(random, text)
    (folder / name).write_bytes(made)
    return f"{name} {made[:60]!r}"


def _weights(random: np.random.Generator, folder: Path, room: Path) -> str:
    """Damage a file of safetensors: its header, its numbers, or which tensors there are."""
    path = folder / "model.safetensors"
    raw = path.read_bytes()
    length = int.from_bytes(raw[:8], "little")
    if len(raw) < 9 or length > len(raw):
        return "again"
    try:
        header, data = json.loads(raw[8 : 8 + length]), raw[8 + length :]
    except (ValueError, RecursionError):
        return "again"
    names = [name for name in header if name != "__metadata__"]
    name = names[random.integers(len(names))]
    entry = header[name]
    other = header[names[random.integers(len(names))]]
    cut = int(random.integers(1, len(raw)))
    start, end = entry["data_offsets"]

    def whole(head: object, rest: bytes = data) -> bytes:
        text = head if isinstance(head, bytes) else json.dumps(head).encode()
        return len(text).to_bytes(8, "little") + text + rest

    def with_entry(**fields: object) -> bytes:
        return whole(header | {name: {**entry, **fields}})

    def numbers(value: float) -> bytes:
        kinds = {"F32": np.float32, "F16": np.float16, "F64": np.float64}
        kind = kinds.get(entry["dtype"], np.uint8)
        part = np.frombuffer(data[start:end], kind).copy()
        part[: 1 + len(part) // 3] = value if kind is not np.uint8 else 255
        return whole(header, data[:start] + part.tobytes() + data[end:])

    ways = {
        "cut": lambda: raw[:cut],
        "byte": lambda: raw[:cut] + bytes([raw[cut] ^ 255]) + raw[cut + 1 :],
        "length": lambda: (2**63 + 5).to_bytes(8, "little") + raw[8:],
        "overlap": lambda: with_entry(data_offsets=other["data_offsets"]),
        "behind": lambda: with_entry(data_offsets=[start, end + 10**12]),
        "dtype": lambda: with_entry(dtype=str(random.choice(["I64", "BF16", "F8_E4M3", "Q", ""]))),
        "shape": lambda: with_entry(shape=[int(n) for n in random.integers(0, 9, 3)]),
        "huge and empty": lambda: with_entry(shape=[2**62, 0], data_offsets=[start, start]),
        "less": lambda: whole({key: value for key, value in header.items() if key != name}),
        "deep": lambda: whole(b'{"a":' * 10**5 + b"1" + b"}" * 10**5),
        "many": lambda: whole(json.dumps({f"a{n}": entry for n in range(2 * 10**5)}).encode()),
        "twice": lambda: whole(
            json.dumps(header).encode()[:-1]
            + f", {json.dumps(name)}: {json.dumps(entry)}}}".encode()
        ),
        "NaN": lambda: numbers(np.nan),
        "pickle": lambda: pickle.dumps(_Runs(room / "canary")),
    }
    way = str(random.choice(list(ways)))
    path.write_bytes(ways[way]())
    return f"{way} of {name}"


def _file(random: np.random.Generator, folder: Path, room: Path) -> str:
    """Take a file away, put another kind of thing in its place, or something beside it."""
    names = sorted(path.name for path in folder.iterdir())
    name = names[random.integers(len(names))]
    path, secret = folder / name, room / "secret"
    code = _CODE.format(canary=str(room / "canary"))
    evil = pickle.dumps(_Runs(room / "canary"))

    def instead(make) -> None:
        path.unlink(missing_ok=True) if not path.is_dir() else path.rmdir()
        make()

    def sparse() -> None:
        with path.open("r+b") as file:
            file.truncate(10**8)

    def beside(other: str, content: str | bytes) -> None:
        content = content.encode() if isinstance(content, str) else content
        (folder / other).parent.mkdir(exist_ok=True)
        (folder / other).write_bytes(content)

    def pickled() -> None:
        (folder / "model.safetensors").unlink(missing_ok=True)
        for other in ("pytorch_model.bin", "model.pt", "tf_model.h5", "weights.pkl"):
            beside(other, evil)

    index = json.dumps({"metadata": {}, "weight_map": {"a": "../secret/weights.safetensors"}})
    template = "{% for c in ''.__class__.__base__.__subclasses__() %}{{ c }}{% endfor %}"
    adapter = {"base_model_name_or_path": "someone/else", "peft_type": "LORA"}
    adapter |= {"auto_mapping": {"parent_library": "os", "base_model_class": "system"}}
    ways = {
        "gone": path.unlink,
        "folder": lambda: instead(path.mkdir),
        "link out": lambda: instead(lambda: path.symlink_to(secret / "weights.safetensors")),
        "link to itself": lambda: instead(lambda: path.symlink_to(name)),
        "zeros": lambda: instead(lambda: path.symlink_to("/dev/zero")),
        "pipe": lambda: instead(lambda: os.mkfifo(path)),
        "pickles": pickled,
        "index": lambda: beside("model.safetensors.index.json", index),
        "adapter": lambda: (
            beside("adapter_config.json", json.dumps(adapter)),
            beside("adapter_model.bin", evil),
        ),
        "code": lambda: [
            beside(one, code)
            for one in ("modeling_bert_predictor.py", "__init__.py", "theirs.py", "conftest.py")
        ],
        "template": lambda: beside("chat_template.jinja", template),
        "card": lambda: beside(
            "README.md", "---\na: &a [x]\nb: !!python/object/apply:os.system ['x']\n---\n"
        ),
    }
    way = str(random.choice(list(ways)))
    ways[way]()
    return f"{way} {name}"
