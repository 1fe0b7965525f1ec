"""Preferences between two models' images of a prompt, to a strength of each model.

Each row says which of two models' images of one prompt somebody prefers. A model's strength is that
of the Bradley-Terry model over all rows, with an interval; a tie counts half a win for each. A
prompt is compared far too seldom for strengths of its own: its target for a model, `<model>_rate`,
is the share of the model's comparisons on that prompt that it won, ties half. There is no mean over
the models, which would be one half wherever all were compared alike.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from pqpp_datasets.errors import DataFileError, OptionError
from pqpp_datasets.own_benchmark.judgment_files import (
    Coded,
    Columns,
    pairs_of,
    read_columns,
    refuse_empty,
)
from pqpp_datasets.own_benchmark.options import BuildOptions
from pqpp_datasets.own_benchmark.prompts import COLUMNS, Prompts
from pqpp_datasets.own_benchmark.trust.pairwise import PairAgreements, pair_agreements
from pqpp_datasets.own_benchmark.trust.reliability import alpha
from pqpp_datasets.own_benchmark.votes.joined import concatenated, join_known, read_prompt_texts
from pqpp_datasets.own_benchmark.votes.scales import Scale, key_of, scale_of_map
from pqpp_datasets.own_benchmark.votes.values import label_values, once, optional_numbers

_A = dict.fromkeys(("a", "model_a", "left", "1", "first"), 1.0)
_B = dict.fromkeys(("b", "model_b", "right", "2", "second"), -1.0)
_TIE = dict.fromkeys(("tie", "equal", "same", "both", "neither", "draw", "none", "0"), 0.0)
CHOICES = Scale("A, B or tie", -1, 1, "nominal", words={**_A, **_B, **_TIE})


@dataclass(frozen=True)
class Choices:
    """What was chosen, a place in each array one choice.

    Attributes:
        prompts: The prompts.
        prompt: int64 (choices,), of which prompt.
        models: int64 (choices,) each, the model that stood first, and the one that stood second.
        model_names: The models.
        images: int64 (choices,) each, likewise their images; None where no column names them.
        image_names: The images.
        annotator: int32 (choices,), who chose; None where nothing says so.
        annotator_names: The annotators.
        value: float64 (choices,), 1 for the first, -1 for the second, 0 for a tie.
        counts: bool (choices,), whether it counts.
        seconds: float64 (choices,), how long it took, NaN where unknown; None without that column.
    """

    prompts: Prompts
    prompt: np.ndarray
    models: tuple[np.ndarray, np.ndarray]
    model_names: list[str]
    images: tuple[np.ndarray, np.ndarray] | None
    image_names: list[str]
    annotator: np.ndarray | None
    annotator_names: list[str]
    value: np.ndarray
    counts: np.ndarray
    seconds: np.ndarray | None


@dataclass(frozen=True)
class Preferences:
    """What came of preferences.

    Attributes:
        models: The models, in the order in which they come.
        strength: float64 (models,), natural logarithms with mean 0: the odds that one is preferred
            to another are the exponential of their difference.
        low: float64 (models,), the lower end of the 95 % interval.
        high: float64 (models,), the upper end.
        comparisons: int64 (models,), in how many each was compared.
        win_share: float64 (models,), which share of these it won, ties half.
        scores: Model to its share on each prompt, float64 (prompts,), NaN where it is not compared.
        rows: How many preferences count.
        ties: How many of them are ties.
        notes: What is to be said about them, a line each.
        choices: All of them, once each.
        agreements: Of each voter with the others; None where nothing says who chose.
        alpha: Krippendorff's, of those that count, a tie half-way; NaN where no pair has two.
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
    choices: Choices
    agreements: PairAgreements | None
    alpha: float

    @property
    def flagged(self) -> list[tuple[str, str]]:
        """The voters who are flagged, each with the reason."""
        if self.agreements is None:
            return []
        both = zip(self.choices.annotator_names, self.agreements.reasons, strict=True)
        return [(name, reason) for name, reason in both if reason]

    def ranked(self) -> list[tuple[str, float, float, float, int, float]]:
        """Return model, strength, its interval, comparisons and share of wins, strongest first."""
        columns = (self.strength, self.low, self.high, self.comparisons, self.win_share)
        rows = zip(self.models, *(one.tolist() for one in columns), strict=True)
        return sorted(rows, key=lambda row: -row[1])

    def lines(self) -> list[str]:
        """Say the strengths, a line a model."""
        return [
            f"{model}: strength {strength:.3f} ({low:.3f} to {high:.3f}), {count} comparisons, "
            f"{share:.1%} won"
            for model, strength, low, high, count, share in self.ranked()
        ]


def read_preferences(files: Sequence[tuple[str | None, Path]], options: BuildOptions) -> Columns:
    """Read files of preferences, a row a comparison.

    Their columns are `prompt` (or `prompt_id`, with a file of prompts), `model_a`, `model_b` and
    `choice`: a, b or tie, other words for them, or the chosen model's name; and, if wanted,
    `image_a` and `image_b`, `annotator`, `seconds`, `source`, `prompt_id`, `category`.
    `options.columns` says what the files call them.
    """
    text = "prompt_id" if options.prompts else "prompt"
    extra = ("prompt", "image_a", "image_b", "annotator", "seconds", *COLUMNS)
    optional = [role for role in extra if role != text]
    needed = (text, "model_a", "model_b", "choice")
    how = {"blank": ["choice"], **options.reading("preferences")}
    parts = [read_columns(path, needed, optional, **how) for _, path in files]
    columns = concatenated(parts)
    if "prompt_id" in columns:
        columns.notes = join_known(columns, read_prompt_texts(options), "prompt_id")
    for role in ("annotator", "image_a", "image_b"):
        if role in columns:
            refuse_empty(columns, role)
    if ("image_a" in columns) != ("image_b" in columns):
        raise DataFileError(
            f"{columns.places.name}: only one of the columns image_a and image_b is there; name "
            "both, or leave both out"
        )
    return columns


def score_preferences(columns: Columns, prompts: Prompts, options: BuildOptions) -> Preferences:
    """Compute the strength of each model, and its share of wins on each prompt.

    Args:
        columns: As `read_preferences` gives them.
        prompts: The prompts so far; those of the file are taken in.
        options: What labels mean, and what blank and repeated ones do; `prior_wins`.

    Raises:
        DataFileError: A choice is none, a model is compared with itself, or somebody chose twice.
        OptionError: The comparisons allow no strengths.
    """
    choices, item, agreements, notes = _choices_of(columns, prompts, options)
    first, second = (side[choices.counts] for side in choices.models)
    turned = first > second
    low, high = np.where(turned, second, first), np.where(turned, first, second)
    value = choices.value[choices.counts]
    value = np.where(turned, -value, value)
    won = (value + 1) / 2
    models, size = choices.model_names, len(choices.model_names)
    wins = np.bincount(low * size + high, won, size * size)
    wins += np.bincount(high * size + low, 1 - won, size * size)
    wins = wins.reshape(size, size)
    found = _strengths(columns, models, wins, options.prior_wins)
    compared = (wins + wins.T).sum(axis=1)
    prompt = choices.prompt[choices.counts]
    return Preferences(
        models=models,
        strength=found["strength"],
        low=found["low"],
        high=found["high"],
        comparisons=compared.astype(np.int64),
        win_share=wins.sum(axis=1) / compared,
        scores=_shares(prompt, low, high, won, models, len(prompts.keys)),
        rows=int(choices.counts.sum()),
        ties=int((won == 0.5).sum()),
        notes=(*columns.notes, *notes, "choices: a tie counts half a win for each model"),
        choices=choices,
        agreements=agreements,
        alpha=alpha(item[choices.counts], value, "ordinal"),
    )


def _choices_of(
    columns: Columns, prompts: Prompts, options: BuildOptions
) -> tuple[Choices, np.ndarray, PairAgreements | None, list[str]]:
    """Return what was chosen, the pair of images of each choice, and what is said of the voters."""
    prompt = prompts.number(columns)
    models, first, second = _models(columns)
    scale = _choices(options)
    columns["choice"] = _without_names(columns, scale)
    value, notes = label_values(columns, "choice", scale, options.blank)
    rows = np.flatnonzero(~np.isnan(value))
    if not len(rows):
        raise DataFileError(f"{columns.places.name}: no choice is left ({'; '.join(notes)})")
    # Which of two comes first does not matter to whether somebody chose twice.
    turned = first > second
    value = np.where(turned, -value, value)
    pair, images, image_names = _pairs(columns, prompts, prompt, models, (first, second), turned)
    known = "annotator" in columns
    if known:
        what = (*pair, columns["annotator"])
        rows, value, said = once(columns.places, "this choice", what, rows, value, options.repeats)
        notes += said
    prompt, turned, value = prompt[rows], turned[rows], value[rows]
    seconds = optional_numbers(columns, "seconds", rows)
    item = pairs_of(*(one.at(rows) for one in pair))[0]
    names = columns["annotator"].names if known else []
    annotator = columns["annotator"].codes[rows] if known else None
    agreements, counts = None, np.ones(len(rows), bool)
    if annotator is not None:
        agreements = pair_agreements(annotator, item, prompt, value, turned, len(names), seconds)
        if options.exclude == "flagged":
            counts = ~np.array([bool(reason) for reason in agreements.reasons])[annotator]
    else:
        notes.append("no annotators came: whom to trust cannot be checked")
    if not counts.any():
        raise DataFileError(
            f"{columns.places.name}: all who chose are flagged, and --exclude flagged leaves "
            "nobody; leave it out"
        )
    choices = Choices(
        prompts,
        prompt,
        (first[rows], second[rows]),
        models,
        images and (images[0][rows], images[1][rows]),
        image_names,
        annotator,
        names,
        np.where(turned, -value, value),
        counts,
        seconds,
    )
    return choices, item, agreements, notes


def _pairs(
    columns: Columns,
    prompts: Prompts,
    prompt: np.ndarray,
    models: list[str],
    sides: tuple[np.ndarray, np.ndarray],
    turned: np.ndarray,
) -> tuple[list[Coded], tuple[np.ndarray, np.ndarray] | None, list[str]]:
    """Return what tells one pair of images from another, and the images by number.

    A pair is the prompt, the two models and, where columns name them, the two images; which of the
    two stands first does not tell pairs apart.
    """
    first, second = sides
    low, high = np.where(turned, second, first), np.where(turned, first, second)
    pair = [
        Coded(prompt, [text for _, text in prompts.keys]),
        Coded(low, models),
        Coded(high, models),
    ]
    if "image_a" not in columns:
        return pair, None, []
    names: dict[str, int] = {}
    images = []
    for side in (columns["image_a"], columns["image_b"]):
        places = [names.setdefault(name, len(names)) for name in side.names]
        images.append(np.array(places, np.int64)[side.codes])
    own = list(names)
    pair += [
        Coded(np.where(turned, images[1], images[0]), own),
        Coded(np.where(turned, images[0], images[1]), own),
    ]
    return pair, (images[0], images[1]), own


def _models(columns: Columns) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Return the models, and the two of each row by number."""
    a, b = columns["model_a"], columns["model_b"]
    names: dict[str, int] = {}
    sides = []
    for side in (a, b):
        places = [names.setdefault(name, len(names)) for name in side.names]
        sides.append(np.array(places, np.int64)[side.codes])
    same = np.flatnonzero(sides[0] == sides[1])
    if len(same):
        columns.refuse("model_b", int(b.codes[same[0]]), "as model_a; two models are compared")
    return list(names), *sides


def _choices(options: BuildOptions) -> Scale:
    """Return what stands for which choice."""
    scale = scale_of_map(options.labels) if options.labels else CHOICES
    unknown = set(scale.words.values()) - {-1.0, 0.0, 1.0}
    if unknown:
        raise OptionError(
            f"--labels {options.labels}: the value {unknown.pop():g} came; of choices 1 is the "
            "first model, -1 the second and 0 a tie"
        )
    return replace(scale, missing=scale.missing | frozenset(map(key_of, options.missing)))


def _without_names(columns: Columns, scale: Scale) -> Coded:
    """Return the choices with a word of the scale where the name of the row's model stands.

    A name that is itself a word of the scale, like `a`, stays that word.
    """
    choice, words = columns["choice"], {value: word for word, value in scale.words.items()}
    names, codes = list(choice.names), choice.codes.copy()
    known: dict[str, int] = {}
    keys = [name.strip() for name in names]
    alike = np.array([known.setdefault(key, len(known)) for key in keys], np.int64)
    meant = {k for k in keys if key_of(k) in scale.missing or not np.isnan(scale.value_of(k))}
    for role, value in (("model_a", 1.0), ("model_b", -1.0)):
        side = columns[role]
        stripped = [name.strip() for name in side.names]
        named = np.array([-1 if n in meant else known.get(n, -1) for n in stripped], np.int64)
        chosen = named[side.codes] == alike[choice.codes]
        if value in words and chosen.any():
            codes[chosen] = len(names)
            names.append(words[value])
    return Coded(codes, names)


def _strengths(columns: Columns, models: list[str], wins: np.ndarray, prior: float) -> dict:
    from pqpp_metrics.errors import MetricInputError
    from pqpp_metrics.functional import bradley_terry

    try:
        return bradley_terry(wins, prior)
    except MetricInputError:
        lost = wins.sum(axis=0) == 0
        won = wins.sum(axis=1) == 0
        named = [
            *(f"{name} never lost" for name, one in zip(models, lost, strict=True) if one),
            *(f"{name} never won" for name, one in zip(models, won, strict=True) if one),
        ]
        why = ", ".join(named[:3]) or "some models never lost to the others, or never met them"
        raise OptionError(
            f"{columns.places.name}: no strengths are most likely ({why}); give further "
            "comparisons, or --prior-wins 0.5, which gives each model so many wins over each other"
        ) from None


def _shares(prompt, low, high, won, models, prompts) -> dict[str, np.ndarray]:
    """Return the share of wins of each model on each prompt."""
    found = {}
    for number, name in enumerate(models):
        as_low, as_high = low == number, high == number
        wins = np.bincount(prompt[as_low], won[as_low], prompts)
        wins = wins + np.bincount(prompt[as_high], 1 - won[as_high], prompts)
        count = np.bincount(prompt[as_low | as_high], minlength=prompts)
        with np.errstate(invalid="ignore"):
            found[name] = np.round(wins / count, 12)
    return found
