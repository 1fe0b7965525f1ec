"""`pqpp models list`: needs and sizes of predictors."""

from pqpp_cli.main import main
from pqpp_models.registry import SHIPPED


def test_models_list_shows_needs(capsys):
    assert main(["models", "list"]) == 0
    output = capsys.readouterr().out
    lines = {line.split()[0]: line for line in output.splitlines() if line[:1].strip()}
    size = sum(path.stat().st_size for path in (SHIPPED / "static").iterdir())
    assert f"{size / 1e6:.1f} MB" in lines["static"]
    assert "NLTK's punkt_tab" in lines["n_words"] and lines["n_words"].endswith("-")
