"""Exporting benchmarks as Parquet folders, which plain `load_dataset` loads without this package.

A folder contains `data/<configuration>/<split>-00000-of-00001.parquet`, `README.md` with YAML for
`load_dataset` and the Hub's viewer, and the Hub's `eval.yaml`.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path

from pqpp_datasets.benchmark import LICENCES, get_size_category
from pqpp_datasets.benchmarks import BENCHMARKS, get_benchmark
from pqpp_datasets.errors import BenchmarkError
from pqpp_datasets.target_columns import get_targets
from pqpp_hub.card import render_card

_ROWS_AT_A_TIME = 1000


def export(
    configs: Sequence[str],
    folder: str | Path,
    data_dir: str | None = None,
    options: Mapping[str, str] | None = None,
    overwrite: bool = False,
) -> dict[tuple[str, str], int]:
    """Write configurations of one benchmark into a folder.

    Args:
        configs: Configurations, such as `conqa` and `conqa-candidates`; the first is the default.
        folder: The output folder.
        data_dir: The folder of the published files; default: download them.
        options: Further options of `load_dataset`, for the configurations that accept them.
        overwrite: Whether to replace an older export, if there are no other files in the folder.

    Returns:
        Number of rows by (configuration, split).

    Raises:
        BenchmarkError: The configurations belong to several benchmarks, an option is unknown, the
            folder contains other files, or the data are invalid.
    """
    import datasets
    from datasets.table import embed_table_storage

    from pqpp_datasets.export.parquet_folder import replace_folder, write_eval_yaml, write_split
    from pqpp_datasets.registration import register

    options = options or {}
    if len({get_benchmark(config).family for config in configs}) != 1:
        raise BenchmarkError(f"{', '.join(configs)} must be configurations of one benchmark")
    available = {name for config in configs for name in BENCHMARKS[config].options}
    if unknown := [name for name in options if name not in available]:
        allowed = ", ".join(sorted(available)) or "none"
        names = ", ".join(configs)
        raise BenchmarkError(f"no option {unknown[0]!r} of {names} (options: {allowed}); remove it")
    register()
    with replace_folder(Path(folder), (), overwrite) as temp_path:
        targets, rows, releases = {}, {}, {}
        card_splits: dict[str, list[dict]] = {}
        for config in configs:
            config_options = {k: v for k, v in options.items() if k in BENCHMARKS[config].options}
            splits = datasets.load_dataset("pqpp", config, data_dir=data_dir, **config_options)
            for split, dataset in splits.items():
                path = temp_path / "data" / config
                # The schema's metadata has the features; images are embedded.
                schema = dataset.features.arrow_schema
                tables = (
                    embed_table_storage(table.cast(schema)).replace_schema_metadata(schema.metadata)
                    for table in dataset.with_format("arrow").iter(_ROWS_AT_A_TIME)
                )
                write_split(path, split, tables)
                is_rated = "prompt" in dataset.features
                targets[config, split] = [*get_targets(dataset.features)] if is_rated else []
                rows[config, split] = dataset.num_rows
                releases[config] = str(dataset.info.version)
                pattern = f"data/{config}/{split.replace('.', '-')}-*.parquet"
                entry = {"name": split, "pattern": pattern, "rows": dataset.num_rows}
                card_splits.setdefault(config, []).append(entry)
        benchmark, card = BENCHMARKS[configs[0]], render_export_card(card_splits, releases, options)
        (temp_path / "README.md").write_text(card, "utf-8")
        write_eval_yaml(temp_path, targets, benchmark.family, benchmark.description)
    return rows


def render_export_card(
    configs: Mapping[str, list[dict]], releases: Mapping[str, str], options: Mapping[str, str]
) -> str:
    """Return the text of the dataset card of an export.

    Args:
        configs: Splits by configuration, each with its `name`, file name `pattern` and number of
            `rows`.
        releases: Version of the data of each configuration.
        options: Options of the load; folders are not named on the card.
    """
    benchmark = BENCHMARKS[next(iter(configs))]
    licence, link = LICENCES[benchmark.licence]
    return render_card(
        f"datasets/{benchmark.family}",
        configs=configs,
        licence=licence,
        licence_link=link or benchmark.homepage,
        licence_name=benchmark.licence,
        **{name: getattr(benchmark, name) for name in ("citation", "homepage", "images")},
        tasks=list(benchmark.tasks),
        sizes=[get_size_category(sum(s["rows"] for splits in configs.values() for s in splits))],
        annotators=list(benchmark.annotators),
        releases=releases,
        options=dict(options),
        # Local folders are private.
        options_given=[
            name if name.endswith("_dir") else f"{name}={value}"
            for name, value in sorted(options.items())
        ],
    )
