"""Verdicts on prompts: the rank among other prompts, and the skills that cost most.

To find the cost of a skill, the skill is removed from the prompt (`skills`) and the prompt is
predicted again; the cost is the difference of both ranks among 100 prompts that people wrote. It is
a difference of predictions, not a cause of what images look like. Prompts of kinds that are not
ranked reliably get no verdict: see `benchmarks/verdicts.md`.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, overload

import numpy as np

from pqpp_datasets.target_columns import explain_target
from pqpp_files.escape import escape_controls
from pqpp_models.predict import explain_unreliable, find_unknown_words, predict_columns
from pqpp_models.predictor import Predictor
from pqpp_models.prompts import parse_prompts, to_prompt_list
from pqpp_models.registry import DEFAULT_PREDICTOR
from pqpp_models.targets import ALIGNMENT
from pqpp_models.verdict.reference import read_reference
from pqpp_models.verdict.skills import PromptSkill, find_skills

if TYPE_CHECKING:
    import pandas as pd

    from pqpp_backbones.prompt.prompt import Prompt

HARDNESS = ((10, "very hard"), (33, "hard"), (67, "average"), (90, "easy"), (100, "very easy"))
"""The level of a prompt below each rounded rank; the last one includes 100."""
COSTS = 5.0
"""The minimum cost, in ranks of 100, of a skill that the sentence names."""
_COLUMNS = "verdict level easier_than_people easier_than_captions skill cost remedy"
VERDICT_COLUMNS = tuple(_COLUMNS.split())
"""The columns of a table of verdicts."""
_RIGHT_PAIRS = 55
"""On held-out AIGIQA-20K; 55 to 57 by length (docs/understand/numbers.md)."""
_MAX_NAMED_SKILLS = 2
_REASONS = {"language": "it is in {}", "garbled": "some words are garbled ({})"}
_REASONS |= {"unknown": "the word {} is unknown"}


@dataclass(frozen=True)
class PromptVerdict:
    """The verdict on a prompt.

    Attributes:
        prompt: The prompt as given.
        target: The predicted target; `alignment` for the shipped predictor.
        value: The prediction, in the target's unit; NaN without a verdict.
        level: `very hard`, `hard`, `average`, `easy` or `very easy`, from `easier_than_people`;
            `unknown` for prompts that cannot be read, tag lists, prompts of more than 30 words, and
            prompts with several unknown words.
        sentence: The level, up to two skills that cost most, and a word that is in no word list.
        easier_than_people: How many of 100 user prompts are harder; NaN if unknown.
        easier_than_captions: How many of 100 photo captions are harder.
        costs: The skills in the prompt with their costs, the costliest first. A cost is the rise of
            `easier_than_people` if the skill is removed.
    """

    prompt: str
    target: str
    value: float
    level: str
    sentence: str
    easier_than_people: float = math.nan
    easier_than_captions: float = math.nan
    costs: tuple[tuple[PromptSkill, float], ...] = ()

    @property
    def skill(self) -> str | None:
        """The costliest skill; None if none costs 5 ranks.

        >>> verdict("nine red dogs on a table").skill
        'count'
        """
        return self.costs[0][0].name if self.costs and self.costs[0][1] >= COSTS else None

    @property
    def rank(self) -> str:
        """A description of the ranks; empty if they are unknown."""
        if math.isnan(self.easier_than_people):
            return ""
        ranks = "easier than {:.0f} of 100 user prompts ({:.0f} of 100 photo captions)"
        return ranks.format(*np.minimum([self.easier_than_people, self.easier_than_captions], 99))

    @property
    def caveat(self) -> str:
        """A description of the reliability of the ranks; empty if they are unknown.

        >>> verdict("a cat").caveat
        "a rough ranking: right for 55 of 100 pairs of real users' prompts (chance: 50)"
        """
        if math.isnan(self.value) or self.target != ALIGNMENT:
            return ""
        pairs = f"{_RIGHT_PAIRS} of 100 pairs of real users' prompts (chance: 50)"
        return f"a rough ranking: right for {pairs}"

    @property
    def remedy(self) -> str:
        """Advice to remove the costliest skill; empty if there is none."""
        if self.skill is None:
            return ""
        skill, cost = self.costs[0]
        rank = f"{self.easier_than_people + cost:.0f} of 100"
        if skill.name == "negation":  # its plain text has the opposite meaning
            return f"say what is there instead: without the negation, easier than {rank}"
        return f"“{escape_controls(skill.plain)}” would be easier than {rank}"

    def __str__(self) -> str:
        """Return the verdict as text for a terminal."""
        if not self.rank:
            return self.sentence
        value = f"{self.target} {self.value:.2f}: {explain_target(self.target)}"
        return "\n".join(filter(None, (self.sentence, self.rank, self.remedy, value, self.caveat)))

    def as_record(self) -> dict[str, Any]:
        """Return the columns of `pqpp predict --verdict`, with None for unknown values."""
        cost = None if self.skill is None else _round(self.costs[0][1])
        ranks = _round(self.easier_than_people), _round(self.easier_than_captions)
        sentence, level, remedy = (one or None for one in (self.sentence, self.level, self.remedy))
        cells = (sentence, level, *ranks, self.skill, cost, remedy)
        return dict(zip(VERDICT_COLUMNS, cells, strict=True))

    def _repr_html_(self) -> str:
        return PromptVerdicts([self])._repr_html_()


class PromptVerdicts(tuple[PromptVerdict, ...]):
    """Verdicts, one per prompt; notebooks show them as a table with bars."""

    def __str__(self) -> str:
        """Return one line per prompt, with its sentence."""
        return "\n".join(escape_controls(f"{one.prompt} | {one.sentence}") for one in self)

    def as_columns(self) -> dict[str, list[Any]]:
        """Return the columns of `PromptVerdict.as_record`, one row per prompt."""
        return {name: [one.as_record()[name] for one in self] for name in VERDICT_COLUMNS}

    def as_table(self) -> pd.DataFrame:
        """Return a table of the prompts with `prompt` and the columns of `PromptVerdict.as_record`.

        >>> verdict(["a cat", "nine red dogs"]).as_table().columns.tolist()[:4]
        ['prompt', 'verdict', 'level', 'easier_than_people']
        """
        import pandas as pd

        return pd.DataFrame({"prompt": [one.prompt for one in self], **self.as_columns()})

    def as_html(self, sortable: bool = False) -> str:
        """Return an HTML table with bars for the ranks.

        Args:
            sortable: Whether the headings are buttons that sort.

        >>> "counts nine things" in verdict(["nine red dogs"]).as_html()
        True
        """
        from pqpp_files.render_page import BarCell, render_table

        headings = "prompt", "verdict", "easier than (of 100 user prompts)"
        rows = []
        for one in self:
            people = BarCell.make(one.easier_than_people, (0, 100), "{:.0f}")
            captions = BarCell.make(one.easier_than_captions, None, "{:.0f}")
            rows.append((one.prompt, one.sentence, people, captions))
        return render_table((*headings, "(of 100 captions)"), rows, sortable=sortable)

    _repr_html_ = as_html


@overload
def verdict(prompts: str, predictor: str | Predictor = DEFAULT_PREDICTOR) -> PromptVerdict: ...
@overload
def verdict(prompts: Any, predictor: str | Predictor = DEFAULT_PREDICTOR) -> PromptVerdicts: ...
def verdict(prompts: Any, predictor: str | Predictor = DEFAULT_PREDICTOR) -> Any:
    """Return how hard prompts are for image generators, and why.

    The prediction is ranked among those of 6,000 captions of PQPP's train split and of
    user-written prompts of four studies. Costs are in ranks among the latter (see
    `PromptVerdict.costs`).

    Args:
        prompts: One prompt, a list of them, or a table with a column `prompt`.
        predictor: A predictor with reference prompts, such as `static`, or its name or path.

    Returns:
        A `PromptVerdict` for one prompt, else `PromptVerdicts`, a tuple of them. A blank prompt has
        an empty level and sentence. A prompt that the predictor cannot read or cannot rank
        reliably has the level `unknown` and the value NaN.

    Raises:
        PredictorError: The prompts cannot be read or are the name of a file, or the predictor has
            no reference prompts.

    Example:
        >>> judged = verdict("a sign that says 'Deep Learning'")
        >>> judged.sentence, judged.skill
        ('very hard: writes “Deep Learning”', 'text')
        >>> judged.costs[0][0].plain
        'a sign'
        >>> len(verdict(["a cat", "a dog"]))
        2
    """
    if isinstance(predictor, str):
        predictor = Predictor.from_pretrained(predictor)
    rows = predictor.read_rows(to_prompt_list(prompts))
    _, verdicts = predict_verdicts(predictor, rows, read_reference(predictor).target)
    return verdicts[0] if isinstance(prompts, str) else verdicts


def predict_verdicts(
    predictor: Predictor,
    rows: Sequence[Any],
    targets: str | Iterable[str] | None = None,
    uncertainty: bool = False,
    unread: str = "empty",
) -> tuple[dict[str, Sequence[Any]], PromptVerdicts]:
    """Return predictions for prompts with their verdicts.

    Args:
        predictor: A predictor with a reference.
        rows: The output of `Predictor.read_rows`.
        targets: Names of targets; default: all. The target of the verdicts is added.
        uncertainty: Whether to add standard deviations.
        unread: As for `predict`.

    Returns:
        The output of `predict_columns`, and the verdicts.

    >>> static = Predictor.from_pretrained("static")
    >>> columns, verdicts = predict_verdicts(static, static.read_rows(["a cat"]))
    >>> columns["prompt"], verdicts[0].level
    (['a cat'], 'very easy')
    """
    reference, count = read_reference(predictor), len(rows)
    parsed = parse_prompts(rows)
    skill_lists = [find_skills(prompt.content) for prompt in parsed]
    plain_texts = list(dict.fromkeys(skill.plain for skills in skill_lists for skill in skills))
    target, all_rows = reference.target, [*rows, *predictor.read_rows(plain_texts)]
    names = dict.fromkeys((*predictor.list_columns(targets), target))
    predicted = predict_columns(predictor, all_rows, names, uncertainty, unread=unread)
    columns = {name: cells[:count] for name, cells in predicted.items()}
    unreadable = columns.get("out_of_domain", [False] * count)
    reasons = [_explain_no_verdict(predictor, *r) for r in zip(parsed, unreadable, strict=True)]
    values = np.array(predicted[target], float)
    values[:count][[*map(bool, reasons)]] = math.nan
    people, captions = (reference.rank(values, name).tolist() for name in ("people", "captions"))
    ranks = dict(zip(plain_texts, people[count:], strict=True))
    verdicts = []
    for row, prompt in enumerate(parsed):
        costs = [(skill, ranks[skill.plain] - people[row]) for skill in skill_lists[row]]
        known = [(skill, cost) for skill, cost in costs if not math.isnan(cost)]
        known.sort(key=lambda pair: pair[1], reverse=True)
        unknown = find_unknown_words(predictor, prompt)
        phrases = _phrase_verdict(reasons[row], people[row], known, unknown)
        fields = (prompt.text, target, float(values[row]), *phrases, people[row], captions[row])
        verdicts.append(PromptVerdict(*fields, tuple(known)))
    return columns, PromptVerdicts(verdicts)


def _explain_no_verdict(predictor: Predictor, prompt: Prompt, out_of_domain: bool) -> str:
    """Explain why a prompt has no verdict; empty if it has one."""
    if not out_of_domain:
        return explain_unreliable(predictor, prompt)
    if not prompt.content:
        return "it names nothing to show"
    known = getattr(predictor, "known_words", None)
    kind, _, what = (known.explain_unread(prompt.normalised) if known else "").partition(": ")
    return _REASONS.get(kind, predictor.domain_note).format(what)


def _phrase_verdict(
    reason: str, rank: float, costs: Sequence[tuple[PromptSkill, float]], unknown: Sequence[str]
) -> tuple[str, str]:
    """Return the level and the sentence of a verdict."""
    if reason:
        return "unknown", escape_controls(f"no verdict: {reason}")
    if math.isnan(rank):
        return "", ""
    rounded = round(rank)
    level = next((name for below, name in HARDNESS if rounded < below), HARDNESS[-1][1])
    costliest = costs[:_MAX_NAMED_SKILLS]
    phrases = [skill.says for skill, cost in costliest if cost >= COSTS]
    # A very hard prompt may stay very hard without one of its skills, so add up their costs.
    if not phrases and rounded < HARDNESS[1][0]:
        minor = [(skill.says, cost) for skill, cost in costliest if cost > 0]
        phrases = [says for says, _ in minor if sum(cost for _, cost in minor) >= min(COSTS, rank)]
    is_easy = rounded >= HARDNESS[2][0]
    if phrases:
        sentence = f"{level}{', though it ' if is_easy else ': '}{' and '.join(phrases)}"
    elif rounded < HARDNESS[1][0]:
        sentence = f"{level}: no known skill explains it"
    else:
        sentence = f"{level}: contains nothing hard" if is_easy and not unknown else level
    return level, escape_controls("; unknown word: ".join([sentence, *unknown]))


def _round(number: float) -> float | None:
    return None if math.isnan(number) else round(number, 1)
