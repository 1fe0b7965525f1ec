"""Writes benchmarks as Parquet with a card: loadable by plain `load_dataset`, without this package.

A folder holds `data/<configuration>/<split>-00000-of-00001.parquet`, `README.md` with the YAML that
`load_dataset` and the Hub's viewer read, and `croissant.json`.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from pqpp_datasets.benchmark import Benchmark
from pqpp_datasets.benchmarks import BENCHMARKS
from pqpp_datasets.errors import OptionError
from pqpp_hub.card import render_card

LICENCES = {
    "CC BY 4.0": ("cc-by-4.0", "https://creativecommons.org/licenses/by/4.0/"),
    "MIT": ("mit", "https://opensource.org/license/mit"),
    "Apache-2.0": ("apache-2.0", "https://www.apache.org/licenses/LICENSE-2.0"),
}
_PUBLISHED = {"pqpp": "2025", "conqa": "2024", "richhf": "2024", "gimbrr": "2023", "vistar": "2025"}
_ROWS_AT_A_TIME = 1000


def family_of(config: str) -> str:
    """Return the benchmark that a configuration belongs to; it has one card.

    Args:
        config: A configuration of `load_dataset("pqpp", ...)`.

    Raises:
        OptionError: If there is none of that name.

    Example:
        >>> family_of("pqpp-relevance"), family_of("conqa-candidates"), family_of("sample")
        ('pqpp', 'conqa', 'sample')
    """
    if config not in BENCHMARKS:
        raise OptionError(f"{config!r}: no such configuration; there are {', '.join(BENCHMARKS)}")
    folders = BENCHMARKS[config].folders
    return folders[0].split("/")[0] if folders else config


def export(
    configs: Sequence[str],
    folder: str | Path,
    data_dir: str | None = None,
    options: Mapping[str, str] | None = None,
) -> dict[tuple[str, str], int]:
    """Write configurations of one benchmark into a folder.

    Args:
        configs: Such as `conqa` and `conqa-candidates`; the first one becomes the default.
        folder: What to write; one that was exported before, and holds nothing else, is replaced as
            a whole.
        data_dir: As for `load_dataset`; the files are downloaded if it is left out.
        options: Further options of `load_dataset`, for those configurations that take them.

    Returns:
        (Configuration, split) to the number of its rows.

    Raises:
        BenchmarkError: If the configurations are of several benchmarks, the folder holds other
            files, or the data are not as they must be.
    """
    from pqpp_datasets.export.parquet_folder import folder_written_beside, write_split

    families = {family_of(config) for config in configs}
    if len(families) != 1:
        raise OptionError(
            f"{', '.join(configs) or 'nothing'}: configurations of one benchmark are exported "
            "together; name those of one"
        )
    _refuse_untaken(configs, options or {})
    with folder_written_beside(Path(folder)) as beside:
        files, rows, features = {}, {}, {}
        for config in configs:
            for split, dataset in _load(config, data_dir, options or {}).items():
                place = beside / "data" / config
                files[config, split] = write_split(place, split, _tables(dataset))
                rows[config, split] = dataset.num_rows
                features[config] = dataset.features
        card = card_of(families.pop(), files, rows, beside, options)
        (beside / "README.md").write_text(card, "utf-8")
        metadata = _croissant(beside, BENCHMARKS[configs[0]], files)
        (beside / "croissant.json").write_text(json.dumps(metadata, indent=1) + "\n", "utf-8")
    return rows


def _refuse_untaken(configs: Sequence[str], options: Mapping[str, str]) -> None:
    taken = {name for config in configs for name in BENCHMARKS[config].options}
    for name in options:
        if name not in taken:
            raise OptionError(
                f"{name}=: not taken by {', '.join(configs)}; {', '.join(sorted(taken)) or 'none'} "
                "can be given"
            )


def _load(config: str, data_dir: str | None, options: Mapping[str, str]):
    import datasets

    from pqpp_datasets.registration import register

    register()
    taken = {k: v for k, v in options.items() if k in BENCHMARKS[config].options}
    return datasets.load_dataset("pqpp", config, data_dir=data_dir, **taken)


def _tables(dataset) -> Iterator[pa.Table]:
    from datasets.table import embed_table_storage

    # The features travel in the schema's metadata; images are put into the files.
    schema = dataset.features.arrow_schema
    for table in dataset.with_format("arrow").iter(_ROWS_AT_A_TIME):
        table = embed_table_storage(table.cast(schema))
        yield table.replace_schema_metadata(schema.metadata)


def card_of(
    family: str,
    files: Mapping[tuple[str, str], Sequence[Path]],
    rows: Mapping[tuple[str, str], int],
    folder: Path,
    options: Mapping[str, str] | None = None,
) -> str:
    """Return the card of an export: its template with what was written.

    Args:
        family: The benchmark.
        files: (Configuration, split) to the files written.
        rows: Likewise to the numbers of rows.
        folder: What the files are named relative to.
        options: Of the load. The card says them all, but of a folder only that one was given.
    """
    configs: dict[str, list[dict]] = {}
    for (config, split), paths in files.items():
        place = paths[0].relative_to(folder)
        pattern = f"{place.parent.as_posix()}/{split.replace('.', '-')}-*.parquet"
        entry = {"name": split, "pattern": pattern, "rows": rows[config, split]}
        configs.setdefault(config, []).append(entry)
    benchmark = BENCHMARKS[next(iter(configs))]
    return render_card(
        f"datasets/{family}",
        configs=configs,
        licence=LICENCES.get(benchmark.licence, ("other", ""))[0],
        licence_name=benchmark.licence,
        citation=benchmark.citation,
        homepage=benchmark.homepage,
        descriptions={name: BENCHMARKS[name].description for name in configs},
        versions={name: BENCHMARKS[name].version for name in configs},
        options=dict(options or {}),
        options_given=_options_named(options or {}),
    )


def _options_named(options: Mapping[str, str]) -> list[str]:
    # The name of a folder on somebody's machine is nobody else's business.
    return [
        name if name.endswith("_dir") else f"{name}={value}"
        for name, value in sorted(options.items())
    ]


def _croissant(folder: Path, benchmark: Benchmark, files) -> dict:
    from pqpp_datasets.export.croissant import croissant_of

    family = family_of(benchmark.name)
    about = {
        "name": family,
        "description": benchmark.description,
        "license": LICENCES.get(benchmark.licence, ("", benchmark.homepage))[1],
        "url": benchmark.homepage or "https://www.apache.org/licenses/LICENSE-2.0",
        "version": benchmark.version,
        "datePublished": _PUBLISHED.get(family, "2024"),
    }
    about["citeAs"] = " ".join(benchmark.citation.split()) or "generated by the package pqpp"
    return croissant_of(folder, files, about)
