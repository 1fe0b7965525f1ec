"""Strengths of models, and win rates of prompts, from preferences between two models' images.

A row is one person's preference between two models' images of a prompt. A model's strength is its
parameter in the Bradley-Terry model of all rows, with an interval; a tie is half a win for each
model. A prompt has too few comparisons for separate strengths; its target `<model>_rate` is the
share of the model's comparisons on the prompt that the model won, with ties as half. There is no
mean over the models, as it would be the same for all prompts.
"""

import itertools
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from pqpp_datasets.errors import BenchmarkError
from pqpp_datasets.own_benchmark.formats import WORDS
from pqpp_datasets.own_benchmark.forms import parse_number
from pqpp_datasets.own_benchmark.long_table import COLUMN, FILE, PROMPT, LongTable, make_column
from pqpp_datasets.own_benchmark.options import BuildOptions
from pqpp_datasets.own_benchmark.trust.annotators import Agreements, compare_voters
from pqpp_datasets.own_benchmark.trust.figures import Estimate, compute_alpha, mirror_choices
from pqpp_datasets.own_benchmark.trust.reliability import describe_disagreement
from pqpp_datasets.own_benchmark.votes.scales import Scale, fold_label, parse_labels, read_label_map
from pqpp_datasets.own_benchmark.votes.votes import index_rows, merge_repeats, report_repeats
from pqpp_files.names import pluralize
from pqpp_files.table_formats import ROW

_CHOICES: dict[str, float] = WORDS["choices"]
NUMBER_FORMS: dict[str, dict[str, float]] = WORDS["number forms"]
"""Meanings of numbers as choices: the first image's share of the win (Pick-a-Pic's `label_0`); the
index of the better image from 0; its position from 1, with 0 for a tie; or 1 for the first image
and -1 for the second."""
_SHARES = {"label_0": 1.0, "label_1": -1.0}
"""Pick-a-Pic's columns with shares of the win, for the first and the second image."""


@dataclass(frozen=True)
class Preferences:
    """The results of preferences.

    Attributes:
        models: The models, in order of appearance.
        strength: Strength of each model, float64, natural logarithms with mean 0: the odds that a
            model is preferred to another are the exponential of the difference of their strengths.
        low: Lower end of each strength's 95% interval, float64.
        high: Upper end of each strength's 95% interval, float64.
        comparisons: Number of comparisons of each model, int64.
        win_share: Share of comparisons that each model won, with ties as half, float64.
        scores: Share of wins of each model on each prompt, float64, shape (prompts,); NaN if the
            prompt has no comparison of the model.
        rows: Number of counted preferences.
        ties: Number of ties among them.
        choices: A `pandas.DataFrame` with one row per preference: `PROMPT` (the prompt), `model_a`,
            `model_b`, `value` (1 for the first, -1 for the second, 0 for a tie), `counts` (whether
            it is counted) and, if known, `image_a`, `image_b`, `annotator` and `seconds`.
        agreements: Each annotator's agreement with others; None without annotators.
        alpha: Krippendorff's alpha of counted preferences, each in both orders of the images, with
            ties half-way between the choices, and its 95% interval over prompts; NaN if no pair has
            two votes.
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
    agreements: Agreements | None
    alpha: Estimate

    @property
    def voters(self) -> list[str]:
        """Names of the annotators; [] if unknown."""
        return [*self.choices["annotator"].cat.categories] if "annotator" in self.choices else []

    @property
    def flagged_voters(self) -> list[tuple[str, str]]:
        """Names of the flagged annotators, with reasons."""
        reasons = self.agreements.reasons if self.agreements else []
        return [(name, reason) for name, reason in zip(self.voters, reasons, strict=True) if reason]

    def rank_models(self) -> list[tuple[str, float, float, float, int, float]]:
        """Return (model, strength, low, high, comparisons, share of wins), best model first."""
        columns = (self.strength, self.low, self.high, self.comparisons, self.win_share)
        rows = zip(self.models, *(column.tolist() for column in columns), strict=True)
        return sorted(rows, key=lambda row: -row[1])

    @property
    def summary(self) -> str:
        """One line about the agreement of voters; problems come first."""
        value, low, high = self.alpha
        if not value <= 1:
            return "Too few votes to estimate the agreement: no pair has two different votes"
        interval = f"{value:.2f} (95% interval {low:.2f} to {high:.2f})"
        agreement = f"Krippendorff's alpha of votes on a pair of images is {interval}"
        return describe_disagreement(value, "voters") + agreement

    def describe_models(self) -> list[str]:
        """Return one line per model with its strength and share of wins, strongest first."""
        return [
            f"{model}: strength {strength:.3f} ({low:.3f} to {high:.3f}), {count} comparisons, "
            f"{share:.1%} won"
            for model, strength, low, high, count, share in self.rank_models()
        ]


def score_preferences(table: LongTable, prompts: int, options: BuildOptions) -> Preferences:
    """Compute the strength of each model, and its share of wins on each prompt.

    Args:
        table: The preferences, with numbered prompts.
        options: Only the options on labels, empty and repeated votes, `prior_wins` and `exclude`
            are used.

    Raises:
        BenchmarkError: A choice is invalid, a model is compared with itself, an annotator chose
            twice, or the strengths are undefined.
    """
    from pqpp_metrics.errors import MetricInputError
    from pqpp_metrics.functional import bradley_terry

    choices, item, agreements = _read_choices(table, options)
    counted = choices[choices["counts"]]
    first, second = (counted[side].cat.codes.to_numpy(np.int64) for side in ("model_a", "model_b"))
    # `value` for the model that comes first in the order of models.
    low, high = np.minimum(first, second), np.maximum(first, second)
    value = np.where(first > second, -counted["value"], counted["value"])
    won, models = (value + 1) / 2, choices["model_a"].cat.categories.tolist()
    wins = np.zeros((len(models), len(models)))
    np.add.at(wins, (low, high), won)
    np.add.at(wins, (high, low), 1 - won)
    try:
        fit = bradley_terry(wins, options.prior_wins)
    except MetricInputError:
        problems = [f"{models[n]} never won" for n in np.flatnonzero(~wins.any(axis=1))]
        problems += [f"{models[n]} never lost" for n in np.flatnonzero(~wins.any(axis=0))]
        reason = ", ".join(problems[:3]) or "some models never lost to the others"
        remedy = "add comparisons, or set `prior_wins` to 0.5"
        raise BenchmarkError(f"{table.name}: no finite strengths ({reason}); {remedy}") from None
    comparisons = (wins + wins.T).sum(axis=1)
    pairs, size = mirror_choices(item[choices["counts"]], value), prompts * len(models)
    cells = [counted[PROMPT].to_numpy() * len(models) + side for side in (low, high)]
    with np.errstate(invalid="ignore"):
        wins_by_cell = np.bincount(cells[0], won, size) + np.bincount(cells[1], 1 - won, size)
        shares = wins_by_cell / np.bincount(np.concatenate(cells), minlength=size)
    return Preferences(
        models=models,
        **{name: fit[name] for name in ("strength", "low", "high")},
        comparisons=comparisons.astype(np.int64),
        win_share=wins.sum(axis=1) / comparisons,
        scores=dict(zip(models, np.round(shares, 12).reshape(prompts, -1).T, strict=True)),
        rows=len(won),
        ties=int((won == 0.5).sum()),
        notes=(*table.notes, "choices: a tie counts as half a win for each model"),
        choices=choices,
        agreements=agreements,
        alpha=compute_alpha(np.tile(counted[PROMPT].to_numpy(), 2), *pairs, "ordinal"),
    )


def _read_choices(
    table: LongTable, options: BuildOptions
) -> tuple[pd.DataFrame, np.ndarray, Agreements | None]:
    """Return the choices, the index of each choice's pair of images, and the voters' agreement."""
    # A pair is a prompt, two models and, if columns name them, two images, in any order. The column
    # `left` is the image displayed first, a or b; by default, a.
    rows = table.rows
    if ("image_a" in rows) != ("image_b" in rows):
        raise BenchmarkError(f"{table.name}: expected image_a and image_b, got one; add the other")
    roles = [role for role in ("model", "image") if f"{role}_a" in rows]
    for role in roles:  # the same codes for both sides
        sides = [f"{role}_a", f"{role}_b"]
        merged = pd.api.types.union_categoricals([rows[side] for side in sides])
        for side, codes in zip(sides, merged.codes.reshape(2, -1), strict=True):
            rows[side] = pd.Categorical.from_codes(codes, merged.categories.astype(object))
    invalid_rows = np.flatnonzero(rows["model_a"] == rows["model_b"])
    table.report_cells("model_b", invalid_rows, "the same as model_a; correct one of them")
    scale = _get_choice_scale(table, options)
    rows["choice"] = _replace_model_names(rows, scale)
    swapped = (rows["model_a"].cat.codes > rows["model_b"].cat.codes).to_numpy()
    value = parse_labels(table, "choice", scale, options.blank) * np.where(swapped, -1, 1)
    pair = {
        f"{role} {index}": rows[sides[0]].where(~swapped, rows[sides[1]])
        for role in roles
        for index, sides in enumerate(itertools.permutations((f"{role}_a", f"{role}_b")))
    }
    rows = rows.assign(value=value, swapped=swapped, turned=swapped, **pair)
    if "left" in rows:
        left_side = rows["left"].astype(object).map(lambda text: _CHOICES.get(fold_label(text), 0))
        rows["turned"] ^= left_side < 0
    rows = rows.dropna(subset="value")
    if "annotator" in rows:
        keys = [PROMPT, *pair, "annotator"]
        rows = merge_repeats(table, rows, keys, "this choice", options.repeats)
    table.raise_faults()
    prompt, value, turned = (rows[name].to_numpy() for name in (PROMPT, "value", "turned"))
    item = index_rows(prompt, *(rows[key].cat.codes.to_numpy() for key in pair))
    choice_value = np.where(rows["swapped"], -value, value)
    rows = rows.assign(value=choice_value, counts=True).reset_index(drop=True)
    if "annotator" not in rows:
        table.notes.append("no annotators: agreement cannot be checked")
        return rows, item, None
    annotator = rows["annotator"].cat.codes.to_numpy(np.int32)
    voters = len(rows["annotator"].cat.categories)
    agreements = compare_voters(annotator, item, prompt, value, turned, voters)
    if options.exclude == "flagged":
        rows["counts"] = ~np.array([bool(reason) for reason in agreements.reasons])[annotator]
        if not rows["counts"].any():
            raise BenchmarkError(f"{table.name}: all annotators are flagged; remove `exclude`")
    return rows, item, agreements


def _get_choice_scale(table: LongTable, options: BuildOptions) -> Scale:
    """Return the scale of choices; if it has numbers, add a note on their meaning."""
    missing = frozenset(map(fold_label, options.missing))
    if options.labels:
        scale = read_label_map(options.labels)
        if unknown := set(scale.words.values()) - {-1.0, 0.0, 1.0}:
            allowed = "expected 1 (the first model), -1 (the second) or 0 (a tie)"
            raise BenchmarkError(f"`labels` {options.labels}: {allowed}, got {unknown.pop():g}")
        return replace(scale, missing=scale.missing | missing)
    words = dict(_CHOICES)
    labels = {fold_label(text) for text in table.rows["choice"].cat.categories} - missing
    if numbers := labels & {number for values in NUMBER_FORMS.values() for number in values}:
        column = table.get_column("choice")
        forms = [form for form, values in NUMBER_FORMS.items() if numbers <= set(values)]
        if options.scale in NUMBER_FORMS or column in _SHARES:
            forms = [options.scale if options.scale in NUMBER_FORMS else "share"]
        if len(forms) != 1:
            fault = f"{column}: {len(forms)} scales fit the numbers {', '.join(sorted(numbers))}"
            remedy = f"set `scale` to one of {', '.join(NUMBER_FORMS)}"
            raise BenchmarkError(f"{table.name}, {fault}; {remedy}")
        form = forms[0]
        sign = _SHARES.get(column, 1.0) if form == "share" else 1.0
        words |= {number: sign * value for number, value in NUMBER_FORMS[form].items()}
        example = [number for number, value in words.items() if value == 1][-1]
        table.notes.append(f"choices: numbers read as {form}, {example} for the first model")
    return Scale("A, B or tie", -1, 1, "nominal", words=words, missing=missing)


def _replace_model_names(rows: Any, scale: Scale) -> Any:
    """Replace each choice that is a model's name with the scale's word for the model's side."""
    # Choices that are words of the scale, such as `a`, are unchanged.

    def is_label(text: str) -> bool:
        return fold_label(text) in scale.missing or not np.isnan(scale.parse_label(text))

    words = {value: word for word, value in scale.words.items()}
    choice = rows["choice"].astype(object)
    names = rows["choice"].map(str.strip).astype(object)
    is_name = ~rows["choice"].map(is_label).astype(bool)
    for role, value in (("model_a", 1.0), ("model_b", -1.0)):
        if value in words:
            chosen = is_name & (names == rows[role].map(str.strip).astype(object))
            choice = choice.mask(chosen, words[value])
    return make_column(*pd.factorize(choice))


_RANKING_ROLES = ("prompt", "prompt_id", "source", "annotator")
"""Roles whose values are equal in all rows of a ranking."""


def to_preferences(table: LongTable, options: BuildOptions) -> LongTable:
    """Convert rankings to preferences between all pairs of models; equal ranks are ties.

    A ranking consists of the rows of one annotator and prompt, or without annotators, of one
    prompt. In error lines, the row of a preference is the row of its second image.

    Args:
        table: One row per ranked image: prompt, model and rank (lower is better).
        options: Only `blank` is used.

    Raises:
        BenchmarkError: A rank is not a number of at least 0, a ranking contains a model (with the
            same image) twice, or no ranking has two models.
    """
    rows = table.rows
    if options.blank == "refuse":
        table.report_blanks("rank", "fill in the cell, or set `blank` to drop")
    rank = table.parse_values("rank", parse_number, "expected a number from 0")
    table.report_cells("rank", np.flatnonzero(rank < 0), "expected a number from 0")
    ranking_roles = [role for role in _RANKING_ROLES if role in rows]
    item_roles = [role for role in ("model", "image") if role in rows]
    ranked = rows.loc[~np.isnan(rank), ["prompt", *ranking_roles[1:], *item_roles]]
    remedy = "keep one of the rows, or add a column annotator"
    report_repeats(table, ranked, "this rank", remedy)
    table.raise_faults()
    ranking = rows.groupby(ranking_roles, observed=True, sort=False).ngroup().to_numpy()
    entries = pd.DataFrame({"ranking": ranking, "row": np.arange(len(rows))})[~np.isnan(rank)]
    entries = entries.sort_values("ranking", kind="stable")
    if (longest := np.bincount(ranking).max()) > 200:
        remedy = "name the annotators, or correct the prompts"
        raise BenchmarkError(f"{table.name}: a ranking has {longest} rows, more than 200; {remedy}")
    pairs = entries.merge(entries, on="ranking").query("row_x < row_y")
    first, second = pairs["row_x"].to_numpy(), pairs["row_y"].to_numpy()
    model = rows["model"].cat.codes.to_numpy()
    differ = model[first] != model[second]  # pairs of one model do not compare models
    first, second = first[differ], second[differ]
    if not len(first):
        if len(rows["model"].cat.categories) == 1:
            got = f"got only {rows['model'].iloc[0]!r:.60}"
            raise BenchmarkError(f"{table.name}: expected two or more models, {got}")
        remedy = "use the same prompt and annotator in all rows of a ranking"
        raise BenchmarkError(f"{table.name}: each ranking has only one model; {remedy}")
    roles = [r for r in rows if r not in (*item_roles, "rank", "control", COLUMN, FILE, ROW)]
    pairs = rows[[*roles, FILE, ROW]].iloc[second].reset_index(drop=True)
    for role in item_roles:
        for side, chosen_rows in (("a", first), ("b", second)):
            pairs[f"{role}_{side}"] = pd.Categorical(rows[role].iloc[chosen_rows].to_numpy())
    order = np.sign(rank[second] - rank[first]).astype(int)  # the lower rank is the better one
    pairs["choice"] = make_column(order + 1, ["b", "tie", "a"])
    count, number = pluralize(len(np.unique(ranking)), "ranking"), len(pairs)
    note = f"rankings: {count} (1 is best) read as {pluralize(number, 'preference')}; intervals "
    note += "treat them as independent, so they are somewhat narrow"
    return LongTable(pairs, table.name, {}, [*table.notes, note])
