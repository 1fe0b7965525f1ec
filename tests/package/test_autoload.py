"""The start-up files: cheap, harmless, switched on and off."""

import subprocess
import sys
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.processes import run, run_python

import pqpp_autoload


def test_interpreter_start_imports_only_the_hook(tmp_path):
    code = (
        "import sys\n"
        "heavy = ('datasets', 'evaluate', 'numpy')\n"
        "print([m for m in sys.modules if m.startswith('pqpp') or m in heavy])"
    )
    assert run_python(code, tmp_path).stdout.strip() == "['pqpp_autoload']"


def get_start_up_line():
    return pqpp_autoload.START_UP_FILES["pqpp_autoload.pth"]


def test_start_up_line_never_breaks_an_interpreter(tmp_path):
    # As after an incomplete uninstallation: the line exists, the module is gone or broken.
    assert get_start_up_line().startswith("import ") and get_start_up_line().count("\n") == 1
    site = tmp_path / "site"
    site.mkdir()
    (site / "broken.pth").write_text(get_start_up_line().replace("pqpp_autoload", "pqpp_gone"))
    (site / "worse.pth").write_text(get_start_up_line().replace("pqpp_autoload", "pqpp_broken"))
    (site / "pqpp_broken.py").write_text("raise RuntimeError('broken')")
    code = f"import site; site.addsitedir({str(site)!r}); print('alive')"
    done = run_python(code, tmp_path)
    assert (done.stdout.strip(), done.stderr) == ("alive", "")


def test_interrupt_in_the_start_up_line_prints_no_traceback(tmp_path):
    (tmp_path / "pqpp_slow.py").write_text("raise KeyboardInterrupt")
    line = get_start_up_line().replace("pqpp_autoload", "pqpp_slow")
    done = run_python(f"{line}print('alive')", tmp_path)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "")


def test_incompatible_library_is_a_warning(tmp_path):
    package = tmp_path / "datasets"
    package.mkdir()
    (tmp_path / "datasets-99.dist-info").mkdir()  # marks it as installed, not the project's own
    (package / "__init__.py").write_text("__version__ = '99'\nfrom . import load\n")
    (package / "load.py").write_text("value = 1\n")
    code = "import datasets; print(datasets.load.value)"
    done = run_python(code, tmp_path)
    assert done.stdout.strip() == "1", done.stderr
    assert "pqpp_datasets.registration could not be registered (" in done.stderr
    assert "or run: from pqpp_datasets.registration import register; register()" in done.stderr


@pytest.mark.parametrize("version", ["", "__version__ = '1.0'\n"])
def test_project_package_named_like_a_library_is_not_patched(tmp_path, version):
    (tmp_path / "datasets").mkdir()
    (tmp_path / "datasets" / "__init__.py").write_text(version)
    (tmp_path / "datasets" / "load.py").write_text("def load_dataset(name): return name\n")
    code = (
        "import sys; from datasets.load import load_dataset\n"
        "print(load_dataset('pqpp'), 'pqpp_datasets.load' in sys.modules)"
    )
    done = run_python(code, tmp_path)
    assert (done.stdout.strip(), done.stderr) == ("pqpp False", "")


@pytest.mark.parametrize("name", ["datasets", "metrics", "models", "feedback"])
def test_warning_names_a_module_that_cannot_be_imported(tmp_path, name):
    library = {"datasets": "datasets.load", "metrics": "evaluate.loading"}.get(
        name, "transformers.pipelines"
    )
    package, module = library.split(".")
    (tmp_path / package).mkdir()
    (tmp_path / package / "__init__.py").write_text("__version__ = '99'\n")
    (tmp_path / package / f"{module}.py").write_text("")
    code = f"import sys; sys.modules['pqpp_{name}.registration'] = None\n"
    done = run_python(f"{code}import {library}; print('alive')", tmp_path)
    assert done.stdout.strip() == "alive", done.stderr
    assert f"pqpp_{name}.registration could not be registered (" in done.stderr
    status = "from pathlib import Path; from pqpp_hub.start_up import describe_autoload as status\n"
    done = run_python(f"{code}{status}print(status(Path('.')))", tmp_path)
    first, second, *more = done.stdout.splitlines()
    assert first.startswith("autoload is off in")
    assert second.startswith(f"pqpp_{name}.registration cannot be imported (")
    assert more == []  # other registrations do not depend on it


def test_off_survives_a_reinstallation(tmp_path, monkeypatch):
    # A reinstallation writes the start-up files anew.
    from pqpp_hub import start_up as autoload

    monkeypatch.setattr(pqpp_autoload, "__file__", str(tmp_path / "pqpp_autoload.py"))
    fake_distribution = SimpleNamespace(read_text=lambda name: None, files=())
    monkeypatch.setattr(autoload, "distribution", lambda name: fake_distribution)
    hooked = []
    monkeypatch.setattr(pqpp_autoload, "call_when_imported", lambda name, _: hooked.append(name))

    def reinstall():
        for name, text in pqpp_autoload.START_UP_FILES.items():
            (tmp_path / name).write_text(text)
        pqpp_autoload.start()

    autoload.disable_autoload(tmp_path)
    reinstall()
    assert hooked == [] and "autoload is off in" in autoload.describe_autoload(tmp_path)
    autoload.enable_autoload(tmp_path)
    reinstall()
    assert hooked and "autoload is on in" in autoload.describe_autoload(tmp_path).splitlines()[0]


def test_callback_runs_once_at_import_and_at_once_afterwards(tmp_path):
    (tmp_path / "late_module.py").write_text("value = 3\n")
    code = (
        "import sys; sys.path.insert(0, '.')\n"
        "from pqpp_autoload import call_when_imported\n"
        "seen = []\n"
        "call_when_imported('late_module', lambda m: seen.append(m.value))\n"
        "print(seen); import late_module; import importlib; importlib.reload(late_module)\n"
        "call_when_imported('late_module', lambda m: seen.append(-m.value))\n"
        "print(seen, late_module.__spec__.loader.get_source('late_module').strip())"
    )
    assert run_python(code, tmp_path).stdout.splitlines() == ["[]", "[3, -3] value = 3"]


def test_import_error_stays_unchanged(tmp_path):
    (tmp_path / "bad_module.py").write_text("raise KeyError('its own fault')\n")
    code = (
        "import sys; sys.path.insert(0, '.')\n"
        "from pqpp_autoload import call_when_imported\n"
        "call_when_imported('bad_module', print)\n"
        "try: import bad_module\n"
        "except KeyError as error: print(error)"
    )
    assert run_python(code, tmp_path).stdout.strip() == "'its own fault'"


def find_purelib(python) -> Path:
    code = "import sysconfig; print(sysconfig.get_path('purelib'))"
    return Path(subprocess.check_output([python, "-c", code], text=True).strip())


@pytest.fixture
def editable(tmp_path, request):
    """An environment with an editable install, followed on its path by this one's packages."""
    folder = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = folder / "bin" / "python"
    (find_purelib(python) / "zz_packages.pth").write_text(f"{find_purelib(sys.executable)}\n")
    options = ["-q", "--no-deps", "--disable-pip-version-check"]
    install = [python, "-m", "pip", "install", *options, "-e", str(request.config.rootpath)]
    subprocess.run(install, check=True, cwd=tmp_path)
    return folder


@pytest.mark.slow
def test_autoload_commands_and_uninstall_of_an_editable_install(editable, tmp_path):
    python, pqpp = str(editable / "bin" / "python"), str(editable / "bin" / "pqpp")

    def autoload(action, **environment):
        done = run([pqpp, "models", "autoload", action], tmp_path, **environment)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def is_loaded():
        code = "import sys; print('pqpp_autoload' in sys.modules)"
        return run([python, "-c", code], tmp_path).stdout.strip() == "True"

    assert "autoload is on" in autoload("status") and is_loaded()
    assert "autoload is on" in autoload("on")  # the second time changes nothing
    assert "switches it off" in autoload("status", PQPP_NO_AUTOLOAD="1")
    assert "autoload is off" in autoload("off") and not is_loaded()
    assert "autoload is on" in autoload("on") and is_loaded()
    subprocess.run([python, "-m", "pip", "uninstall", "-q", "-y", "pqpp"], check=True)
    assert not list(find_purelib(python).glob("pqpp_autoload.*"))
