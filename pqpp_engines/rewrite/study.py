"""Whether a rewrite helped, asked of people: the tables of a study of preferences."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pqpp_engines.errors import RewriteError
from pqpp_files.paths import check_output_folder, expanded
from pqpp_files.write_beside import write_whole
from pqpp_files.write_table import table_text

PROMPTS, PAIRS = "prompts.csv", "pairs.csv"
ORIGINAL, REWRITTEN = "original", "rewritten"


def write_study(
    folder: str | os.PathLike[str],
    prompt_ids: Sequence[str],
    originals: Sequence[str],
    rewrites: Sequence[str],
    model: str,
    images_per_prompt: int = 1,
) -> int:
    """Write what `pqpp generate` makes images of, and what `pqpp annotate` shows of them.

    People see the original prompt with an image of it beside one of its rewrite, and say which
    shows the prompt better; they are not told which is which. Prompts that stayed are left out.

    Args:
        folder: Gets `prompts.csv` (`prompt_id`, `prompt`) and `pairs.csv` (`prompt_id`, `prompt`,
            `image` below `images`, and `original` or `rewritten` as `model`). What else is there
            stays, the images above all.
        prompt_ids: One a prompt, no two alike.
        originals: The prompts.
        rewrites: What stands for them.
        model: What `pqpp generate` calls the model in files.
        images_per_prompt: How many pairs of images of each prompt.

    Returns:
        How many prompts are in the study.

    Raises:
        RewriteError: There are not as many ids, prompts and rewrites, no prompt was rewritten, two
            have one id, or there are no images.

    Example:
        >>> import tempfile
        >>> folder = Path(tempfile.mkdtemp())
        >>> write_study(folder, ["7", "8"], ["a cat", "a dog"], ["one cat", "a dog"], "sdxl")
        1
        >>> print((folder / "pairs.csv").read_text(), end="")
        prompt_id,prompt,image,model
        7-0,a cat,7-original/sdxl_0.png,original
        7-0,a cat,7-rewritten/sdxl_0.png,rewritten
    """
    if images_per_prompt < 1:
        raise RewriteError(f"images per prompt {images_per_prompt}: give 1 or more")
    if not len(prompt_ids) == len(originals) == len(rewrites):
        raise RewriteError(
            f"{len(prompt_ids)} prompt ids, {len(originals)} originals and {len(rewrites)} "
            "rewrites; give as many of each"
        )
    if len(set(prompt_ids)) < len(prompt_ids):
        raise RewriteError("two prompts have one prompt_id; give each one of its own")
    place = expanded(folder)
    check_output_folder(place)
    prompts: list[tuple[Any, ...]] = []
    pairs: list[tuple[Any, ...]] = []
    for key, original, rewrite in zip(prompt_ids, originals, rewrites, strict=True):
        if rewrite == original:
            continue
        sides = {ORIGINAL: original, REWRITTEN: rewrite}
        prompts += [(f"{key}-{side}", text) for side, text in sides.items()]
        for at in range(images_per_prompt):
            pairs += [(f"{key}-{at}", original, f"{key}-{s}/{model}_{at}.png", s) for s in sides]
    if not prompts:
        raise RewriteError("no prompt was rewritten, so there is nothing that people could compare")
    _write(place / PROMPTS, ("prompt_id", "prompt"), prompts)
    _write(place / PAIRS, ("prompt_id", "prompt", "image", "model"), pairs)
    return len(prompts) // 2


def _write(path: Path, names: Sequence[str], rows: Sequence[Sequence[Any]]) -> None:
    columns = dict(zip(names, map(list, zip(*rows, strict=True)), strict=True))
    write_whole(path, "".join(table_text("csv", [columns])))
