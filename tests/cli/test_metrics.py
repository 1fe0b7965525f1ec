"""`pqpp metrics` on files."""

import pytest

from pqpp_cli.main import main
from pqpp_metrics.registration import list_metrics


def test_list_and_show_every_metric(capsys):
    assert main(["metrics", "list"]) == 0
    assert set(list_metrics()) <= set(capsys.readouterr().out.split())
    assert main(["metrics", "show", "pqpp/kendall_qpp"]) == 0
    assert "tau-b" in capsys.readouterr().out


def test_invalid_input_is_one_line(tmp_path, compute):
    (tmp_path / "a.csv").write_text("x,y\n1,a\n2,b\n3,c\n")
    for words, expected in (
        (["kendal_qpp"], "did you mean 'pqpp/kendall_qpp'"),
        (["kendall_qpp", "--predictions", "a.csv:y", "--references", "a.csv:x"], "line 2: "),
    ):
        error, _ = compute(*words, status=2)
        assert expected in error and "\n" not in error


@pytest.mark.parametrize("key", ["id", "query_id", "prompt_id", "prompt"])
def test_files_with_ids_are_joined_by_them(tmp_path, compute, key):
    """The second file has the reverse order, and one value differs by 1."""
    (tmp_path / "p.csv").write_text(f"{key},p\n01,1\nb,2\nc,3\nd,5\n")
    (tmp_path / "r.csv").write_text(f"{key},r\nd,4\nc,3\nb,2\n01,1\n")
    (tmp_path / "s.csv").write_text("r\n4\n3\n2\n1\n")
    joined = compute("rmse_qpp", "--predictions", "p.csv:p", "--references", "r.csv:r")[1]
    assert joined["n"] == 4 and joined["rmse_qpp"] == pytest.approx(0.5, abs=1e-12)
    # Without ids in both files, rows are paired by position.
    by_position = compute("rmse_qpp", "--predictions", "p.csv", "--references", "s.csv")[1]
    assert by_position["rmse_qpp"] == pytest.approx((27 / 4) ** 0.5, abs=1e-12)
    texts = ("--predictions", f"p.csv:{key}", "--references", f"r.csv:{key}")
    assert compute("cohen_kappa", *texts)[1]["cohen_kappa"] < 0  # scored columns are not ids


def test_csv_has_a_row_for_each_group(tmp_path, capsys):
    (tmp_path / "m.csv").write_text("match,task\n1,x\n0,x\n1,y\n")
    path = tmp_path / "m.csv"
    words = ["match_rate", "--input", f"matches={path}:match", "--input", f"groups={path}:task"]
    assert main(["metrics", "compute", *words, "--format", "csv"]) == 0
    lines = capsys.readouterr().out.splitlines()[1:]
    rates = {line.split(",")[0]: float(line.split(",")[1]) for line in lines}
    assert rates == {"": pytest.approx(2 / 3), "x": 0.5, "y": 1}


def test_columns_of_unequal_length_are_two_groups(tmp_path, compute):
    """In 1 of the 3 x 2 pairs, x is higher."""
    (tmp_path / "x.csv").write_text("id,v\na,+1\nb,02\nc,5\n")
    (tmp_path / "y.csv").write_text("id,v\nd,3\ne,6\n")
    result = compute("mann_whitney", "--input", "x=x.csv", "--input", "y=y.csv:v")[1]
    assert result["mann_whitney"] == 1.0 and (result["n_x"], result["n_y"]) == ([3], [2])
    assert result["p_value"] == [pytest.approx(0.2)]  # 2 of the 10 ways to choose have U <= 1


def test_several_columns_are_one_list_per_row(tmp_path, compute, capsys):
    """By hand, for three raters: P = (1 + 1/3) / 2, Pe = (4/6)^2 + (2/6)^2, kappa = .25."""
    (tmp_path / "r.csv").write_text("prompt,r1,r2,r3\na,yes,yes,yes\nb,yes,no,no\n")
    result = compute("fleiss_kappa", "--input", "ratings=r.csv:r1,r2,r3")[1]
    assert result["fleiss_kappa"] == pytest.approx(0.25, abs=1e-12)
    assert compute("fleiss_kappa", "--input", "ratings=r.csv")[1] == result
    error, _ = compute("fleiss_kappa", "--input", "ratings=r.csv:r1,r9", status=2)
    assert "no column 'r9' (columns: prompt, r1" in error
    (tmp_path / "t.csv").write_text("id,predictions,references\n1,2024,2024\n2,1999,1998\n3,,x\n")
    texts = compute("text_rendering", "--predictions", "t.csv", "--references", "t.csv")[1]
    assert texts["characters"] == [1.0, 0.75, 0.0]  # the numbers are texts
    (tmp_path / "m.csv").write_text("match,task,model\n1,a,x\n0,a,y\n1,a,x\n")
    matches = ("--input", "matches=m.csv:match", "--input")
    rows = compute("match_rate", *matches, "groups=m.csv:task,model")[1]["groups"]
    found = [(row["group_0"], row["group_1"], row["n"]) for row in rows]
    assert found == [("a", "x", 2), ("a", "y", 1)]
    (row,) = compute("match_rate", *matches, "groups=m.csv:task")[1]["groups"]
    assert row["n"] == 3 == compute("match_rate", *matches[:2])[1]["n"]
    assert main(["metrics", "compute", "match_rate", *matches[:2]]) == 0
    table = capsys.readouterr().out
    names = [line.split()[0] for line in table.splitlines()[2:]]
    assert names == ["match_rate", "ci_low", "ci_high", "n"]
    assert main(["metrics", "compute", "match_rate", *matches, "groups=m.csv:task,model"]) == 0
    table = capsys.readouterr().out
    assert [line.split()[1:3] for line in table.splitlines()[-2:]] == [["x", "1"], ["y", "0"]]
