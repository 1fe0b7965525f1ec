"""`pqpp bench conqa`: hand-computed values, and pytrec_eval on the real queries."""

import json

import numpy as np
import pytest

from pqpp_cli.main import main
from pqpp_datasets.load import load_benchmark
from pqpp_models.bench.conqa import QUERY_TYPES, bench_runs
from pqpp_models.errors import PredictorError


def make_query(number, relevant, others=()):
    images = [*relevant, *others]
    labels = [1] * len(relevant) + [0] * len(others)
    return {"query_id": number, "judgments": {"image_id": images, "label": labels}}


QUERIES = {
    "descriptive": [make_query(0, [1, 2], [3]), make_query(1, [4])],
    "conceptual": [make_query(2, [5]), make_query(3, [], [6])],
}
RUN = {"0": {"1": 3.0, "3": 2.0, "2": 1.0}, "2": {"9": 2.0, "5": 1.0}}


def test_measures_match_hand_computed_values():
    (table, gap), notes = bench_runs(QUERIES, {"mine": RUN})
    descriptive, conceptual = table.rows
    assert (descriptive["queries"], conceptual["queries"]) == ("descriptive, 2", "conceptual, 1")
    # Query 0 has its relevant images at ranks 1 and 3; query 1 has no results.
    assert descriptive["Recall@1"][0] == 0.5 and descriptive["R-precision"][0] == 0.25
    assert descriptive["average precision"][0] == pytest.approx((1 + 2 / 3) / 4)
    ideal = 1 + 1 / np.log2(3)
    assert descriptive["nDCG"][0] == pytest.approx((1 + 1 / 2) / ideal / 2)
    assert conceptual["Recall@1"][0] == 0 and conceptual["Recall@5"][0] == 1
    assert notes == [
        "skipped 1 conceptual queries without a relevant image",
        "mine has no results for 1 queries; they count as 0",
    ]
    assert [row["measure"] for row in gap.rows] == [*descriptive][2:]


def test_rejects_run_without_known_queries():
    with pytest.raises(PredictorError, match="no results for ConQA's queries"):
        bench_runs(QUERIES, {"mine": {"q7": {"1": 1.0}}})


@pytest.mark.realdata
def test_means_match_pytrec_eval(real_data):
    pytrec_eval = pytest.importorskip("pytrec_eval")
    queries = {k: load_benchmark("conqa", data_dir=str(real_data), split=k) for k in QUERY_TYPES}
    rng = np.random.default_rng(0)
    run, qrels = {}, {}
    for kind in QUERY_TYPES:
        for row in queries[kind]:
            labels = [*map(int, row["judgments"]["label"])]
            images = [str(image) for image in row["judgments"]["image_id"]]
            scores = rng.normal(size=len(images)) + 0.5 * np.array(labels)
            run[str(row["query_id"])] = dict(zip(images[::2], scores[::2].tolist(), strict=True))
            qrels[str(row["query_id"])] = dict(zip(images, labels, strict=True))
    (table, _), _ = bench_runs(queries, {"random": run})
    measures = {"nDCG": "ndcg", "R-precision": "Rprec"}
    measures |= {"average precision": "map", "Recall@5": "success_5"}
    peer = pytrec_eval.RelevanceEvaluator(qrels, {"ndcg", "Rprec", "map", "success"}).evaluate(run)
    for kind, row in zip(QUERY_TYPES, table.rows, strict=True):
        ids = [str(one["query_id"]) for one in queries[kind] if 1 in one["judgments"]["label"]]
        assert row["queries"] == f"{kind}, {len(ids)}"
        for measure, name in measures.items():
            expected = np.mean([peer[one][name] for one in ids])
            assert row[measure][0] == pytest.approx(expected, abs=1e-9), measure


@pytest.mark.realdata
def test_command_includes_published_rows(real_data, tmp_path, capsys):
    rows = load_benchmark("conqa", data_dir=str(real_data), split="descriptive")
    lines = [
        f"{row['query_id']} Q0 {image} 1 {1 / (rank + 1)} mine\n"
        for row in rows
        for rank, image in enumerate(row["judgments"]["image_id"][:50])
    ]
    (tmp_path / "mine.trec").write_text("".join(lines))
    arguments = ["bench", "conqa", "--data-dir", str(real_data), "--runs"]
    assert main([*arguments, f"ours={tmp_path / 'mine.trec'}", "--format", "json"]) == 0
    out, err = capsys.readouterr()
    tables = json.loads(out)["tables"]
    assert [row["run"] for row in tables["conqa"]["rows"]] == ["ours", "ours"]
    assert tables["published"]["rows"][0]["nDCG"] == 0.48 and "count as 0" in err
    assert main(arguments[:-1]) == 2 and "missing --runs" in capsys.readouterr().err
