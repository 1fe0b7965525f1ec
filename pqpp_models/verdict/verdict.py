"""The verdict on prompts: a rank among other prompts, one sentence, and what costs most.

What a skill costs is asked of the predictor itself: the prompt is put plainly (`skills`), predicted
again, and the cost is by how many of 100 people's prompts the plain one ranks higher. Where no
skill of a prompt that is not easy costs enough, each word that names something is left out in
turn. So a cost is a difference of two predictions, as `Predictor.explain` asks them; it is no cause
of what images will look like.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from pqpp_backbones.prompt.leaving_out import leave_one_out
from pqpp_backbones.prompt.prompt import Prompt
from pqpp_datasets.target_columns import readable_words
from pqpp_files.paths import names_a_table
from pqpp_files.visible import visible
from pqpp_models.errors import PredictorError
from pqpp_models.predict import predicted_columns
from pqpp_models.predictor import Predictor
from pqpp_models.registry import DEFAULT_PREDICTOR
from pqpp_models.targets import Z90, known_range
from pqpp_models.text.reading.words import content_words, words_of
from pqpp_models.verdict.reference import VerdictReference, read_reference
from pqpp_models.verdict.skills import PromptSkill, skills_in

if TYPE_CHECKING:
    import pandas as pd

HARDNESS = ((10, "very hard"), (33, "hard"), (67, "average"), (90, "easy"), (100, "very easy"))
"""Below which rank among people's prompts a prompt is called what; the last one includes 100."""
COSTS = 5.0
"""What costs so many ranks of 100 or more is named in the sentence."""
VERDICT_COLUMNS = (
    "verdict",
    "level",
    "easier_than_people",
    "easier_than_captions",
    "skill",
    "cost",
)
"""What a table has of each verdict."""
WORD = "word"
"""What is left out where no skill costs enough: any word that names something."""
_MOST_NAMED = 2
_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")
UNREAD = re.compile(
    r"language: (?P<language>[^;(]*) \([^;]*|garbled: (?P<words>[^;]*)|unknown: (?P<word>[^;]*)"
)
"""What stands in `ignored` where a prompt is not read at all."""
_REASONS = {
    "language": "it is in {}; write the prompt in English",
    "words": "the words are garbled ({})",
    "word": "the word {} is unknown",
}
_TOLD_WIDTH = 0.5


@dataclass(frozen=True)
class PromptVerdict:
    """The verdict on a prompt.

    Attributes:
        prompt: As it came.
        target: What is predicted, `alignment` by the shipped predictor.
        value: The prediction, in the target's unit; NaN for a blank prompt.
        level: `very hard`, `hard`, `average`, `easy` or `very easy`, by the rank among people's
            prompts; `unknown` where the predictor cannot read the prompt.
        sentence: The verdict in a sentence: the level, and what costs at least 5 ranks or, of a
            hard prompt where nothing does, two skills that cost so much, or its own rank, together.
        easier_than_people: Than how many of 100 prompts that people wrote; NaN if unknown.
        easier_than_captions: Than how many of 100 real captions.
        costs: What was tried, the dearest first: a skill, what the prompt does, and by how many
            ranks among people's prompts the plain prompt is easier. Below 0: it is harder.
        interval: In which nine in ten true values lie, where it is at most half as wide as the
            target's range; else None: it would say nothing.
        ignored: What was not read, as `Predictor.ignored_of` says it.
    """

    prompt: str
    target: str
    value: float
    level: str
    sentence: str
    easier_than_people: float = math.nan
    easier_than_captions: float = math.nan
    costs: tuple[tuple[PromptSkill, float], ...] = ()
    interval: tuple[float, float] | None = None
    ignored: str = ""

    @property
    def skill(self) -> str | None:
        """The skill that costs most, None where nothing costs 5 ranks.

        >>> verdict("nine red dogs on a table").skill
        'count'
        """
        return self.costs[0][0].name if self.costs and self.costs[0][1] >= COSTS else None

    @property
    def rank(self) -> str:
        """The ranks in words; an empty text where they are not known."""
        if math.isnan(self.easier_than_people):
            return ""
        people, captions = map(_of_hundred, (self.easier_than_people, self.easier_than_captions))
        return (
            f"easier than {people} prompts that people wrote, and than {captions} captions of "
            "photographs"
        )

    @property
    def remedy(self) -> str:
        """What the prompt would be without what costs most, in words; empty where nothing does."""
        if self.skill is None:
            return ""
        skill, cost = self.costs[0]
        rank = _of_hundred(self.easier_than_people + cost)
        return f"“{visible(skill.plain)}” would be easier than {rank}"

    def __str__(self) -> str:
        """Return what a terminal shows."""
        if not self.rank:
            return self.sentence
        of = f"{self.target} {self.value:.2f}: {readable_words(self.target)}"
        if self.interval:
            of += ", {:.2f} to {:.2f} nine times in ten".format(*self.interval)
        return "\n".join(filter(None, (self.sentence, self.rank, self.remedy, of)))

    def as_record(self) -> dict[str, Any]:
        """Return the columns that `pqpp predict --verdict` adds to files; None if unknown."""
        cost = None if self.skill is None else _known(self.costs[0][1])
        ranks = _known(self.easier_than_people), _known(self.easier_than_captions)
        cells = (self.sentence or None, self.level or None, *ranks, self.skill, cost)
        return dict(zip(VERDICT_COLUMNS, cells, strict=True))

    def _repr_html_(self) -> str:
        return PromptVerdicts([self])._repr_html_()


class PromptVerdicts(tuple[PromptVerdict, ...]):
    """Verdicts, one a prompt; a notebook shows them as a table with bars."""

    def as_columns(self) -> dict[str, list[Any]]:
        """Return the columns of `PromptVerdict.as_record`, one row a prompt."""
        records = [judged.as_record() for judged in self]
        return {name: [record[name] for record in records] for name in VERDICT_COLUMNS}

    def as_table(self) -> pd.DataFrame:
        """Return one row a prompt: `prompt`, and the columns of `PromptVerdict.as_record`.

        >>> verdict(["a cat", "nine red dogs"]).as_table().columns.tolist()[:4]
        ['prompt', 'verdict', 'level', 'easier_than_people']
        """
        import pandas as pd

        return pd.DataFrame({"prompt": [judged.prompt for judged in self], **self.as_columns()})

    def _repr_html_(self) -> str:
        return str(self.as_html())

    def as_html(self, sortable: bool = False) -> str:
        """Return a table with bars: prompts, verdicts and ranks.

        Args:
            sortable: Whether its headings are buttons.

        >>> "counts nine things" in verdict(["nine red dogs"]).as_html()
        True
        """
        from pqpp_files.render_page import BarCell, bar_table

        rows = (
            (
                visible(judged.prompt),
                judged.sentence,
                BarCell.of(judged.easier_than_people, (0, 100), "{:.0f}"),
                BarCell.of(judged.easier_than_captions, (0, 100), "{:.0f}"),
            )
            for judged in self
        )
        return bar_table(
            (
                "prompt",
                "verdict",
                "easier than, of 100 prompts that people wrote",
                "of 100 captions",
            ),
            rows,
            sortable=sortable,
        )


def verdict(prompts: Any, predictor: str | Predictor = DEFAULT_PREDICTOR) -> Any:
    """Say how hard prompts are for image generators, in a sentence, and what makes them so.

    The rank is of the prediction among those for other prompts, which stand in the predictor's
    configuration: 6,000 captions of PQPP's train split, and prompts that people wrote in four
    studies. Costs are in ranks among the latter: see `PromptVerdict.costs`.

    Args:
        prompts: One prompt, a list of them, or a table with a column `prompt`.
        predictor: A predictor with a reference, or what `Predictor.from_pretrained` takes.

    Returns:
        A `PromptVerdict` for one prompt, else `PromptVerdicts`, a tuple of them. A blank prompt has
        an empty level and sentence. One that the predictor cannot read has the level `unknown`.

    Raises:
        PredictorError: The prompts are not readable or a file's name, or the predictor has no
            reference.

    Example:
        >>> found = verdict("a sign that says 'Deep Learning'")
        >>> found.sentence, found.skill
        ('very hard: writes “Deep Learning”', 'text')
        >>> found.costs[0][0].plain
        'a sign'
        >>> len(verdict(["a cat", "a dog"]))
        2
    """
    if isinstance(prompts, str) and names_a_table(prompts):
        raise PredictorError(
            f"{prompts!r} is the name of a file, not a prompt; run pqpp predict --verdict --file "
            f"{prompts}, or give its column of prompts as a list"
        )
    if isinstance(predictor, str):
        predictor = Predictor.from_pretrained(predictor)
    rows = [prompts] if isinstance(prompts, str) else prompts
    target = read_reference(predictor).target
    columns = predicted_columns(predictor, rows, target, predictor.knows_uncertainty)
    verdicts = verdicts_of(columns, predictor)
    return verdicts[0] if isinstance(prompts, str) else verdicts


def verdicts_of(columns: Mapping[str, Sequence[Any]], predictor: Predictor) -> PromptVerdicts:
    """Return the verdicts on prompts that have been predicted.

    Args:
        columns: What `predicted_columns` gave of them; without deviations no interval is told.
        predictor: What gave it.

    >>> static = Predictor.from_pretrained("static")
    >>> verdicts_of(predicted_columns(static, ["a cat"]), static)[0].level
    'easy'
    """
    reference = read_reference(predictor)
    target, texts = reference.target, columns["prompt"]
    values = np.array(columns[target], float)
    nothing = [None] * len(texts)
    deviations = np.array(columns.get(f"{target}_deviation", nothing), float)
    far, ignored = columns.get("far", nothing), columns.get("ignored", nothing)
    people, captions = (reference.ranks(values, name) for name in ("people", "captions"))
    ranked_prompts = []
    for row, text in enumerate(texts):
        value, unread, level, sentence = float(values[row]), ignored[row] or "", "", ""
        ranks = float(people[row]), float(captions[row])
        if far[row]:
            ranks, level, why = (math.nan, math.nan), "unknown", predictor.far_means
            found = UNREAD.search(unread)
            if found and found.lastgroup:
                why = _REASONS[found.lastgroup].format(visible(found[found.lastgroup]))
            sentence = f"no verdict: {why}"
        interval = _told_interval(target, value, float(deviations[row]))
        ranked_prompts.append(
            PromptVerdict(text, target, value, level, sentence, *ranks, (), interval, unread)
        )
    return PromptVerdicts(map(_in_words, _with_costs(ranked_prompts, predictor, reference)))


def _with_costs(
    verdicts: Sequence[PromptVerdict], predictor: Predictor, reference: VerdictReference
) -> list[PromptVerdict]:
    """Return verdicts with what skills cost, and words where no skill costs enough."""
    contents = [
        "" if math.isnan(judged.easier_than_people) else Prompt.read(judged.prompt).content
        for judged in verdicts
    ]
    asked = [skills_in(content) for content in contents]
    costs = _costs(contents, asked, predictor, reference)
    words = [
        [] if _is_easy(judged) or (some and some[0][1] >= COSTS) else list(_words_in(content))
        for judged, some, content in zip(verdicts, costs, contents, strict=True)
    ]
    others = _costs(contents, words, predictor, reference)
    pairs = zip(verdicts, costs, others, strict=True)
    return [replace(judged, costs=tuple(_dearest((*some, *more)))) for judged, some, more in pairs]


def _costs(
    contents: Sequence[str],
    asked: Sequence[Sequence[PromptSkill]],
    predictor: Predictor,
    reference: VerdictReference,
) -> list[list[tuple[PromptSkill, float]]]:
    """Return what skills cost, by how many ranks the plain prompts are easier."""
    plain = [skill.plain for skills in asked for skill in skills]
    texts = list(dict.fromkeys([*filter(None, contents), *plain]))
    if not plain:
        return [[] for _ in contents]
    values = reference.ranks(predictor.predict(texts, reference.target)[:, 0])
    ranks = dict(zip(texts, values.tolist(), strict=True))
    return [
        _dearest([(skill, ranks[skill.plain] - ranks[content]) for skill in skills])
        for content, skills in zip(contents, asked, strict=True)
    ]


def _dearest(costs: Sequence[tuple[PromptSkill, float]]) -> list[tuple[PromptSkill, float]]:
    return sorted(costs, key=lambda pair: -pair[1])


def _words_in(content: str) -> Iterator[PromptSkill]:
    """Give each word that names something, no number or formula, and the prompt without it."""
    for one in leave_one_out(content):
        if _WORD.fullmatch(one.phrase) and content_words(words_of(one.phrase)):
            yield PromptSkill(WORD, f"“{one.phrase}”", one.rest)


def _is_easy(judged: PromptVerdict) -> bool:
    return judged.easier_than_people >= HARDNESS[2][0]


def _in_words(judged: PromptVerdict) -> PromptVerdict:
    """Return a verdict with its level and its sentence."""
    if math.isnan(judged.easier_than_people):
        return judged
    level = next(
        (name for below, name in HARDNESS if judged.easier_than_people < below), HARDNESS[-1][1]
    )
    skills = [(skill.says, cost) for skill, cost in judged.costs if skill.name != WORD]
    named = [says for says, cost in skills if cost >= COSTS]
    # What costs a little each is named where it is enough together, of a hard prompt; of one
    # that is among the last five ranks nothing can cost five.
    if judged.skill is None and judged.easier_than_people < HARDNESS[1][0]:
        little = [(says, cost) for says, cost in skills[:_MOST_NAMED] if cost > 0]
        enough = min(COSTS, judged.easier_than_people)
        named = [says for says, _ in little] if sum(cost for _, cost in little) >= enough else []
    said = " and ".join(named[:_MOST_NAMED])
    if said:
        sentence = f"{level}, though it {said}" if _is_easy(judged) else f"{level}: {said}"
    elif judged.skill:
        sentence = f"{level}: {judged.costs[0][0].says} lowers it most"
    elif _is_easy(judged):
        sentence = f"{level}: no part of it lowers it much"
    elif judged.costs:
        sentence = f"{level}: no single part of it lowers it much"
    else:
        sentence = f"{level}, as a single word"
    return replace(judged, level=level, sentence=visible(sentence))


def _told_interval(target: str, value: float, deviation: float) -> tuple[float, float] | None:
    """Return the 90 % interval inside the target's range, None where it is wide."""
    limits = known_range(target)
    if limits is None or math.isnan(value + deviation):
        return None
    low, high = max(value - Z90 * deviation, limits[0]), min(value + Z90 * deviation, limits[1])
    return (low, high) if high - low <= _TOLD_WIDTH * (limits[1] - limits[0]) else None


def _known(number: float) -> float | None:
    return None if math.isnan(number) else round(number, 1)


def _of_hundred(rank: float) -> str:
    """Return a rank as people say it."""
    if rank < 1:
        return "fewer than 1 of 100"
    return "more than 99 of 100" if rank > 99 else f"{rank:.0f} of 100"
