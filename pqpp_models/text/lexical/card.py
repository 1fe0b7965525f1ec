"""The lexical predictor's model card, written from what its configuration says happened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pqpp_models.card import PQPP, card, head, listed
from pqpp_models.text.lexical.features import DENSE

_ABOUT = """
Predicts from the words of a prompt how well it will do in text-to-image generation and in
text-to-image retrieval. HBPP is in -1 .. 2, P@10 and RR are in 0 .. 1; higher is better. Targets:
{targets}.

```python
from pqpp_models import Predictor

predictor = Predictor.from_pretrained("lexical")
predictor.predict(["a man riding a wave on a surfboard"], "mean_hbpp,mean_p10")
```

## How it works

Ridge regression, linear in TF-IDF values of words, neighbouring words, 2 to 5 characters and pairs
of content words, and in {n_dense} dense features: length, how rare the n-grams are among the
training prompts (each compared with the others only), and the mutual information of its pairs of
words. It is fitted to the mean of a target's standardised value and its Gaussian rank. The last
step maps the scores of all targets to each target's own units, and is fitted to predictions for
left-out prompts. Weights of n-grams are rounded to eight bits. It runs on numpy alone.
"""

_TRAINING = """\
## How it was trained

| | |
|---|---|
| data | {data} |
| prompts | {n_prompts} |
| SHA-256 of prompts and scores | `{fingerprint}` |
| strength of the ridge | {ridge} |
| recipe | {recipe} |
| versions | {versions} |

The strength of the ridge was chosen for each target among {ridges}, by cross-validation in {folds}
parts inside the training prompts. The recipe's other values were chosen in the same way, once and
for all, on the train split of PQPP v1.0. The weights hold n-grams of the training prompts and no
whole prompt.
"""

_UNMEASURED = """\
## What it scores

Not measured. Score it with `pqpp bench` on prompts that it was not fitted to.
"""

_LIMITS = """\
## Limits

* It was made for captions of photographs. Prompts that people type into image generators are
  about other things and worded otherwise; how well it does there was not measured. It ranks
  prompts worse when their words did not occur together in training.
* It sees words, not meaning: no synonyms, no word order beyond neighbours, English only. Only the
  first 2,000 characters of a prompt count.
* HBPP is about GLIDE and SDXL, P@10 and RR about CLIP and BLIP-2 on MS COCO images; other models
  differ. RR is predicted much less well than the others.
* A prediction is about the average over annotators, images and models; it is no judgment on a
  single image.
"""

_SOURCES = f"""\
## Sources and licences

{PQPP}, whose prompts and scores are
published under CC BY 4.0 at https://github.com/Eduard6421/PQPP; its prompts are captions of MS COCO
(CC BY 4.0). Code and weights: Apache-2.0.
"""


def render_card(targets: Sequence[str], details: Mapping[str, Any]) -> str:
    """Write the card of a lexical predictor.

    Args:
        targets: what it predicts.
        details: what its configuration tells: ``data``, ``training``, ``evaluation``; what is
            absent is left out, or said not to be known.

    Returns:
        Markdown with a YAML header.

    >>> "Not measured" in render_card(["mean_rr"], {})
    True
    """
    evaluation = details.get("evaluation")
    scores = _evaluation(evaluation) if evaluation else _UNMEASURED
    about = _ABOUT.replace("{n_dense}", str(len(DENSE)))
    parts = [head("lexical", about, targets), scores, _LIMITS]
    return card(parts, details, lambda: _training(targets, details), _SOURCES)


def _training(targets: Sequence[str], details: Mapping[str, Any]) -> str:
    training, number = details["training"], "{:g}".format
    recipe = dict(training["recipe"])
    ridges = recipe.pop("ridges")
    return _TRAINING.format(
        data=details.get("data", "not named"),
        n_prompts=training["n_prompts"],
        fingerprint=training["fingerprint"],
        ridge=listed({one: training["ridge"][one] for one in targets}, number),
        recipe=listed(dict(sorted(recipe.items())), number),
        versions=listed(dict(sorted(training["versions"].items()))),
        ridges=", ".join(f"{ridge:g}" for ridge in ridges),
        folds=recipe["folds"],
    )


def _evaluation(evaluation: Sequence[Mapping[str, Any]]) -> str:
    parts = ["## What it scores\n"]
    for table in evaluation:
        parts += [table["title"], "", "| target | Pearson | Kendall |", "|---|---|---|"]
        for row in table["rows"]:
            parts.append(f"| {row['target']} | {row['pearson']:.3f} | {row['kendall']:.3f} |")
        parts.append("")
    return "\n".join(parts)
