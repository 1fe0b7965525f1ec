"""Ctrl-C during imports and at exit: one line, and status 130."""

import os
import signal

import pytest
from support.processes import run_python

from pqpp_cli.main import main

INTERRUPTED_IMPORT = """
import os, signal, sys
class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            sys.meta_path.remove(self)
            os.kill(os.getpid(), signal.SIGINT)
sys.meta_path.insert(0, Interrupt())
from pqpp_cli.entry import main
status = main(["predict", "a cat"])
{at_exit}
sys.exit(status)
"""
INTERRUPT = "os.kill(os.getpid(), signal.SIGINT)"


@pytest.mark.parametrize(
    "module", ["pqpp_cli.main", "argparse", "pqpp_cli.predict", "numpy", "pqpp_models.predictor"]
)
def test_interrupt_during_imports_is_one_line(module, tmp_path):
    done = run_python(INTERRUPTED_IMPORT.format(module=module, at_exit=""), tmp_path)
    assert (done.returncode, done.stderr) == (130, "pqpp: interrupted\n"), done.stderr


def test_interrupt_at_exit_is_one_line(tmp_path):
    done = run_python(INTERRUPTED_IMPORT.format(module="none", at_exit=INTERRUPT), tmp_path)
    assert (done.returncode, done.stderr) == (130, "pqpp: interrupted\n"), done.stderr
    assert "mean_rr" in done.stdout


@pytest.mark.parametrize(("number", "status"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_signals_whose_exceptions_python_ignores_end_the_run(number, status, tmp_path):
    code = "import os, signal, time\nfrom pqpp_cli import entry, models\nclass Library:\n"
    code += f"    def __del__(self): os.kill(os.getpid(), signal.{number})\n"
    code += "models.ModelsList.run = lambda _: (Library(), None)[1] or time.sleep(5)\n"
    code += "raise SystemExit(entry.main(['models', 'list']))"
    done = run_python(code, tmp_path)
    assert (done.returncode, done.stderr) == (status, "pqpp: interrupted\n" * (status == 130))


@pytest.mark.parametrize(("number", "status"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_signals_that_a_library_hides_end_the_run(number, status, monkeypatch):
    def hide(command):
        try:
            os.kill(os.getpid(), number)
        except BaseException:
            raise ImportError("a library failed") from None  # as numpy's import does

    monkeypatch.setattr("pqpp_cli.models.ModelsList.run", hide)
    before = signal.signal(number, signal.SIG_DFL if status == 143 else signal.default_int_handler)
    assert main(["models", "list"]) == status
    signal.signal(number, before)


@pytest.mark.parametrize("handler", ["SIG_IGN", "SIG_DFL"])
def test_foreign_signal_handlers_are_kept(handler, tmp_path):
    code = f"import signal; signal.signal(signal.SIGINT, signal.{handler})\n"
    code += "from pqpp_cli.entry import main; main(['--version'])\n"
    code += "print(signal.getsignal(signal.SIGINT).name)"
    assert run_python(code, tmp_path).stdout.split()[-1] == handler
