"""The smallest study that can be looked at: one prompt with one image."""

from __future__ import annotations

import tempfile
from pathlib import Path

from pqpp_annotation.simulate import Simulated, simulate
from pqpp_annotation.store.database import Store, open_store
from pqpp_annotation.study.init import make_study
from pqpp_annotation.study.study import Study


def example_study(answered: bool = False) -> tuple[Path, Study, Store]:
    """Make a study of ratings with one prompt and one image, for examples.

    Args:
        answered: Whether two made-up people, `ann` and `bob`, have answered it.

    Returns:
        Its folder, below the folder for temporary files, the study and its open store.

    Example:
        >>> folder, study, store = example_study()
        >>> study.kind_name, (folder / "a.png").is_file()
        ('rating', True)
        >>> store.close()
    """
    from PIL import Image

    folder = Path(tempfile.mkdtemp())
    Image.new("RGB", (8, 6)).save(folder / "a.png")
    (folder / "prompts.csv").write_text("prompt,image\na cat,a.png\n", encoding="utf-8")
    study = make_study(folder / "study.yaml", folder / "prompts.csv", kind="rating")
    store = open_store(study)
    if answered:
        simulate(store, study, [Simulated("ann"), Simulated("bob", "random")], seed=1)
    return folder, study, store
