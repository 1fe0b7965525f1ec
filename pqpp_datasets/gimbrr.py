"""GIMBRR: prompts for cognitive tasks, and whether images of four generators match them.

Source: "Generative Image Model Benchmark for Reasoning and Representation (GIMBRR)"; files at
github.com/IntelLabs/generative-ai, MIT.

Kept as published, and to be known when rates are computed:
- Of the 2,302 prompts 200 are for img2img and were never annotated; 2,119 texts are distinct, the
  `Controlled` tasks repeat theirs up to ten times on purpose.
- Stable Diffusion 1.5 has 16 single-object prompts annotated twice (`duplicated`), some with two
  answers, and 16 not at all, so that it too has 2,102 rows.
- The directory was changed while images were annotated, so 392 annotations carry another text than
  their prompt has now; both are given (`prompt`, `annotated_prompt`). The authors take the
  directory's as the one that holds.
- A few prompts end in a blank. Only the names in `representations` are trimmed.
"""

from collections import Counter
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa

from pqpp_datasets.benchmark import Benchmark, features_of
from pqpp_datasets.errors import DataFileError
from pqpp_datasets.tables import REMEDY, Column, read_csv

# Our name of a model's split -> the name in the annotations.
MODELS = {"dalle2": "Dalle", "midjourney": "MJ", "sd2.1": "SD2.1", "sd1.5": "SD1.5"}
CITATION = """@misc{achterberg2023gimbrr,
  title={Generative Image Model Benchmark for Reasoning and Representation ({GIMBRR})},
  author={Achterberg, Jascha and Arel, Ron and Grinberg, Tetiana and Chaibi, Adel and
          Bach, Joscha and Tzagadakis, Nikos},
  howpublished={AAAI Spring Symposium, EDGeS},
  year={2023}
}"""

_DIRECTORY = "data/Prompt_dir_230228.csv"
# Where the published repository keeps them, and the shorter layout of a copy.
_ANNOTATION_FOLDERS = ("annotations/AAAI_EDGeS_23", "annotations")
_ANNOTATIONS, _EXTRAS = "annotations_df_230311.csv", "Prompt_dir_230228_extraVars.csv"

_TEXT, _ANY_TEXT = Column("string"), Column("string", optional=True)
_BOOLEAN = Column("string", values=("True", "False"))
_ANY_BOOLEAN = Column("string", values=("True", "False"), optional=True)
_NUMBER = Column("float64", 0, 1000, optional=True)
_ID = Column("int64", 1, 10**6)
_LABELS = {
    "ID": _ID,
    "Prompt": _TEXT,
    "Representations": _TEXT,
    "Auto_assessment": _BOOLEAN,
    "Task": _TEXT,
    "Task_specific_label": _ANY_TEXT,
    "Linked_prompts": _ANY_TEXT,
    "img2img_instructions": _ANY_TEXT,
}
_EXTRA_COLUMNS = {
    "Object_num": _NUMBER,
    "Extra_characteristic": _ANY_BOOLEAN,
    "Num_features": _NUMBER,
    "Common": _ANY_BOOLEAN,
    "Num_objects": _NUMBER,
}
_PROMPT_FIELDS = {
    "prompt_id": pa.int64(),
    "prompt": pa.string(),
    "task": pa.string(),
    "representations": pa.list_(pa.string()),
    "task_specific_label": pa.string(),
    "auto_assessment": pa.bool_(),
    "linked_prompts": pa.list_(pa.int64()),
}
_PROMPT_SCHEMA = pa.schema(
    {
        **_PROMPT_FIELDS,
        "img2img_instructions": pa.string(),
        "object_num": pa.int64(),
        "extra_characteristic": pa.bool_(),
        "num_features": pa.int64(),
        "common": pa.bool_(),
        "num_objects": pa.int64(),
    }
)
_ANNOTATION_SCHEMA = pa.schema(
    {
        "file_name": pa.string(),
        "model": pa.string(),
        "matched": pa.bool_(),
        "duplicated": pa.bool_(),
        "annotated_prompt": pa.string(),
        "dashboard_version": pa.string(),
        "prompt_no": pa.int64(),
        "task_backup": pa.string(),
        **_PROMPT_FIELDS,
    }
)


def files(folder: Path | None, split: str) -> tuple[str, ...]:
    """Name the files of the prompts: the directory, and the variables of the paper's analyses."""
    return (_DIRECTORY, _below_annotations(folder, _EXTRAS))


def annotation_files(folder: Path | None, split: str) -> tuple[str, ...]:
    """Name the files of the annotations: they themselves, and the directory of the prompts."""
    return (_below_annotations(folder, _ANNOTATIONS), _DIRECTORY)


def _below_annotations(folder: Path | None, name: str) -> str:
    paths = [f"{place}/{name}" for place in _ANNOTATION_FOLDERS]
    if folder is None:
        return paths[0]
    return next((path for path in paths if (folder / path).exists()), paths[0])


def read(folder: Path, split: str, options: Mapping[str, object]) -> pa.Table:
    """Read the prompts, in the order of their directory."""
    directory, extra_path = (folder / path for path in files(folder, split))
    prompts = _read_directory(directory)
    table = read_csv(extra_path, {"ID": _ID, **_EXTRA_COLUMNS})
    extras = {row["ID"]: row for row in table.to_pylist()}
    for prompt_id, row in prompts.items():
        if prompt_id not in extras:
            raise DataFileError(f"{extra_path}: no row of the prompt {prompt_id}; {REMEDY}")
        for name in _EXTRA_COLUMNS:
            where = f"{extra_path}, prompt {prompt_id}"
            row[name.lower()] = _as_value(where, extras[prompt_id][name])
    return pa.Table.from_pylist(list(prompts.values()), schema=_PROMPT_SCHEMA)


def _as_value(where: str, cell):
    """Read a cell of the analyses' variables: whole numbers stand there as `2.0`."""
    if isinstance(cell, str):
        return cell == "True"
    if cell is not None and cell != int(cell):
        raise DataFileError(f"{where}: {cell} came, a whole number is allowed; {REMEDY}")
    return None if cell is None else int(cell)


def read_annotations(folder: Path, split: str, options: Mapping[str, object]) -> pa.Table:
    """Read the annotated images of one model, in the order of the published file."""
    path, directory = (folder / name for name in annotation_files(folder, split))
    prompts = _read_directory(directory)
    table = read_csv(
        path,
        {
            "File_name": _TEXT,
            "annotation": _BOOLEAN,
            "Dashboard_version": _TEXT,
            "Algorithm": Column("string", values=tuple(MODELS.values())),
            "ID": _ID,
            "Prompt": _TEXT,
            "Prompt_no": _ID,
            "Task_backup": _TEXT,
        },
    )
    found = [row for row in table.to_pylist() if row["Algorithm"] == MODELS[split]]
    times = Counter(row["ID"] for row in found)
    rows = []
    for row in found:
        if row["ID"] not in prompts:
            raise DataFileError(f"{path}: the prompt {row['ID']} is not in {directory}; {REMEDY}")
        rows.append(
            {
                "file_name": row["File_name"],
                "model": split,
                "matched": row["annotation"] == "True",
                "duplicated": times[row["ID"]] > 1,
                "annotated_prompt": row["Prompt"],
                "dashboard_version": row["Dashboard_version"],
                "prompt_no": row["Prompt_no"],
                "task_backup": row["Task_backup"],
                **{name: prompts[row["ID"]][name] for name in _PROMPT_FIELDS},
            }
        )
    if not rows:
        raise DataFileError(f"{path}: no image of {MODELS[split]} is annotated; {REMEDY}")
    return pa.Table.from_pylist(rows, schema=_ANNOTATION_SCHEMA)


def _read_directory(path: Path) -> dict[int, dict]:
    """Map prompt ids to the columns that the directory has."""
    table = read_csv(path, _LABELS)
    rows: dict[int, dict] = {}
    for row in table.to_pylist():
        if row["ID"] in rows:
            raise DataFileError(f"{path}: the prompt {row['ID']} stands twice; {REMEDY}")
        rows[row["ID"]] = {
            "prompt_id": row["ID"],
            "prompt": row["Prompt"],
            "task": row["Task"],
            "representations": [name.strip() for name in row["Representations"].split(",")],
            "task_specific_label": row["Task_specific_label"],
            "auto_assessment": row["Auto_assessment"] == "True",
            "linked_prompts": _links_of(path, row),
            "img2img_instructions": row["img2img_instructions"],
        }
    for prompt_id, row in rows.items():
        unknown = [link for link in row["linked_prompts"] if link not in rows]
        if unknown:
            raise DataFileError(
                f"{path}: the prompt {prompt_id} is linked to {unknown[0]}, which is not there; "
                f"{REMEDY}"
            )
    return rows


def _links_of(path: Path, row: Mapping[str, object]) -> list[int]:
    try:
        return [int(link) for link in str(row["Linked_prompts"] or "").split(",") if link.strip()]
    except ValueError:
        raise DataFileError(
            f"{path}: Linked_prompts of the prompt {row['ID']} is {row['Linked_prompts']!r:.60}, "
            f"numbers with commas between are allowed; {REMEDY}"
        ) from None


_COMMON = {
    "version": "1.0.0",
    "folders": ("gimbrr",),
    "citation": CITATION,
    "licence": "MIT",
    "year": 2023,
    "homepage": "https://github.com/IntelLabs/generative-ai",
}
BENCHMARKS = (
    Benchmark(
        name="gimbrr",
        description=(
            "One row is a prompt of one of 19 cognitive tasks with what it shows, its label, and "
            "the single-object prompts that it is linked to."
        ),
        splits=("test",),
        features=features_of(_PROMPT_SCHEMA),
        read=read,
        files=files,
        **_COMMON,
    ),
    Benchmark(
        name="gimbrr-annotations",
        description="One row is a generated image and whether an annotator found it to match.",
        splits=tuple(MODELS),
        features=features_of(_ANNOTATION_SCHEMA),
        read=read_annotations,
        files=annotation_files,
        **_COMMON,
    ),
)
