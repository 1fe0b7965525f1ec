"""`pqpp models list`: what there is, what it needs, how large it is."""

from pqpp_cli.main import main
from pqpp_models.registry import SHIPPED


def test_models_list_shows_needs(capsys):
    assert main(["models", "list"]) == 0
    shown = capsys.readouterr().out
    lines = {line.split()[0]: line for line in shown.splitlines() if line[:1].strip()}
    size = sum(one.stat().st_size for one in (SHIPPED / "static").iterdir())
    assert f"{size / 1e6:.1f} MB" in lines["static"]
    assert "NLTK's punkt_tab" in lines["n_words"] and lines["n_words"].endswith("-")
