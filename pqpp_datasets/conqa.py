"""ConQA: conceptual and descriptive image queries, with crowd workers' votes on images.

Source: "Does the performance of Text-to-Image retrieval models generalize beyond
captions-as-a-query?", section 3; files at github.com/AU-DIS/ConQA, CC BY 4.0.

As published, query ids skip 18 and 41, and 172 of the 607 seed images, which the researchers chose,
were also rated by workers. The paper's own runs leave seed images out of the judgments; these rows
include them.
"""

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa

from pqpp_datasets.benchmark import load_entry, make_features, make_file_finder
from pqpp_datasets.errors import BenchmarkError
from pqpp_datasets.tables import Column, file_error, read_csv, read_validated_json

SPLITS = ("conceptual", "descriptive")
DEFAULT_RULE = "unanimous"

_QUERIES, _VOTES, _IMAGES = "seed.json", "mturk.json", "vg_subset.txt"
# The path in the published repository, and in a flat copy.
_REPHRASINGS = ("repro-kit/exp_GPT_J6B.json", "exp_GPT_J6B.json")
_VOTE_KINDS = ("relevant", "non_relevant", "unsure")
_JUDGMENTS = {"image_id": pa.int64(), **dict.fromkeys(_VOTE_KINDS, pa.int32()), "label": pa.int8()}
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


files = make_file_finder(_QUERIES, _VOTES, _REPHRASINGS)
"""List the files, which are the same for both splits."""


def parse_label_rule(value: object) -> str:
    """Return the name of a vote rule.

    Raises:
        BenchmarkError: The rule does not exist.
    """
    from pqpp_metrics.functional.aggregation import CONQA_RULES

    if value not in CONQA_RULES:
        raise BenchmarkError(f"relevance_rule {value!r} must be one of {', '.join(CONQA_RULES)}")
    return str(value)


def read(folder: Path, split: str, options: Mapping[str, object]) -> pa.Table:
    """Read the queries of a split, in the order of the published file.

    `judgments.label` is 1 for a relevant image and 0 for any other, by the rule in the option
    `relevance_rule` (default: `unanimous`).
    """
    from pqpp_metrics.functional.aggregation import conqa_relevance

    rule = parse_label_rule(options.get("relevance_rule") or DEFAULT_RULE)
    paths = [folder / path for path in files(folder, split)]
    forms = ("conqa queries", "conqa votes", "conqa rephrasings")
    queries, votes, rephrasings = map(read_validated_json, paths, forms)
    for path, entries in zip(paths[1:], (votes, rephrasings), strict=True):
        if unmatched := sorted(set(entries) ^ set(queries), key=int):
            problem = "not found" if unmatched[0] in queries else "not found in seed.json"
            raise file_error(path, f"query {unmatched[0]} {problem}")
    rows = [
        {
            "query_id": int(key),
            "query": entry["Text"],
            "kind": split,
            "seeds": entry["Seeds"],
            "judgments": {
                "image_id": [int(image) for image in votes[key]],
                **dict(zip(_VOTE_KINDS, zip(*votes[key].values(), strict=True), strict=True)),
                "label": conqa_relevance(list(votes[key].values()), rule).tolist(),
            },
            "rephrasings": rephrasings[key],
        }
        for key, entry in queries.items()
        if SPLITS[not entry["Conceptual"]] == split
    ]
    return pa.Table.from_pylist(rows, schema=_SCHEMA)


def read_candidates(folder: Path, split: str, options: Mapping[str, object]) -> pa.Table:
    """Read the ids of the Visual Genome images to be searched."""
    return read_csv(folder / _IMAGES, {"image_id": Column("int64", 0, 2**53)})


_OPTIONS = {"relevance_rule": parse_label_rule}
BENCHMARKS = (
    load_entry("conqa", features=make_features(_SCHEMA), read=read, files=files, options=_OPTIONS),
    load_entry(
        "conqa-candidates",
        features=make_features(pa.schema({"image_id": pa.int64()})),
        read=read_candidates,
        files=make_file_finder(_IMAGES),
    ),
)
