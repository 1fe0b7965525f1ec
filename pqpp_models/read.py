"""The content and ignored parts of prompts as a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pqpp_models.predictor import Predictor
from pqpp_models.prompts import parse_prompts
from pqpp_models.registry import DEFAULT_PREDICTOR
from pqpp_models.verdict.skills import find_skills

if TYPE_CHECKING:
    import pandas as pd


def read(prompts: Any) -> pd.DataFrame:
    """Return a table of how pqpp reads prompts: content, ignored parts, needed skills.

    Args:
        prompts: One prompt, a list of them, or a table with a column `prompt`.

    Returns:
        One row per prompt, with the index of a pandas Series or DataFrame. The columns are
        `prompt`; `content`, what the image should show; `ignored`, the ignored parts by kind;
        `unwanted`, what a negative prompt or ``--no`` names; `texts` to draw; `skills`, the needed
        skills, in words; `dialect`: `prose`, `tags`, `garbled`, `empty` or the name of another
        language; and `unknown` words.

    Raises:
        PredictorError: The prompts cannot be read.

    Example:
        >>> table = read(["(two red cats:1.2), 4k --no dogs", "ein Hund auf dem Sofa"])
        >>> table.content.tolist(), table.dialect.tolist()
        (['two red cats', 'ein Hund auf dem Sofa'], ['prose', 'German'])
    """
    import pandas as pd

    static: Any = Predictor.from_pretrained(DEFAULT_PREDICTOR)
    rows = []
    for one in parse_prompts([prompts] if isinstance(prompts, str) else prompts):
        words = static.known_words.read(one.normalised)
        dialect = "tags" if one.is_tag_list else "prose"
        if words.language or words.is_garbled or not one.content:
            dialect = words.language or ("garbled" if one.content else "empty")
        skills = [skill.says for skill in find_skills(one.content)]
        cells = (one.text, one.content, one.ignored_text, one.unwanted, one.texts, skills, dialect)
        rows.append((*cells, words.unknown))
    names = ("prompt", "content", "ignored", "unwanted", "texts", "skills", "dialect", "unknown")
    index = prompts.index if hasattr(prompts, "iloc") else None
    return pd.DataFrame(rows, index, names)
