import gzip
import io
import math
import re
import sys

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pqpp_files.errors import FileError
from pqpp_metrics import functional
from pqpp_metrics.errors import MetricInputError, UnjudgedWarning
from pqpp_metrics.runs import evaluate_run, join_rankings, read_qrels, read_run, read_trec

RUN = "q1 Q0 d1 1 3.5 tag\nq1 Q0 d2 2 -1e-3 tag\nq2 Q0 d1 1 7 tag\n"
QRELS = "q1 0 d2 1\nq1 0 d9 2\nq2 0 d1 0\nq2 0 d3 -1\n"


def write(folder, name, text):
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def flatten(nested):
    return [(query, *pair) for query, documents in nested.items() for pair in documents.items()]


def test_joined_rankings_are_padded_arrays(tmp_path):
    run = read_run(write(tmp_path, "run", RUN))
    qrels = read_qrels(write(tmp_path, "qrels", QRELS))
    found = join_rankings(run, qrels)
    assert found.query_ids == ["q1", "q2"]
    assert found.relevance.tolist() == [[0, 1], [0, 0]]
    assert found.unretrieved.tolist() == [[2], [0]]
    assert found.scores[0].tolist() == [3.5, -1e-3]
    assert found.scores[1, 0] == 7 > found.scores[1, 1]
    assert found.document_numbers([0, 1]).tolist() == [[1, 2], [1, 0]]


def test_document_numbers_order_names_byte_by_byte(tmp_path):
    names = ["d10", "d9", "Z", "é", "文", "d"]
    lines = [f"q Q0 {name} 1 {n} t" for n, name in enumerate(names)]
    run = read_run(write(tmp_path, "run", "\n".join(lines)))
    found = join_rankings(run, read_qrels(write(tmp_path, "qrels", "q 0 d 1\n")))
    ordered = sorted(names, key=str.encode)
    assert found.document_numbers([0]).tolist() == [[ordered.index(name) + 1 for name in names]]


def test_runs_from_standard_input(tmp_path, monkeypatch):
    stream = io.TextIOWrapper(io.BytesIO(gzip.compress(RUN.encode())))
    monkeypatch.setattr(sys, "stdin", stream)
    assert flatten(read_run("-")) == flatten(read_run(write(tmp_path, "run", RUN)))
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"q Q0 d 1 2")))
    with pytest.raises(MetricInputError, match=r"standard input, line 1: .* got 5"):
        read_run("-")
    (tmp_path / "r.gz").write_bytes(gzip.compress(RUN.encode())[:-9])
    with pytest.raises(FileError, match=r"r\.gz is a damaged gzip file"):
        read_run(tmp_path / "r.gz")


@pytest.mark.parametrize(
    ("read", "text", "message"),
    [
        (read_run, "", "is empty"),
        (read_run, "q Q0 d1 1 3 t\n\n# one\nq Q0 d2 2 3\n", "line 4: .* got 5"),
        (read_run, "q Q0 d1 1 NA t\n", "line 1: the score .* got 'NA'"),
        (read_qrels, "q 0 d1 1 extra\n", "line 1: .* got 5"),
        (read_qrels, "q 0 d1 inf\n", "line 1: the relevance .* got 'inf'"),
        (read_qrels, "q 0 d1 1_0\n", "line 1: the relevance .* got '1_0'"),
    ],
)
def test_errors_name_the_file_and_line(tmp_path, read, text, message):
    with pytest.raises(MetricInputError, match=rf"bad\.trec.*{message}"):
        read(write(tmp_path, "bad.trec", text))


def test_grades_of_a_file_may_be_fractions(tmp_path):
    qrels = read_qrels(write(tmp_path, "qrels", "q1 0 d1 0.5\nq1 0 d2 2\n"))
    assert qrels == {"q1": {"d1": 0.5, "d2": 2}} and isinstance(qrels["q1"]["d2"], int)
    found = evaluate_run({"q1": {"d1": 2.0, "d2": 1.0}}, qrels, "ndcg")["values"]["ndcg"]
    discount = 1 / math.log2(3)
    assert found == pytest.approx((0.5 + 2 * discount) / (2 + 0.5 * discount))


def test_a_query_on_one_side_only(tmp_path):
    run = read_run(write(tmp_path, "run", RUN + "q3 Q0 d1 1 1 t\n"))
    qrels = read_qrels(write(tmp_path, "qrels", QRELS + "q4 0 d1 1\n"))
    with pytest.raises(MetricInputError, match=r"1 query in the judgments has no .* \(q4\)"):
        join_rankings(run, qrels)
    dropped = join_rankings(run, qrels, missing="drop")
    assert dropped.query_ids == ["q1", "q2"]
    with pytest.warns(UnjudgedWarning, match="q3"):
        zero = join_rankings(run, qrels, missing="zero")
    assert zero.query_ids == ["q1", "q2", "q4"]
    ranked = {"scores": zero.scores, "relevance": zero.relevance}
    for name in ("reciprocal_rank", "precision_at_k"):
        assert getattr(functional, name)(**ranked)[2] == 0
    for name in ("recall_at_k", "ndcg", "average_precision", "r_precision"):
        assert getattr(functional, name)(**ranked, unretrieved=zero.unretrieved)[2] == 0
    other = read_run(write(tmp_path, "other", "x Q0 d1 1 1 t\n"))
    with pytest.raises(MetricInputError, match=r"in the run has no documents in .* \(q2\)"):
        join_rankings(run, {"q1": {"d1": 1}, "q2": {}, "q3": {"d1": 1}})
    with pytest.raises(MetricInputError, match="no query in common"):
        join_rankings(other, qrels, missing="zero")
    with pytest.raises(MetricInputError, match="add the documents"):
        join_rankings(run, read_qrels(write(tmp_path, "q", QRELS)))


IDS = st.text("abcé7#", min_size=1, max_size=3).filter(lambda name: name[0] != "#")


@given(st.dictionaries(st.tuples(IDS, IDS), st.integers(-9, 9), min_size=1, max_size=6), st.data())
def test_blanks_comments_and_extra_words_are_ignored(tmp_path_factory, known, data):
    """As in trec_eval: blanks of any kind, comments, blank lines and words after a run's tag."""
    folder = tmp_path_factory.mktemp("noise")
    blanks = st.text(" \t\x0b\x0c", min_size=1, max_size=2)
    noise = st.sampled_from(["\n", " \n", "# 1 2 3 4 5\n", "\t#\n", "#a b c 1\n"])
    run, qrels = data.draw(st.sampled_from(["", "\ufeff"])), ""
    for (query, document), number in known.items():
        between = data.draw(blanks)
        extra = data.draw(st.sampled_from(["", " ", " more", "\tand more "]))
        end = data.draw(st.sampled_from(["\n", "\r\n"]))
        run += between.join([query, "Q0", document, "0", f"{number}", "t"]) + extra + end
        qrels += between.join([query, "0", document, f"{number}"]) + end
        run, qrels = run + data.draw(st.just("") | noise), qrels + data.draw(st.just("") | noise)
    found = flatten(read_run(write(folder, "run", run)))
    assert sorted(found) == sorted((*names, number) for names, number in known.items())
    found = flatten(read_qrels(write(folder, "qrels", qrels)))
    assert sorted(found) == sorted((*names, number) for names, number in known.items())


UNUSUAL_RUNS = {
    "tabs": "q\tQ0\ta\t1\t2\tt\nq\tQ0\tb\t2\t1\tt\n",
    "a tab within columns by blanks": "q Q0 a\tx 1 2 0.5\nq Q0 b\tx 2 1 0.5\n",
    "an empty column": "q  a 1 2 t\nq  b 2 1 t\n",
    "a sign": "q Q0 a 1 +2 t\nq Q0 b 2 1 t\n",
    "quotes": 'q Q0 "a 1 2 t\nq Q0 b" 2 1 t\n',
    "twice": "q Q0 a 1 2 t\n\nq Q0 b 2 1 t\nq Q0 a 3 0 t\n",
}


@pytest.mark.parametrize("text", UNUSUAL_RUNS.values(), ids=UNUSUAL_RUNS)
def test_reading_at_once_equals_reading_line_by_line(tmp_path, text):
    path = write(tmp_path, "run", text)
    try:
        expected = {}
        for (query, document, score), line in zip(*read_trec(path, "run")[:2], strict=True):
            if document in expected.setdefault(query, {}):
                raise MetricInputError(f"{path}, line {line}: document {document} appears twice")
            expected[query][document] = score
    except MetricInputError as error:
        with pytest.raises(MetricInputError, match=re.escape(str(error))):
            read_run(path)
    else:
        assert read_run(path) == expected


def test_runs_in_memory_are_checked():
    nested = {"q": {"d": 1}}
    with pytest.raises(MetricInputError, match="row 3: document d appears twice in query 7"):
        evaluate_run({"query": [7, 8, 7], "doc": ["d"] * 3, "score": [1, 2, 3]}, nested, "rr")
    with pytest.raises(MetricInputError, match="document 1 appears twice in query q"):
        evaluate_run({"q": {1: 0.2, "1": 0.3}}, {"q": {"1": 1}}, "rr")
    assert evaluate_run({"q": {1: 0.2, 2: 0.3}}, {"q": {"1": 1}}, "rr")["values"]["rr"] == [0.5]
    assert evaluate_run({1: {"a": 0.2}}, [("1", "a", 1)], "rr")["query_ids"] == ["1"]
    for run in ({"q": {"d": "x"}}, [("q", "d", "x")], {"q": {"d": 10**400}}, {"q": {"d": [1, 2]}}):
        with pytest.raises(MetricInputError, match=r"`run`.* number"):
            evaluate_run(run, nested, "rr")
    for empty in ({}, [], {"q": {}}):
        with pytest.raises(MetricInputError, match="`run` must not be empty"):
            evaluate_run(empty, nested, "rr")


def test_carriage_return_without_line_feed_is_a_blank(tmp_path):
    path = tmp_path / "run"
    path.write_bytes(b"a Q0 x 1 0.25 t\ra Q0 x 1 1e3 t\r")
    assert read_run(path) == {"a": {"x": 0.25}}
    assert evaluate_run({"q": {None: 1.0, "\ud800": 2.0}}, {"q": {"\ud800": 1}}, "rr")
