"""ConQA: conceptual and descriptive image queries, with crowd workers' votes on images.

Source: "Does the performance of Text-to-Image retrieval models generalize beyond
captions-as-a-query?", section 3; files at github.com/AU-DIS/ConQA, CC BY 4.0.

Kept as published: query ids skip 18 and 41; of the 607 seed images, which the researchers chose
themselves, 172 were judged by workers too; the paper's own runs leave seed images out of the
judgments, these rows do not.
"""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa

from pqpp_datasets.benchmark import Benchmark, features_of
from pqpp_datasets.errors import DataFileError, OptionError
from pqpp_datasets.json_files import read_json, read_text
from pqpp_datasets.tables import REMEDY

SPLITS = ("conceptual", "descriptive")
DEFAULT_RULE = "unanimous"
CITATION = """@inproceedings{rodriguez2024conqa,
  title={Does the Performance of Text-to-Image Retrieval Models Generalize Beyond
         Captions-as-a-Query?},
  author={Rodriguez, Juan Manuel and Tavassoli, Nima and Levy, Eliezer and Lederman, Gil and
          Sivov, Dima and Lissandrini, Matteo and Mottin, Davide},
  booktitle={Advances in Information Retrieval (ECIR)},
  year={2024}
}"""

_QUERIES, _VOTES, _IMAGES = "seed.json", "mturk.json", "vg_subset.txt"
# Where the published repository keeps them, and the flat layout of a copy.
_REPHRASINGS = ("repro-kit/exp_GPT_J6B.json", "exp_GPT_J6B.json")
_LAST_ID = 2**53
_VOTE_NAMES = ("relevant", "non_relevant", "unsure")
_JUDGMENTS = {
    "image_id": pa.int64(),
    **dict.fromkeys(_VOTE_NAMES, pa.int32()),
    "label": pa.int8(),
}
_SCHEMA = pa.schema(
    {
        "query_id": pa.int64(),
        "query": pa.string(),
        "kind": pa.string(),
        "seeds": pa.list_(pa.int64()),
        "judgments": pa.struct({name: pa.list_(kind) for name, kind in _JUDGMENTS.items()}),
        "rephrasings": pa.list_(pa.string()),
    }
)


def files(folder: Path | None, split: str) -> tuple[str, ...]:
    """Name the files that both splits are read from."""
    published, flat = _REPHRASINGS
    is_flat = folder is not None and not (folder / published).exists() and (folder / flat).exists()
    return (_QUERIES, _VOTES, flat if is_flat else published)


def label_rule(value: object) -> str:
    """Return the name of a vote rule, or refuse what is none."""
    from pqpp_metrics.functional.conqa_relevance import RULES

    if value not in RULES:
        raise OptionError(
            f"relevance_rule={value!r}: no such rule; the rules are {', '.join(RULES)}"
        )
    return str(value)


def read(folder: Path, split: str, options: Mapping[str, object]) -> pa.Table:
    """Read the queries of one kind, in the order of the published file.

    `relevance_rule` among the options names the rule behind `judgments.label` (default
    `unanimous`), which is 1 for a relevant image and 0 for any other, as ranking metrics take it.
    """
    rule = label_rule(options.get("relevance_rule") or DEFAULT_RULE)
    paths = [folder / path for path in files(folder, split)]
    queries, votes, rephrasings = (_read_by_query(path) for path in paths)
    for path, found in zip(paths[1:], (votes, rephrasings), strict=True):
        _refuse_other_queries(path, found, queries)
    rows = []
    for key, entry in queries.items():
        where = f"{paths[0]}, query {key}"
        text, conceptual, seeds = _query_of(where, entry)
        if SPLITS[not conceptual] != split:
            continue
        rows.append(
            {
                "query_id": int(key),
                "query": text,
                "kind": split,
                "seeds": seeds,
                "judgments": _judgments_of(f"{paths[1]}, query {key}", votes[key], rule),
                "rephrasings": _texts_of(f"{paths[2]}, query {key}", rephrasings[key]),
            }
        )
    return pa.Table.from_pylist(rows, schema=_SCHEMA)


def _read_by_query(path: Path) -> dict:
    found = read_json(path)
    if not isinstance(found, dict) or not found or not all(map(_is_id, found)):
        raise DataFileError(f"{path}: no object with query numbers as keys; {REMEDY}")
    return found


def _is_id(key: str) -> bool:
    return key.isascii() and key.isdigit() and int(key) <= _LAST_ID


def _is_list_of_counts(value: object, most: int = _LAST_ID) -> bool:
    return isinstance(value, list) and all(type(n) is int and 0 <= n <= most for n in value)


def _refuse_other_queries(path: Path, found: dict, queries: dict) -> None:
    odd = sorted(set(found) ^ set(queries), key=int)
    if odd:
        place = "is missing" if odd[0] in queries else "is no query of seed.json"
        raise DataFileError(f"{path}: query {odd[0]} {place}; {REMEDY}")


def _query_of(where: str, entry) -> tuple[str, bool, list[int]]:
    try:
        text, conceptual, seeds = entry["Text"], entry["Conceptual"], entry["Seeds"]
    except (TypeError, KeyError):
        raise DataFileError(
            f"{where}: an object with Text, Conceptual and Seeds is needed; {REMEDY}"
        ) from None
    if not isinstance(text, str) or not text.strip() or not isinstance(conceptual, bool):
        raise DataFileError(
            f"{where}: Text must be a text and Conceptual true or false, {text!r:.60} and "
            f"{conceptual!r:.20} came; {REMEDY}"
        )
    if not _is_list_of_counts(seeds):
        raise DataFileError(f"{where}: Seeds must be a list of image ids; {REMEDY}")
    return text, conceptual, seeds


def _judgments_of(where: str, entry, rule: str) -> dict[str, list]:
    if not isinstance(entry, dict) or not entry or not all(map(_is_id, entry)):
        raise DataFileError(f"{where}: no object with image ids as keys; {REMEDY}")
    for image_id, votes in entry.items():
        if not (_is_list_of_counts(votes, 2**31 - 1) and len(votes) == 3):
            raise DataFileError(
                f"{where}, image {image_id}: {votes!r:.60} came, three vote counts (relevant, "
                f"non-relevant, unsure) are allowed; {REMEDY}"
            )
    from pqpp_metrics.functional.conqa_relevance import conqa_relevance

    columns = dict(zip(_VOTE_NAMES, map(list, zip(*entry.values(), strict=True)), strict=True))
    labels = conqa_relevance(list(entry.values()), rule).tolist()
    return {"image_id": [int(i) for i in entry], **columns, "label": labels}


def _texts_of(where: str, entry) -> list[str]:
    if not isinstance(entry, list) or not all(isinstance(text, str) for text in entry):
        raise DataFileError(f"{where}: a list of texts is needed; {REMEDY}")
    return entry


def candidate_files(folder: Path | None, split: str) -> tuple[str, ...]:
    """Name the file of the candidate images."""
    return (_IMAGES,)


def read_candidates(folder: Path, split: str, options: Mapping[str, object]) -> pa.Table:
    """Read the ids of the Visual Genome images that the queries are run against."""
    path = folder / _IMAGES
    lines = read_text(path).splitlines()
    first_line: dict[str, int] = {}
    for number, line in enumerate(lines, 1):
        if not _is_id(line):
            raise DataFileError(
                f"{path}, line {number}: {line[:60]!r} came, an image id is allowed; {REMEDY}"
            )
        if first_line.setdefault(line, number) != number:
            raise DataFileError(
                f"{path}, line {number}: the image id {line} also stands in line "
                f"{first_line[line]}; {REMEDY}"
            )
    if not lines:
        raise DataFileError(f"{path}: no line came, one image id a line is needed; {REMEDY}")
    return pa.table({"image_id": pa.array([int(line) for line in lines], pa.int64())})


_COMMON: dict[str, Any] = {
    "version": "1.0.0",
    "folders": ("conqa",),
    "citation": CITATION,
    "licence": "CC BY 4.0",
    "year": 2024,
    "homepage": "https://github.com/AU-DIS/ConQA",
    "tasks": ("text-retrieval",),
    "images": "those of Visual Genome 1.4, by id: http://visualgenome.org/api/v0/api_home.html",
}
BENCHMARKS = (
    Benchmark(
        name="conqa",
        description=(
            "One row is an image query of one to seven words, conceptual or descriptive, with "
            "crowd workers' votes on about 100 Visual Genome images, a relevance label by a named "
            "rule, the researchers' seed images, and ten rephrasings by GPT-J."
        ),
        splits=SPLITS,
        features=features_of(_SCHEMA),
        read=read,
        rows={"conceptual": 50, "descriptive": 30},
        files=files,
        options={"relevance_rule": label_rule},
        **_COMMON,
    ),
    Benchmark(
        name="conqa-candidates",
        description="One row is a Visual Genome image that ConQA's queries are run against.",
        splits=("candidates",),
        features=features_of(pa.schema({"image_id": pa.int64()})),
        read=read_candidates,
        rows={"candidates": 43_413},
        files=candidate_files,
        **_COMMON,
    ),
)
