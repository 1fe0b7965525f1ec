"""The static predictor's model card, written from what its configuration says happened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pqpp_models.card import ABOUT_OUTSIDE, ABOUT_UNCERTAIN, PQPP_AND_COCO, card, head, listed

_ABOUT = f"""
{ABOUT_UNCERTAIN}
```python
from pqpp_models import Predictor

predictor = Predictor.from_pretrained("static")
predictor.predict(["A man riding a wave on a surfboard."], "mean_hbpp,mean_p10")
values, deviations, distance = predictor.predict_with_uncertainty(["Two dogs and a robot"])
predictor.is_far(distance)
```

## How it works

A vector for each word piece, two convolutions over neighbouring pieces, their mean and maximum, one
hidden layer. It runs on numpy; there is no transformer and no torch at run time. The network also
puts a prompt near others of like meaning; one minus the mean cosine to the five nearest training
prompts is its distance. Deviations depend on the distance and on the prediction; nine in ten true
values are to lie within 1.645 of them.

{ABOUT_OUTSIDE}"""

_TRAINING = """\
## How it was trained

A teacher (kernel ridge regression and small networks on layers of a pretrained encoder, on how
densely a collection of captions lies around a prompt, and on the nearest training prompts' scores,
all leaving a prompt itself out) was fitted to {prompts} prompts and then labelled {captions}
captions and {others} further prompts, most of them made up of words and pieces of captions. The
network was trained on these labels and, for training prompts, on what the teacher says of them when
they are left out and on the true scores.

| | |
|---|---|
| data | {data} |
| encoder of the teacher | {encoder} |
| teacher | {teacher} |
| network | {student} |
| instructions | {instructions} GenEval prompts with the published rates of their six categories |
| seed | {seed} |
| versions | {versions} |

Settings were chosen on parts of the train split that were left out, with an eye on validation.
Nothing was fitted to DrawBench or GIMBRR, neither prompts nor scores, but the form of the gate and
which cues it reads were settled while looking at the scores on both.
"""

_LIMITS = """\
## Limits

* English only. HBPP is about GLIDE and SDXL, P@10 and RR about CLIP and BLIP-2 on MS COCO images;
  other models differ. RR is predicted much less well than the others.
* It is better near its training prompts than far from them: look at the distance.
* For instructions only the HBPP targets are adapted; P@10 and RR assume the MS COCO collection.
* A prediction is about the average over annotators, images and models, not about one image.
"""

_SOURCES = f"""\
{PQPP_AND_COCO}; vectors and counts are
changed from the originals. Word pieces and the teacher's encoder: all-MiniLM-L6-v2 by
sentence-transformers, Apache-2.0. Prompts: GenEval (Ghosh et al., 2023), MIT; PartiPrompts (Google
Research), Apache-2.0. Code and weights: Apache-2.0.
"""


def render_card(targets: Sequence[str], details: Mapping[str, Any]) -> str:
    """Write the card of a static predictor.

    Args:
        targets: what it predicts.
        details: ``data``, ``training`` and ``evaluation``; what is absent is left out.

    Returns:
        Markdown with a YAML header.

    >>> "Not measured" in render_card(["mean_rr"], {})
    True
    """
    parts = [head("static", _ABOUT, targets), render_scores(details.get("evaluation")), _LIMITS]
    return card(parts, details, lambda: _training(details), _SOURCES)


def _training(details: Mapping[str, Any]) -> str:
    training = details["training"]
    return _TRAINING.format(
        data=details.get("data", "not named"),
        others=training["instructions"] + training["unscored_prompts"],
        teacher=listed(training["teacher"]),
        student=listed(training["student"]),
        versions=listed(training["versions"]),
        **{name: training[name] for name in ("prompts", "captions", "encoder", "instructions")},
        seed=training["seed"],
    )


def render_scores(scores: Mapping[str, Any] | None) -> str:
    """Write a card's section about what `static_evaluation.evaluate` returned."""
    if not scores:
        return "## What it scores\n\nNot measured.\n"
    rows = [
        "## What it scores",
        "",
        "The validation split of PQPP, to which nothing was fitted:",
        "",
    ]
    rows += ["| target | Pearson | Kendall |", "|---|---|---|"]
    rows += [f"| {name} | {one:.3f} | {two:.3f} |" for name, (one, two) in _table(scores)]
    rows += [
        "",
        f"Nine in ten true values should lie within 1.645 deviations; "
        f"{scores['coverage_validation']:.1%} of validation's do.",
    ]
    named = {"drawbench": "DrawBench, HBPP", "gimbrr": "GIMBRR, match rates"}
    if any(name in scores for name in named):
        rows += ["", "Prompts of other sets, predicted `mean_hbpp` (GIMBRR's rates as 3r - 1):", ""]
        rows += ["| set | prompts | Spearman | 95 % interval | coverage | far |", "|" + "---|" * 6]
    for name, title in named.items():
        if name in scores:
            one = scores[name]
            low, high = one["interval"]
            rows.append(
                f"| {title} | {one['prompts']} | {one['spearman']:.3f} | {low:.2f} .. {high:.2f} "
                f"| {one['coverage']:.1%} | {one['far']:.1%} |"
            )
    if "gimbrr" in scores:
        rows += ["", f"Within GIMBRR's tasks, on average: {scores['gimbrr']['within_tasks']:.3f}."]
    return "\n".join([*rows, ""])


def _table(scores: Mapping[str, Any]) -> list[tuple[str, Sequence[float]]]:
    halves = {
        "mean of the nearer half": scores["validation_near"],
        "mean of the farther half": scores["validation_far"],
    }
    return [*scores["validation"].items(), *halves.items()]
