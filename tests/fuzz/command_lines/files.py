"""The files of a case: most of them good, each named by its kind, some made hostile."""

import csv
import gzip
import io
import json
import pickle
import shutil
from pathlib import Path
from random import Random

import numpy as np

from fuzz.command_lines.damage import ODD_VALUES, damaged, damaged_json, misplaced

_WORDS = ["a", "the", "red", "two", "cat", "dogs", "sign", "riding", "'Hello'", "wave"]
_WORDS += ["on", "under", "without", "seven", "海", "café", "x,y"]
_ODD_TEXTS = (
    "",
    " ",
    "\x1b[2J",
    "a\nb",
    "a\rb",
    "a\r\nb",
    "a\u2028b",
    '"',
    '""',
    "'",
    "a|b",
    "=1+1",
    "\0",
)
_ODD_TEXTS += ("\ufeff", "\ud800", "é" * 300, "x" * 5000, "{{ 1/0 }}", "<b>", "007", "NaN", "1")
_LABELS = ("2", "1", "0", "-1", "high relevance", "low relevance", "no relevance", "unrealistic")
_TABLES = (".csv", ".csv", ".csv", ".tsv", ".json", ".jsonl", ".parquet", ".csv.gz", ".jsonl.gz")
SHAPES = {
    "rankings": "prompt=p# model=one|two rank=1|2|3 annotator=a#",
    "preferences": "prompt=p# model_a=one|three model_b=two choice=a|b|tie annotator=a1|a2",
    "people": "image=#.png matched=yes|no|1|0",
    "choices": "image_a=#.png image_b=0.png choice=a|b|tie",
    "scored": "image=#.png score=1|0|.5 routine=mine angle=TR|LI generator=one|two prompt_id=#",
    "candidates": "prompt=<text> candidate=<text>",
    "captioned": "image=#.png caption=<text>",
}
"""Tables by their columns: what a cell may be, with the number of its row in place of #."""
PLAIN = {
    "ids": (".txt", "".join(f"{n}.png\n" for n in range(12))),
    "bib": (".bib", "@misc{a, title={A}, year={2026}}\n"),
    "password": (".txt", "correct horse battery staple\n"),
    "many": (
        ".txt",
        "".join(f"{w} cat {n}\n" for n in range(10) for w in ("a", "two", "red", "no")),
    ),
    "labels": (".yaml", "good: 2\nbad: 0\n"),
}
_NUMBERS = ("mean_hbpp", "mean_p10", "mean_rr", "mean_rating", "x", "y", "sdxl_hpsv2")


class Bomb:
    """A pickle that would make a file."""

    def __init__(self, canary: Path) -> None:
        self.canary = canary

    def __reduce__(self):
        return Path.touch, (self.canary,)


class Files:
    """Makes files in a folder, and gives the word that names one.

    Args:
        random: Decides everything.
        folder: Where they are made.
        shelf: What `shelf.fill` made.
        canary: A file that must not come to be.
        rate: How often something is hostile.
    """

    def __init__(self, random: Random, folder: Path, shelf: Path, canary: Path, rate: float):
        self.random, self.folder, self.shelf, self.canary = random, folder, shelf, canary
        self.rate, self.made, self.outputs = rate, 0, ""

    def is_hostile(self, share: float = 1.0) -> bool:
        """Decide whether the next thing is hostile."""
        return self.random.random() < self.rate * share

    def text(self) -> str:
        """Return a prompt."""
        if self.is_hostile(0.1):
            return self.random.choice(_ODD_TEXTS)
        return " ".join(self.random.choices(_WORDS, k=self.random.randint(1, 9)))

    def number(self):
        """Return a score."""
        if self.is_hostile(0.05):
            return self.random.choice(ODD_VALUES)
        return round(self.random.random(), self.random.choice((0, 1, 3)))

    def name(self, suffix: str, below: str = "") -> Path:
        """Return a new path."""
        self.made += 1
        return self.folder / below / f"f{self.made}{suffix}"

    def placed(self, path: Path, content: bytes) -> str:
        """Write a file, damaged or misplaced where the case says so."""
        if self.is_hostile(0.5):
            content = damaged(content, self.random)
        path.write_bytes(content)
        if self.is_hostile(0.2):
            return misplaced(path, self.random)
        return path.name

    def written(self, columns: dict[str, list], suffix: str | None = None) -> str:
        """Write a table in any format."""
        suffix = suffix or self.random.choice(_TABLES)
        path, plain = self.name(suffix), suffix.removesuffix(".gz")
        if plain in (".csv", ".tsv"):
            file = io.StringIO()
            separator = "\t" if plain == ".tsv" else self.random.choice(",,,;\t|")
            writer = csv.writer(file, delimiter=separator, lineterminator="\n")
            writer.writerow(columns)
            writer.writerows(map(_cells, zip(*columns.values(), strict=True)))
            content = file.getvalue().encode("utf-8", "surrogatepass")
        elif plain == ".parquet":
            content = _parquet(columns)
        else:
            records = [
                dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
            ]
            if self.is_hostile(0.3):
                records = json.loads(damaged_json(json.dumps(records).encode(), self.random))
            lines = records if plain == ".jsonl" and isinstance(records, list) else [records]
            content = "".join(json.dumps(line) + "\n" for line in lines).encode()
        return self.placed(path, gzip.compress(content, 1) if suffix.endswith(".gz") else content)

    def table(self, suffix: str | None = None) -> str:
        """Write prompts with scores."""
        rows = self.random.choice((1, 3, 12, 12, 30, 30))
        texts = [
            f"{self.text()} {n}" if self.random.random() < 0.9 else self.text() for n in range(rows)
        ]
        columns: dict[str, list] = {"prompt": texts, "prompt_id": [f"p-{n}" for n in range(rows)]}
        columns |= {name: [self.number() for _ in texts] for name in _NUMBERS}
        columns |= {"caption": texts[::-1], "source": [self.random.choice("ab") for _ in texts]}
        if self.is_hostile(0.2):
            columns = dict(self.random.sample(list(columns.items()), self.random.randint(1, 4)))
        return self.written(columns, suffix)

    def sharded(self) -> str:
        """Write prompts in a format that is cut into shards."""
        return self.table(self.random.choice((".csv", ".parquet")))

    def shaped(self, kind: str) -> str:
        """Write one of `SHAPES`."""
        columns: dict[str, list] = {}
        for part in SHAPES[kind].split():
            name, _, cell = part.partition("=")
            drawn = [self.random.choice(cell.split("|")).replace("#", str(n)) for n in range(8)]
            columns[name] = [self.text() if one == "<text>" else one for one in drawn]
        return self._hostile_columns(list(columns), list(zip(*columns.values(), strict=True)))

    def plain(self, kind: str) -> str:
        """Write one of `PLAIN`."""
        suffix, text = PLAIN[kind]
        return self.placed(self.name(suffix), text.encode())

    def captions(self) -> str:
        """Write texts, one on each line, or a table of them."""
        if self.random.random() < 0.5:
            return self.table()
        lines = "".join(f"{self.text()} {n}\n" for n in range(self.random.choice((3, 20))))
        return self.placed(self.name(".txt"), lines.encode("utf-8", "surrogatepass"))

    def scores(self) -> str:
        """Name a column of a table."""
        return f"{self.table()}:{self.random.choice(_NUMBERS)}"

    def votes(self) -> str:
        """Write judgments of images."""
        rows = [
            (f"prompt {p}", f"{p}-{m}.png", m, f"ann{a}", self.random.choice(_LABELS), a == 0)
            for p in range(self.random.choice((3, 8)))
            for m in ("one", "two", "reference")
            for a in range(4)
        ]
        names = ("prompt", "image", "model", "annotator", "label", "control")
        return self._hostile_columns(names, rows)

    def runs(self) -> str:
        """Write retrieval results."""
        rows = [
            (f"prompt {p}", m, f"{i}.png", self.number())
            for p in range(6)
            for m in ("one", "two")
            for i in range(5)
        ]
        return self._hostile_columns(("prompt", "model", "image", "score"), rows)

    def relevance(self) -> str:
        """Write votes on the results."""
        rows = [
            (f"prompt {p}", f"{i}.png", self.random.choice(("relevant", "irrelevant")), f"a{a}")
            for p in range(6)
            for i in range(5)
            for a in range(2)
        ]
        return self._hostile_columns(("prompt", "image", "label", "annotator"), rows)

    def _hostile_columns(self, names, rows) -> str:
        columns = {
            name: list(cells) for name, cells in zip(names, zip(*rows, strict=True), strict=True)
        }
        if self.is_hostile(0.4):
            cells = columns[self.random.choice(names)]
            for _ in range(self.random.choice((1, 5))):
                cells[self.random.randrange(len(cells))] = self.random.choice(
                    (*ODD_VALUES, *_ODD_TEXTS)
                )
        return self.written(columns)

    def trec(self, suffix: str) -> str:
        """Write a run or qrels."""
        lines = []
        for query in range(4):
            for rank in range(5):
                if suffix == ".run":
                    lines.append(f"{query} Q0 d{rank} {rank + 1} {self.number()} tag\n")
                else:
                    lines.append(f"{query} 0 d{rank} {self.random.randrange(3)}\n")
        return self.placed(self.name(suffix), "".join(lines).encode("utf-8", "surrogatepass"))

    def vectors(self) -> str:
        """Write embeddings, as many as a file of captions may have rows."""
        random = np.random.default_rng(self.random.randrange(2**32))
        found = random.standard_normal((self.random.choice((1, 3, 12, 40, 40)), 8)).astype(
            "float32"
        )
        if self.is_hostile(0.5):
            values = [found * np.nan, found * 1e38, found * 0, found[0], found[None], found[:0]]
            kinds = (np.float64, np.int8, np.float16, complex, str, bool)
            found = self.random.choice([*values, found[:, :0], *map(found.astype, kinds)])
        file = io.BytesIO()
        if self.is_hostile(0.2):
            np.save(file, np.array([Bomb(self.canary)], dtype=object), allow_pickle=True)
        else:
            np.save(file, found)
        content = file.getvalue()
        if self.is_hostile(0.2):
            content = content.replace(b"(", b"(9" * 3, 1)
        return self.placed(self.name(".npy"), content)

    def images(self) -> str:
        """Write a folder of pictures with prompts."""
        from PIL import Image

        folder = self.name("_images")
        folder.mkdir()
        records = []
        for number in range(self.random.choice((1, 3))):
            mode = self.random.choice(("RGB", "RGB", "L", "P", "RGBA", "I;16", "1"))
            size = self.random.choice(((16, 16), (1, 1), (40, 20)))
            name = f"{number}.png"
            file = io.BytesIO()
            Image.new(mode, size).save(file, "PNG")
            content = file.getvalue()
            if self.is_hostile(0.2):  # a picture that says it is huge
                content = content[:16] + b"\0\1\x86\xa0" * 2 + content[24:]
            (folder / name).write_bytes(
                damaged(content, self.random) if self.is_hostile(0.3) else content
            )
            records.append({"file_name": name, "prompt": self.text()})
        kind = self.random.choice(("metadata.jsonl", "metadata.csv", "txt"))
        if kind == "txt":
            for record in records:
                text = record["prompt"].encode("utf-8", "surrogatepass")
                (folder / record["file_name"]).with_suffix(".txt").write_bytes(text)
            return folder.name
        lines = "".join(json.dumps(record) + "\n" for record in records)
        if kind == "metadata.csv":
            lines = "file_name,prompt\n" + "".join(
                f"{r['file_name']},{n}\n" for n, r in enumerate(records)
            )
        content = lines.encode()
        (folder / kind).write_bytes(
            damaged(content, self.random) if self.is_hostile(0.4) else content
        )
        return folder.name

    def copy(self, what: str) -> str:
        """Copy a folder of the shelf, with a file damaged, gone or joined by foreign ones."""
        if (self.shelf / what).is_file():
            return self.placed(self.name(Path(what).suffix), (self.shelf / what).read_bytes())
        folder = self.name("_" + Path(what).name)
        shutil.copytree(self.shelf / what, folder)
        if self.is_hostile(0.7):
            path = self.random.choice(sorted(p for p in folder.rglob("*") if p.is_file()))
            way = self.random.randrange(6)
            if way == 0:
                path.unlink()
            elif way == 1:
                self._foreign(folder)
            elif way < 5 and path.suffix == ".json":
                path.write_bytes(damaged_json(path.read_bytes(), self.random))
            else:
                path.write_bytes(damaged(path.read_bytes(), self.random))
        if self.is_hostile(0.1):
            return misplaced(folder, self.random)
        return f"./{folder.name}" if self.random.random() < 0.5 else folder.name

    def _foreign(self, folder: Path) -> None:
        """Put code and pickles into a folder, under the names that loaders look for."""
        code = f"open({str(self.canary)!r}, 'w')\n".encode()
        bomb = pickle.dumps(Bomb(self.canary))
        for name in (f"{folder.name}.py", "dataset.py", "modeling_bert.py", "__init__.py"):
            (folder / name).write_bytes(code)
        for name in ("pytorch_model.bin", "data.pkl", "training_args.bin", "optimizer.pt"):
            (folder / name).write_bytes(bomb)
        for path in folder.glob("*.safetensors"):
            if self.random.random() < 0.5:
                path.unlink()

    def dataset(self) -> str:
        """Make a folder of data files or of save_to_disk."""
        folder = self.name("_dataset")
        way = self.random.random()
        if way < 0.4:
            folder.mkdir()
            for split in self.random.choice((("train",), ("train", "test"))):
                made = self.folder / self.table(self.random.choice((".csv", ".jsonl", ".parquet")))
                if made.is_file() and not made.is_symlink():
                    made.rename(folder / f"{split}{made.suffix}")
            if self.is_hostile(0.4):
                self._foreign(folder)
            if self.is_hostile(0.3):
                front = b"---\nconfigs:\n- config_name: x\n  data_files: train.csv\n---\n"
                (folder / "README.md").write_bytes(damaged(front, self.random))
            return folder.name
        if way < 0.7:
            return self.copy("exported")
        return self.copy("saved")

    def recipe(self, fields: dict) -> str:
        """Write a recipe of these fields."""
        import yaml

        lines = yaml.safe_dump(fields, allow_unicode=True)
        if self.is_hostile(0.4):
            name = self.random.choice(sorted(fields) or ["seed"])
            odd = [
                ".inf",
                "-.inf",
                ".nan",
                "-1",
                "0",
                "9" * 5000,
                "[" * 3000,
                "[]",
                "{}",
                "null",
                "x",
            ]
            odd += [
                "1e999",
                "!!python/object/apply:os.system ['touch executed']",
                "&a [*a]",
                "true",
            ]
            odd += [
                "2001-01-01",
                "1.5",
                "[1, a]",
                "{a: 1}",
                "'\\ud800'",
                '"\\ud800"',
                "1_0",
                "~",
                "",
            ]
            lines += f"{name}: {self.random.choice(odd)}\n"
        return self.placed(self.name(".yaml"), lines.encode("utf-8", "surrogatepass"))


def _cells(row) -> list:
    return [
        json.dumps(cell) if isinstance(cell, list | dict) else cell for cell in map(_short, row)
    ]


def _short(cell):
    """Return a cell that Python can write: a whole number of thousands of digits is a text."""
    return "9" * 400 if isinstance(cell, int) and abs(cell) > 10**300 else cell


def _parquet(columns: dict[str, list]) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet

    file = io.BytesIO()
    arrays = {}
    for name, cells in columns.items():
        try:
            arrays[name] = pa.array(cells)
            pa.parquet.write_table(pa.table({name: arrays[name]}), io.BytesIO())  # {} has no place
        except (pa.ArrowException, OverflowError, UnicodeEncodeError):
            arrays[name] = pa.array([ascii(cell) for cell in cells])
    pa.parquet.write_table(pa.table(arrays), file)
    return file.getvalue()
