"""Puts the start-up files beside the packages; all else is in setup.cfg."""

import runpy
from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

START_UP_FILES = runpy.run_path(str(Path(__file__).with_name("pqpp_autoload.py")))["START_UP_FILES"]


class BuildWithStartUpFiles(build_py):
    """Writes the files that site-packages must hold at its top, where setup.cfg can't put them."""

    def run(self):
        """Build as always, then add the files; an editable install does without them."""
        super().run()
        if not getattr(self, "editable_mode", False):
            for name, text in START_UP_FILES.items():
                (Path(self.build_lib) / name).write_text(text, "utf-8")

    def get_outputs(self, include_bytecode=True):
        """List the added files too, so that an uninstall removes them."""
        added = [str(Path(self.build_lib) / name) for name in START_UP_FILES]
        return [*super().get_outputs(include_bytecode), *added]


setup(cmdclass={"build_py": BuildWithStartUpFiles})
