"""A run of the protocol as one file for a reviewer: predictions, truth, figures, versions, hashes.

Its `README.md` says how to get the figures again: from the predictions in it, by this command or
any program that reads CSV, and from the beginning by the recipe.
"""

import io
import json
import platform
import re
import zipfile
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from pqpp_files.hashes import sha256_of, sha256_of_parts
from pqpp_models.bench.by_prompt import KEYS
from pqpp_models.bench.run import BenchRun
from pqpp_models.bench.tables import format_results
from pqpp_models.predictor import Predictor

_PACKAGES = ("pqpp", "numpy", "scipy", "pandas", "datasets", "safetensors", "torch", "transformers")
_FIRST_DAY = (1980, 1, 1, 0, 0, 0)  # the same run gives the same bytes
_ROWS, _PREDICTIONS = "prompts.csv", "predictions/{}.csv"


def bundle_of(run: BenchRun, recipe: Mapping[str, Any]) -> bytes:
    """Return a zip archive of a run.

    It holds `prompts.csv` (prompts and true values), `predictions/<target>.csv` (a column a
    predictor), `results.csv` (the figures as `bench --format csv` writes them), `recipe.yaml` (the
    options of the command), `about.json` (versions, the data, hashes of predictors and of the other
    files) and `README.md`.

    Args:
        run: What was found.
        recipe: The options of the command that differ from what is usual.
    """
    said = _predictions(run)
    files = {_ROWS: _csv(_rows(run)), "results.csv": format_results("csv", run.results)}
    files |= {_PREDICTIONS.format(_safe(name)): _csv(table) for name, table in said.items()}
    files["recipe.yaml"] = json.dumps(dict(recipe), indent=1)  # JSON is YAML
    files = {name: text.rstrip("\n") + "\n" for name, text in files.items()}
    about = {
        "versions": {"python": platform.python_version(), **_versions()},
        "data": {"benchmark": run.split.config, "release": run.split.release}
        | {"split": run.split.name, "prompts": len(run.split.rows)},
        "predictors": {
            name: _hashes(name, predictor) for name, predictor in run.predictors.items()
        },
        "files": {name: sha256_of_parts([text]) for name, text in files.items()},
    }
    files["about.json"] = json.dumps(about, indent=1) + "\n"
    files["README.md"] = _readme(said)
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in sorted(files.items()):
            place = zipfile.ZipInfo(name, _FIRST_DAY)
            place.compress_type = zipfile.ZIP_DEFLATED
            archive.writestr(place, text)
    return written.getvalue()


def _rows(run: BenchRun) -> pd.DataFrame:
    there = [name for name in (*KEYS, "source") if name in run.split.rows.column_names]
    columns = {name: run.split.rows[name][:] for name in there}
    truth = {name: np.array(values, np.float64) for name, values in run.references.items()}
    return pd.DataFrame({**columns, **truth})


def _predictions(run: BenchRun) -> dict[str, pd.DataFrame]:
    """Return target to a table of what each predictor said of it, by prompt."""
    keys = [name for name in KEYS if name in run.split.rows.column_names]
    prompts = {name: run.split.rows[name][:] for name in keys}
    targets = dict.fromkeys(
        target for prediction in run.predictions for target in prediction.targets
    )
    return {
        target: pd.DataFrame(
            prompts
            | {
                _safe(prediction.predictor): prediction.values[:, prediction.targets.index(target)]
                for prediction in run.predictions
                if target in prediction.targets
            }
        )
        for target in targets
    }


def _safe(name: str) -> str:
    """Return a name that a file and `FILE:COLUMN` can have.

    Example:
        >>> _safe("mine.csv:score")
        'mine.csv_score'
    """
    return re.sub(r"[^\w. -]", "_", name)


def _csv(table: pd.DataFrame) -> str:
    return table.to_csv(index=False, lineterminator="\n")


def _versions() -> dict[str, str]:
    versions = {}
    for name in _PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return versions


def _hashes(name: str, predictor: Predictor) -> dict[str, str | None]:
    """Return the hash of a predictor's weights, or of the file that it is."""
    record: dict[str, str | None] = {"type": predictor.name, "trained_on": predictor.trained_on}
    file = Path(name if Path(name).is_file() else name.rpartition(":")[0])
    if file.is_file():
        return {**record, "file_sha256": sha256_of(file)}
    try:
        tensors = predictor._state()[1]
    except NotImplementedError:  # a function has none
        return record
    parts = (part for key in sorted(tensors) for part in (key, tensors[key].tobytes()))
    return {**record, "weights_sha256": sha256_of_parts(parts)} if tensors else record


def _readme(said: Mapping[str, pd.DataFrame]) -> str:
    commands = []
    for target, table in said.items():
        file = _PREDICTIONS.format(_safe(target))
        names = ",".join(f"{file}:{name}" for name in table if name not in KEYS)
        commands.append(
            f'pqpp bench --dataset {_ROWS} --targets {target} --predictors "{names}" --format csv'
        )
    lines = "\n".join(commands)
    return f"""# The figures of a comparison, to be computed again

`results.csv` holds the figures, `about.json` the versions and hashes. In this folder, unpacked,

```
{lines}
```

computes them from the predictions as they are: Pearson's r, Kendall's tau-b and their p-values over
the rows of `{_ROWS}` that have both values. In the folder where it was run first, with the same
data and predictors,

```
pqpp bench --config recipe.yaml
```

does all of it from the beginning.
"""
