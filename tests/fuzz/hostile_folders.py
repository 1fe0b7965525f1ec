"""Damaged and malicious folders of models: an undamaged one, changed by a case's seed."""

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


class _RunsCode:
    """An object that runs code when it is unpickled."""

    def __init__(self, canary: Path):
        self.canary = canary

    def __reduce__(self):
        return exec, (_CODE.format(canary=str(self.canary)),)


def make_hostile(random: np.random.Generator, folder: Path, room: Path) -> str:
    """Change an undamaged folder in one or two ways, and return a description of them.

    Args:
        random: Chooses the changes.
        folder: The folder to change.
        room: Its parent, which also contains a folder `secret` with files that must not be opened;
            a file `canary` in it shows that code was executed.
    """
    changes = []
    for _ in range(1 if random.random() < 0.8 else 2):
        names = sorted(path.name for path in folder.iterdir() if _is_small(path))
        json_names = [name for name in names if name.endswith(".json")]
        ways = [_change_file] + [_change_text] * (4 if json_names else 0)
        ways += [_change_weights] * (3 if "model.safetensors" in names else 0)
        way = ways[random.integers(len(ways))]
        changes.append(f"{way.__name__[1:]}: {way(random, folder, room)}")
    if random.random() < 0.85:
        _update_hashes(folder)
    return "; ".join(changes)


def _update_hashes(folder: Path) -> None:
    """Write the hashes of the changed files to the configuration, as an attacker would."""
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
    """Return whether a path is a plain file of a size that can be read."""
    try:
        status = path.lstat()
    except OSError:
        return False
    return stat.S_ISREG(status.st_mode) and status.st_size < 2 * 10**8


def _change_text(random: np.random.Generator, folder: Path, room: Path) -> str:
    names = sorted(path.name for path in folder.glob("*.json") if _is_small(path))
    weights = [4 if name == "config.json" else 1 for name in names]
    name = str(random.choice(names, p=np.array(weights) / sum(weights)))
    try:
        text = (folder / name).read_text()
        json.loads(text)
    except (ValueError, RecursionError):  # changed before
        return "again"
    changed = hostile_json(random, text)
    (folder / name).write_bytes(changed)
    return f"{name} {changed[:60]!r}"


def _change_weights(random: np.random.Generator, folder: Path, room: Path) -> str:
    """Damage a file of safetensors: its header, its numbers, or its tensors' names."""
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

    def encode(value: object, tensors: bytes = data) -> bytes:
        text = value if isinstance(value, bytes) else json.dumps(value).encode()
        return len(text).to_bytes(8, "little") + text + tensors

    def with_entry(**fields: object) -> bytes:
        return encode(header | {name: {**entry, **fields}})

    def fill(value: float) -> bytes:
        types = {"F32": np.float32, "F16": np.float16, "F64": np.float64}
        dtype = types.get(entry["dtype"], np.uint8)
        values = np.frombuffer(data[start:end], dtype).copy()
        values[: 1 + len(values) // 3] = value if dtype is not np.uint8 else 255
        return encode(header, data[:start] + values.tobytes() + data[end:])

    ways = {
        "cut": lambda: raw[:cut],
        "byte": lambda: raw[:cut] + bytes([raw[cut] ^ 255]) + raw[cut + 1 :],
        "length": lambda: (2**63 + 5).to_bytes(8, "little") + raw[8:],
        "overlap": lambda: with_entry(data_offsets=other["data_offsets"]),
        "behind": lambda: with_entry(data_offsets=[start, end + 10**12]),
        "dtype": lambda: with_entry(dtype=str(random.choice(["I64", "BF16", "F8_E4M3", "Q", ""]))),
        "shape": lambda: with_entry(shape=[int(n) for n in random.integers(0, 9, 3)]),
        "huge and empty": lambda: with_entry(shape=[2**62, 0], data_offsets=[start, start]),
        "less": lambda: encode({key: value for key, value in header.items() if key != name}),
        "deep": lambda: encode(b'{"a":' * 10**5 + b"1" + b"}" * 10**5),
        "many": lambda: encode(json.dumps({f"a{n}": entry for n in range(2 * 10**5)}).encode()),
        "twice": lambda: encode(
            json.dumps(header).encode()[:-1]
            + f", {json.dumps(name)}: {json.dumps(entry)}}}".encode()
        ),
        "NaN": lambda: fill(np.nan),
        "pickle": lambda: pickle.dumps(_RunsCode(room / "canary")),
    }
    way = str(random.choice(list(ways)))
    path.write_bytes(ways[way]())
    return f"{way} of {name}"


def _change_file(random: np.random.Generator, folder: Path, room: Path) -> str:
    """Remove a file, replace it by another kind of file, or add another file."""
    names = sorted(path.name for path in folder.iterdir())
    name = names[random.integers(len(names))]
    path, secret = folder / name, room / "secret"
    code = _CODE.format(canary=str(room / "canary"))
    pickled_code = pickle.dumps(_RunsCode(room / "canary"))

    def replace(make) -> None:
        path.unlink(missing_ok=True) if not path.is_dir() else path.rmdir()
        make()

    def sparse() -> None:
        with path.open("r+b") as file:
            file.truncate(10**8)

    def add(other: str, content: str | bytes) -> None:
        content = content.encode() if isinstance(content, str) else content
        (folder / other).parent.mkdir(exist_ok=True)
        (folder / other).write_bytes(content)

    def replace_by_pickles() -> None:
        (folder / "model.safetensors").unlink(missing_ok=True)
        for other in ("pytorch_model.bin", "model.pt", "tf_model.h5", "weights.pkl"):
            add(other, pickled_code)

    index = json.dumps({"metadata": {}, "weight_map": {"a": "../secret/weights.safetensors"}})
    template = "{% for c in ''.__class__.__base__.__subclasses__() %}{{ c }}{% endfor %}"
    adapter = {"base_model_name_or_path": "someone/else", "peft_type": "LORA"}
    adapter |= {"auto_mapping": {"parent_library": "os", "base_model_class": "system"}}
    ways = {
        "gone": path.unlink,
        "folder": lambda: replace(path.mkdir),
        "link out": lambda: replace(lambda: path.symlink_to(secret / "weights.safetensors")),
        "link to itself": lambda: replace(lambda: path.symlink_to(name)),
        "zeros": lambda: replace(lambda: path.symlink_to("/dev/zero")),
        "pipe": lambda: replace(lambda: os.mkfifo(path)),
        "pickles": replace_by_pickles,
        "index": lambda: add("model.safetensors.index.json", index),
        "adapter": lambda: (
            add("adapter_config.json", json.dumps(adapter)),
            add("adapter_model.bin", pickled_code),
        ),
        "code": lambda: [
            add(other, code)
            for other in ("modeling_bert_predictor.py", "__init__.py", "theirs.py", "conftest.py")
        ],
        "template": lambda: add("chat_template.jinja", template),
        "card": lambda: add(
            "README.md", "---\na: &a [x]\nb: !!python/object/apply:os.system ['x']\n---\n"
        ),
    }
    way = str(random.choice(list(ways)))
    ways[way]()
    return f"{way} {name}"
