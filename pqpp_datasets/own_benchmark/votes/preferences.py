"""Preferences between two models' images of a prompt, to a strength of each model.

Each row is one person's preference between two models' images of one prompt. A model's strength is
that of the Bradley-Terry model over all rows, with an interval; a tie counts half a win for each. A
prompt is compared far too rarely for strengths of its own: its target for a model, `<model>_rate`,
is the share of the model's comparisons on that prompt that it won, ties half. There is no mean over
the models, which would be one half if all were compared alike.
"""

import itertools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from pqpp_datasets.errors import BenchmarkError
from pqpp_datasets.own_benchmark.formats import WORDS
from pqpp_datasets.own_benchmark.forms import to_number
from pqpp_datasets.own_benchmark.long_table import COLUMN, FILE, NUMBER, LongTable, map_texts
from pqpp_datasets.own_benchmark.options import BuildOptions
from pqpp_datasets.own_benchmark.trust.annotators import PairAgreements, compare_voters
from pqpp_datasets.own_benchmark.trust.figures import Estimate, compute_alpha
from pqpp_datasets.own_benchmark.trust.reliability import find_conflict
from pqpp_datasets.own_benchmark.votes.scales import Scale, parse_labels, read_scale, to_key
from pqpp_datasets.own_benchmark.votes.votes import keep_one_vote, number_items, refuse_repeats
from pqpp_files.names import how_many
from pqpp_files.table_formats import ROW

_CHOICES: dict[str, float] = WORDS["choices"]
NUMBER_FORMS: dict[str, dict[str, float]] = WORDS["number forms"]
"""What numbers may say: the share of the win that is the first one's, as in Pick-a-Pic's `label_0`;
which is better, counted from 0; its place, from 1, with 0 for a tie; or the sign of the first."""
_SHARES = {"label_0": 1.0, "label_1": -1.0}
"""Columns of Pick-a-Pic that contain shares: of the first, and of the second."""


@dataclass(frozen=True)
class Preferences:
    """The results of preferences.

    Attributes:
        models: The models, in order of appearance.
        strength: float64 (models,), natural logarithms with mean 0: the odds that one is preferred
            to another are the exponential of their difference.
        low: float64 (models,), the lower end of the 95% interval.
        high: float64 (models,), the upper end.
        comparisons: int64 (models,), the number of comparisons.
        win_share: float64 (models,), the share of won comparisons, with ties as half.
        scores: Model to its share on each prompt, float64 (prompts,), NaN if it is not compared.
        rows: Number of preferences that count.
        ties: Number of ties among them.
        notes: Notes, one per line.
        choices: A `pandas.DataFrame` of all of them, once each: `NUMBER`, `model_a`, `model_b` and,
            if they are known, `image_a`, `image_b`, `annotator` and `seconds`; `value`, 1 for the
            first, -1 for the second, 0 for a tie; and `counts`, whether it does.
        agreements: Each annotator's agreement with others; None without annotators.
        alpha: Krippendorff's alpha of counted preferences (a tie is half-way) with its 95%
            interval over prompts; NaN if no pair has two.
    """

    models: list[str]
    strength: np.ndarray
    low: np.ndarray
    high: np.ndarray
    comparisons: np.ndarray
    win_share: np.ndarray
    scores: dict[str, np.ndarray]
    rows: int
    ties: int
    notes: tuple[str, ...]
    choices: pd.DataFrame
    agreements: PairAgreements | None
    alpha: Estimate

    @property
    def voters(self) -> list[str]:
        """The annotators' names; empty if unknown."""
        return [*self.choices["annotator"].cat.categories] if "annotator" in self.choices else []

    @property
    def flagged_voters(self) -> list[tuple[str, str]]:
        """The flagged voters, each with the reason."""
        reasons = self.agreements.reasons if self.agreements else []
        return [(name, why) for name, why in zip(self.voters, reasons, strict=True) if why]

    def rank_models(self) -> list[tuple[str, float, float, float, int, float]]:
        """Return model, strength, interval, comparisons and share of wins, the strongest first."""
        columns = (self.strength, self.low, self.high, self.comparisons, self.win_share)
        rows = zip(self.models, *(column.tolist() for column in columns), strict=True)
        return sorted(rows, key=lambda row: -row[1])

    @property
    def summary(self) -> str:
        """The agreement on pairs in one line, with problems first."""
        value, low, high = self.alpha
        if not value <= 1:
            return "Too few votes to tell how far voters agree: no pair has several that differ"
        interval = f"{value:.2f} (95% interval {low:.2f} to {high:.2f})"
        agreement = f"Voters agree on a pair of images by a Krippendorff's alpha of {interval}"
        return find_conflict(value, "voters") + agreement

    def describe_models(self) -> list[str]:
        """Return the models' strengths in words, one line each."""
        return [
            f"{model}: strength {strength:.3f} ({low:.3f} to {high:.3f}), {count} comparisons, "
            f"{share:.1%} won"
            for model, strength, low, high, count, share in self.rank_models()
        ]


def score_preferences(table: LongTable, prompts: int, options: BuildOptions) -> Preferences:
    """Compute the strength of each model, and its share of wins on each prompt.

    Args:
        table: The preferences, with numbered prompts.
        prompts: Number of prompts.
        options: Options for labels, blank and repeated ones, and `prior_wins`.

    Raises:
        BenchmarkError: A choice is invalid, a model is compared with itself, or somebody chose
            twice.
        BenchmarkError: The comparisons allow no strengths.
    """
    from pqpp_metrics.errors import MetricInputError
    from pqpp_metrics.functional import bradley_terry

    choices, item, agreements = _read_choices(table, options)
    counted = choices[choices["counts"]]
    first, second = (counted[side].cat.codes.to_numpy(np.int64) for side in ("model_a", "model_b"))
    # From the side of the model that came first in the file, whichever stood first.
    low, high = np.minimum(first, second), np.maximum(first, second)
    value = np.where(first > second, -counted["value"], counted["value"])
    won, models = (value + 1) / 2, choices["model_a"].cat.categories.tolist()
    wins = np.zeros((len(models), len(models)))
    np.add.at(wins, (low, high), won)
    np.add.at(wins, (high, low), 1 - won)
    try:
        fit = bradley_terry(wins, options.prior_wins)
    except MetricInputError:
        odd = [f"{models[n]} never won" for n in np.flatnonzero(~wins.any(axis=1))]
        odd += [f"{models[n]} never lost" for n in np.flatnonzero(~wins.any(axis=0))]
        raise BenchmarkError(
            f"{table.name}: strengths are undefined ({', '.join(odd[:3]) or 'chains of wins'}"
            "); add comparisons, or set `prior_wins` 0.5"
        ) from None
    compared = (wins + wins.T).sum(axis=1)
    size = prompts * len(models)
    sides = [counted[NUMBER].to_numpy() * len(models) + side for side in (low, high)]
    with np.errstate(invalid="ignore"):
        won_there = np.bincount(sides[0], won, size) + np.bincount(sides[1], 1 - won, size)
        shares = won_there / np.bincount(np.concatenate(sides), minlength=size)
    return Preferences(
        models=models,
        **{name: fit[name] for name in ("strength", "low", "high")},
        comparisons=compared.astype(np.int64),
        win_share=wins.sum(axis=1) / compared,
        scores=dict(zip(models, np.round(shares, 12).reshape(prompts, -1).T, strict=True)),
        rows=len(won),
        ties=int((won == 0.5).sum()),
        notes=(*table.notes, "choices: a tie counts as half a win for each model"),
        choices=choices,
        agreements=agreements,
        alpha=compute_alpha(counted[NUMBER].to_numpy(), item[choices["counts"]], value, "ordinal"),
    )


def _read_choices(
    table: LongTable, options: BuildOptions
) -> tuple[pd.DataFrame, np.ndarray, PairAgreements | None]:
    """Return the choices, the pair of images of each, and the voters' agreement.

    A pair is the prompt, the two models and, where columns name them, the two images; which of the
    two is first does not tell pairs apart, nor whether somebody chose twice. The column `left`
    says, as a choice does, which of the two was seen first; without it that is the first.
    """
    rows = table.rows
    if ("image_a" in rows) != ("image_b" in rows):
        raise BenchmarkError(f"{table.name}: only one of image_a and image_b; give both")
    roles = [role for role in ("model", "image") if f"{role}_a" in rows]
    for role in roles:  # one numbering for both sides
        sides = [f"{role}_a", f"{role}_b"]
        both = pd.api.types.union_categoricals([rows[side] for side in sides])
        for side, codes in zip(sides, both.codes.reshape(2, -1), strict=True):
            rows[side] = pd.Categorical.from_codes(codes, both.categories.astype(object))
    same = np.flatnonzero(rows["model_a"] == rows["model_b"])
    table.refuse("model_b", same, "as model_a; two models are compared")
    scale = _get_choice_scale(table, options)
    rows["choice"] = _replace_names(rows, scale)
    turned = (rows["model_a"].cat.codes > rows["model_b"].cat.codes).to_numpy()
    value = parse_labels(table, "choice", scale, options.blank)
    pair = {
        f"{role} {index}": rows[sides[0]].where(~turned, rows[sides[1]])
        for role in roles
        for index, sides in enumerate(itertools.permutations((f"{role}_a", f"{role}_b")))
    }
    rows = rows.assign(value=np.where(turned, -value, value), swapped=turned, **pair)
    if "left" in rows:
        left = rows["left"].astype(object).map(lambda text: _CHOICES.get(to_key(text), 0))
        turned = turned ^ (left < 0).to_numpy()
    rows = rows.assign(turned=turned).dropna(subset="value")
    if "annotator" in rows:
        rows = keep_one_vote(
            table, rows, [NUMBER, *pair, "annotator"], "this choice", options.repeats
        )
    table.raise_faults()
    prompt, stated, turned = (rows[name].to_numpy() for name in (NUMBER, "value", "turned"))
    item, _ = number_items(prompt, *(rows[key].cat.codes.to_numpy() for key in pair))
    value = np.where(rows["swapped"], -stated, stated)
    rows = rows.assign(value=value, counts=True).reset_index(drop=True)
    if "annotator" not in rows:
        table.notes.append("no annotators: agreement cannot be checked")
        return rows, item, None
    annotator = rows["annotator"].cat.codes.to_numpy(np.int32)
    voters = len(rows["annotator"].cat.categories)
    seconds = rows["seconds"].to_numpy() if "seconds" in rows else None
    agreements = compare_voters(annotator, item, prompt, stated, turned, voters, seconds)
    if options.exclude == "flagged":
        rows["counts"] = ~np.array([bool(reason) for reason in agreements.reasons])[annotator]
        if not rows["counts"].any():
            raise BenchmarkError(f"{table.name}: all annotators are flagged; remove `exclude`")
    return rows, item, agreements


def _get_choice_scale(table: LongTable, options: BuildOptions) -> Scale:
    """Return the meaning of labels; that of numbers is added as a note."""
    missing = frozenset(map(to_key, options.missing))
    if options.labels:
        scale = read_scale(options.labels)
        if unknown := set(scale.words.values()) - {-1.0, 0.0, 1.0}:
            allowed = "of choices 1 is the first model, -1 the second and 0 a tie"
            raise BenchmarkError(f"`labels` {options.labels}: got {unknown.pop():g}; {allowed}")
        return replace(scale, missing=scale.missing | missing)
    words = dict(_CHOICES)
    came = {to_key(text) for text in table.rows["choice"].cat.categories} - missing
    numbers = came & {number for values in NUMBER_FORMS.values() for number in values}
    if numbers:
        called = table.header("choice")
        fitting = [form for form, values in NUMBER_FORMS.items() if numbers <= set(values)]
        if options.scale in NUMBER_FORMS or called in _SHARES:
            fitting = [options.scale if options.scale in NUMBER_FORMS else "share"]
        if len(fitting) != 1:
            held = f"{called} has the numbers {', '.join(sorted(numbers))}"
            remedy = f"which do not tell who won; choose `scale` {', '.join(NUMBER_FORMS)}"
            raise BenchmarkError(f"{table.name}: {held}, {remedy}")
        form = fitting[0]
        sign = _SHARES.get(called, 1.0) if form == "share" else 1.0
        words |= {number: sign * value for number, value in NUMBER_FORMS[form].items()}
        first = [number for number, value in words.items() if value == 1][-1]
        table.notes.append(f"choices: numbers read as {form}, {first} for the first model")
    return Scale("A, B or tie", -1, 1, "nominal", words=words, missing=missing)


def _replace_names(rows: Any, scale: Scale) -> Any:
    """Replace the name of a row's model by the scale's word for its side.

    A name that is also a word of the scale, like `a`, is not replaced.
    """

    def has_meaning(text: str) -> bool:
        return to_key(text) in scale.missing or not np.isnan(scale.parse_label(text))

    words = {value: word for word, value in scale.words.items()}
    choice = rows["choice"].astype(object)
    names = rows["choice"].map(str.strip).astype(object)
    is_name = ~rows["choice"].map(has_meaning).astype(bool)
    for role, value in (("model_a", 1.0), ("model_b", -1.0)):
        if value in words:
            chosen = is_name & (names == rows[role].map(str.strip).astype(object))
            choice = choice.mask(chosen, words[value])
    return map_texts(*pd.factorize(choice))


_OF_ONE = ("prompt", "prompt_id", "source", "annotator")
"""Rows with the same of these are one ranking."""


def to_preferences(table: LongTable, options: BuildOptions) -> LongTable:
    """Convert rankings to preferences between all pairs; rank 1 is the best, equal ranks tie.

    A preference is located at the second of its two rows. There is one ranking per person and
    prompt, or per prompt without annotators.

    Args:
        table: One row per ranked image: prompt, model and rank.
        options: Options for blank ranks.

    Raises:
        BenchmarkError: A rank is not a number from 0 on, a model (and image) appears twice in one
            ranking, or no ranking has two.
    """
    rows = table.rows
    if options.blank == "refuse":
        table.require_filled("rank", "fill it, or `blank` drop leaves such rows out")
    rank = table.parse_values("rank", to_number, "expected 0 or above, the lowest for the best")
    table.refuse("rank", np.flatnonzero(rank < 0), "expected 0 or above")
    keys = [role for role in _OF_ONE if role in rows]
    entry = [role for role in ("model", "image") if role in rows]
    ranked = rows.loc[~np.isnan(rank), ["prompt", *keys[1:], *entry]]
    remedy = "keep one of them, or name who ranked by the column annotator"
    refuse_repeats(table, ranked, "this rank", remedy)
    table.raise_faults()
    ranking = rows.groupby(keys, observed=True, sort=False).ngroup().to_numpy()
    entries = pd.DataFrame({"ranking": ranking, "row": np.arange(len(rows))})[~np.isnan(rank)]
    entries = entries.sort_values("ranking", kind="stable")
    both = entries.merge(entries, on="ranking").query("row_x < row_y")
    first, second = both["row_x"].to_numpy(), both["row_y"].to_numpy()
    model = rows["model"].cat.codes.to_numpy()
    apart = model[first] != model[second]  # two images of one model say nothing of models
    first, second = first[apart], second[apart]
    if not len(first):
        if len(rows["model"].cat.categories) == 1:
            only = f"all images are of the model {rows['model'].iloc[0]}"
            raise BenchmarkError(f"{table.name}: {only}; strengths need two models or more")
        remedy = "give a person's images of a prompt the same annotator and the same prompt"
        raise BenchmarkError(f"{table.name}: each ranking has images of one model; {remedy}")
    common = [role for role in rows if role not in (*entry, "rank", "control", COLUMN, FILE, ROW)]
    pairs = rows[[*common, FILE, ROW]].iloc[second].reset_index(drop=True)
    for role in entry:
        for side, chosen in (("a", first), ("b", second)):
            pairs[f"{role}_{side}"] = pd.Categorical(rows[role].iloc[chosen].to_numpy())
    order = np.sign(rank[second] - rank[first]).astype(int)  # the lower rank is the better one
    pairs["choice"] = map_texts(order + 1, ["b", "tie", "a"])
    note = (
        f"rankings: {how_many(len(np.unique(ranking)), 'ranking')} with 1 for the best "
        f"read as {how_many(len(pairs), 'preference')}; intervals take those of one ranking as "
        "independent, so they are somewhat narrow"
    )
    return LongTable(pairs, table.name, {}, [*table.notes, note])
