"""Writing a benchmark as a folder that `load_dataset` takes, with its card and quality report."""

import random
from pathlib import Path

from pqpp_datasets.export.parquet_folder import export_folder, write_split
from pqpp_datasets.own_benchmark.build import Built
from pqpp_datasets.own_benchmark.report import quality_report
from pqpp_datasets.own_benchmark.splits import split_rule
from pqpp_hub.card import render_card


def write_benchmark(
    built: Built,
    folder: str | Path,
    name: str = "My benchmark",
    keep_annotators: bool = False,
) -> Path:
    """Write a benchmark as a folder of Parquet files, with a card and a quality report.

    Args:
        built: The benchmark.
        folder: Where; a folder that is there already is replaced as a whole if it was written by
            this function and holds nothing else, and refused otherwise.
        name: For the card and the report.
        keep_annotators: Call annotators by their names. Otherwise each gets a number, drawn anew in
            every build and by no seed, so that nobody can work it back; the numbers are kept
            nowhere.

    Returns:
        The folder; `load_dataset(str(folder))` loads it, also on the Hub.

    Raises:
        OptionError: If the folder holds something else, or a file that the benchmark was built
            from.
    """
    called = None if keep_annotators else anonymous_names(built)
    with export_folder(Path(folder), built.inputs) as beside:
        for split, table in built.splits.items():
            write_split(beside / "data", split, [table])
        (beside / "README.md").write_text(_card(built, name), "utf-8")
        (beside / "report.html").write_text(quality_report(built, name, called), "utf-8")
    return Path(folder)


def anonymous_names(built: Built) -> list[str]:
    """Return a name for each annotator that tells nothing of the person: a number, at random."""
    count = len(built.generation.table.annotator_names) if built.generation else 0
    numbers = random.SystemRandom().sample(range(1, count + 1), count)
    return [f"annotator {number}" for number in numbers]


def _card(built: Built, name: str) -> str:
    annotators = built.generation.annotators if built.generation else ()
    return render_card(
        "datasets/own_benchmark",
        title=name,
        splits={split: table.num_rows for split, table in built.splits.items()},
        targets=built.targets,
        targets_told=[target.told() for target in built.targets],
        split_rule=split_rule(built.options.fractions, built.options.seed),
        options=built.options,
        has_generation=built.generation is not None,
        has_control=bool(built.generation and built.generation.control_group),
        has_reference=any(one.reference_share is not None for one in annotators),
        has_retrieval=built.retrieval is not None,
    )
