"""Puts the start-up files and the cards where an install needs them, and README on the index.

`training/` is installed as `pqpp_training`.
All else is in setup.cfg.
"""

import re
import runpy
import shutil
import zipfile
from pathlib import Path

from setuptools import find_packages, setup
from setuptools.command.build_py import build_py
from setuptools.command.editable_wheel import editable_wheel

ROOT = Path(__file__).parent
START_UP_FILES = runpy.run_path(str(ROOT / "pqpp_autoload.py"))["START_UP_FILES"]
CARDS = ROOT / "hub_cards"
CARD_FILES = sorted(path.relative_to(CARDS) for path in CARDS.rglob("*.md"))
CARD_FOLDER = Path("pqpp_hub") / "cards"
SOURCES = ""
"""Where a release's files can be read, as https://github.com/OWNER/NAME/blob/vX.Y.Z/; none yet."""


def on_index(text, sources=SOURCES):
    """Return README for the page of an index, which has none of the files that it links to.

    Links and pictures get a whole address, pictures that of the file itself, which forges call
    `raw` where its page is `blob`. Without one a link is its words, a picture none.
    """
    place = r"\]\((?!\w+:)([^)\s]+)\)"
    if sources:
        of = {"": sources, "!": sources.replace("/blob/", "/raw/")}
        whole = rf"(!?)(\[[^\]]*){place}"
        return re.sub(whole, lambda found: f"{found[1]}{found[2]}]({of[found[1]]}{found[3]})", text)
    text = re.sub(rf"^!\[[^\]]*{place}\n(\*.*\*\n)?", "", text, flags=re.MULTILINE)
    return re.sub(rf"\[([^\]]*){place}", r"\1", text)


class BuildWithFilesFromElsewhere(build_py):
    """Adds what site-packages must hold at its top, and the cards that lie outside the packages."""

    def run(self):
        """Build as always, then add the files; an editable install has its own way."""
        super().run()
        if getattr(self, "editable_mode", False):
            return
        for name, text in START_UP_FILES.items():
            (Path(self.build_lib) / name).write_text(text, "utf-8")
        for card in CARD_FILES:
            place = Path(self.build_lib) / CARD_FOLDER / card
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(CARDS / card, place)

    def get_outputs(self, include_bytecode=True):
        """List the added files too, so that an uninstall removes them."""
        names = [*START_UP_FILES, *(CARD_FOLDER / card for card in CARD_FILES)]
        added = [str(Path(self.build_lib) / name) for name in names]
        return [*super().get_outputs(include_bytecode), *added]


class EditableWithStartUpFiles(editable_wheel):
    """Adds the start-up files to the wheel of `pip install -e .`, which builds no packages."""

    def run(self):
        """Build as always, then append the files; the installer records them."""
        super().run()
        (wheel,) = Path(self.dist_dir).glob("*editable*.whl")
        with zipfile.ZipFile(wheel, "a") as archive:
            for name, text in START_UP_FILES.items():
                archive.writestr(name, text)


if __name__ == "__main__":
    setup(
        packages=[*find_packages(include=["pqpp_*"]), "pqpp_training"],
        package_dir={"pqpp_training": "training"},
        cmdclass={
            "build_py": BuildWithFilesFromElsewhere,
            "editable_wheel": EditableWithStartUpFiles,
        },
        long_description=on_index((ROOT / "README.md").read_text("utf-8")),
    )
