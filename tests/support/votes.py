"""Small files of votes, built into benchmarks."""

from pqpp_datasets.own_benchmark.build import BuildOptions, build_benchmark


def write(path, *lines, header="prompt,image,model,annotator,label"):
    """Write a CSV file."""
    path.write_text("\n".join([header, *lines]) + "\n", "utf-8")
    return path


def build(judgments=None, runs=None, relevance=None, preferences=None, rankings=None, **options):
    """Build a benchmark, every further name being an option."""
    files = {"preferences": preferences, "rankings": rankings, "runs": runs, "relevance": relevance}
    return build_benchmark(judgments, **files, options=BuildOptions(**options))


def to_dict(benchmark, column):
    """Map each prompt to a column, over all splits."""
    rows = [row for table in benchmark.splits.values() for row in table.to_pylist()]
    return {row["prompt"]: row[column] for row in rows}
