"""A folder with a loading script, as strangers may have one: one line, and it is not run."""

from pqpp_cli.main import main


def test_a_folder_that_datasets_stumbles_over(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "train.csv").write_text("prompt\na cat\n")
    (tmp_path / "mine" / "mine.py").write_text("open('executed', 'w')\n")
    assert main(("predict", "--dataset", "mine", "--predictor", "n_words")) == 2
    said = capsys.readouterr()
    assert said.out == "" and said.err.count("\n") == 1 and "mine cannot be loaded" in said.err
    assert not (tmp_path / "executed").exists()
