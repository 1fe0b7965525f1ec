import textwrap

import pytest
from support.processes import run_python, run_warm

from pqpp_metrics import registration


def run(code, cwd, runs=run_warm, **environment):
    """Run code in an interpreter of its own and return what it prints."""
    environment = {"PYTHONPATH": str(registration._PACKAGE.parent)} | environment
    result = runs(textwrap.dedent(code), cwd, **environment)
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_import_is_light(tmp_path):
    code = """
        import sys, pqpp_metrics.functional
        heavy = {"evaluate", "datasets", "scipy", "pandas", "torch", "sklearn"} & set(sys.modules)
        print(sorted(heavy))
    """
    assert run(code, tmp_path, run_python) == "[]\n"


# `import evaluate` is slow: each order of imports runs in one process.
_PRINT_PATCHED = """
import evaluate.inspect, evaluate.evaluation_suite, evaluate.loading as loading
for module in (loading, evaluate.inspect, evaluate.evaluation_suite):
    print(module.evaluation_module_factory is loading.evaluation_module_factory)
print(loading.evaluation_module_factory.resolves_pqpp)
"""


def test_evaluate_may_be_imported_first(tmp_path):
    code = "import evaluate, pqpp_metrics\nprint(evaluate.load('pqpp/kendall_qpp').name)"
    printed = run(code + _PRINT_PATCHED, tmp_path)
    assert printed == "kendall_qpp\nTrue\nTrue\nTrue\nTrue\n"


def test_evaluate_imported_second_loads_only_the_registration(tmp_path):
    code = """
import sys, pqpp_metrics, evaluate
ours = {name for name in sys.modules if name.startswith("pqpp")}
print(sorted(ours - {"pqpp_metrics", "pqpp_metrics.registration", "pqpp_autoload"}))
before = set(sys.modules)
metric = evaluate.load("pqpp/hbpp")
metric.compute(labels=[[1]], prompt_ids=["a"])
added = {name.partition(".")[0] for name in set(sys.modules) - before}
print(sorted(name for name in added if not name.startswith("pqpp_")))
"""
    environment = {"PQPP_NO_AUTOLOAD": "1"}  # else transformers calls the models' plugins
    printed = run(code + _PRINT_PATCHED, tmp_path, **environment)
    assert printed == "[]\n['array_api_compat', 'evaluate_modules']\nTrue\nTrue\nTrue\nTrue\n"


def test_pqpp_names_win_over_local_folders_and_others_do_not_change(tmp_path, monkeypatch):
    import evaluate

    for name in ("pqpp/hbpp", "mine/hbpp"):
        folder = tmp_path / name
        folder.mkdir(parents=True)
        (folder / "hbpp.py").write_text(
            "import evaluate\n"
            "import datasets\n"
            "class Local(evaluate.Metric):\n"
            "    def _info(self):\n"
            "        return evaluate.MetricInfo(description='', citation='',\n"
            "            features=datasets.Features({'predictions': datasets.Value('int64')}))\n"
        )
    monkeypatch.chdir(tmp_path)
    names = [evaluate.load(name).name for name in ("pqpp/hbpp", "mine/hbpp", "./pqpp/hbpp")]
    assert names == ["hbpp", "local", "local"]


def test_an_unknown_name_is_one_line():
    import evaluate

    with pytest.raises(FileNotFoundError, match="did you mean 'pqpp/kendall_qpp'") as caught:
        evaluate.load("pqpp/kendal_qpp")
    assert "\n" not in str(caught.value)
    names = [name for name in registration.list_metrics() if f"'pqpp/{name}'" in str(caught.value)]
    assert 1 <= len(names) <= 3
    for name in ("", "..", "../errors", "hbpp/", "functional", "app"):
        with pytest.raises(FileNotFoundError):
            evaluate.load(f"pqpp/{name}")
