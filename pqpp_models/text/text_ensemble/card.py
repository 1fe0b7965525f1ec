"""The text ensemble's model card, written from what its configuration says happened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pqpp_models.card import ABOUT_OUTSIDE, ABOUT_UNCERTAIN, PQPP_AND_COCO, card, head, listed
from pqpp_models.text.static.card import render_scores

_ABOUT = f"""
{ABOUT_UNCERTAIN}
```python
from pqpp_models import Predictor

predictor = Predictor.from_pretrained("OWNER/REPOSITORY")
predictor.predict(["A man riding a wave on a surfboard."], "mean_hbpp,mean_p10")
```

## How it works

A frozen text encoder gives mean states of several layers. From them, from how densely a collection
of captions lies around the prompt, from how many of them hold its words (query scope) and how alike
the nearest are (coherence), from the scores of the nearest training prompts and from cues of
difficulty, kernel ridge regression and small networks predict all targets; what concerns a training
prompt itself was left out when they were fitted. For generation, the same encoder, fine-tuned on
HBPP, has a share. Deviations are such that nine in ten true values are to lie within 1.645 of them.
"""

_OUTSIDE = f"""
{ABOUT_OUTSIDE}\
Nothing was fitted to DrawBench or GIMBRR, but the form of the gate was settled while looking at the
scores on both.
"""

_TRAINING = """\
## How it was trained

| | |
|---|---|
| data | {data}: {prompts} prompts |
| collection | these prompts and {captions} further captions of MS COCO |
| encoder | {encoder_name} |
| kernel ridge and networks | {fit} |
| fine-tuned encoder | {tuned} |
| model of instructions, fitted to GenEval's rates | {outside} |
| seed | {seed} |
| versions | {versions} |

Settings were chosen on parts of the train split that were left out, with an eye on validation.
"""

_OWN_COLLECTION = """\
## A collection of its own

The captions beside the training prompts were replaced after the training, by {captions} others. The
scores below were measured with the ones that it was trained with.
"""

_LIMITS = """\
## Limits

* English only. HBPP is about GLIDE and SDXL, P@10 and RR about CLIP and BLIP-2 on MS COCO images;
  other models differ. RR is predicted much less well than the others.
* It was made for captions of photographs. It is better near its training prompts than far from
  them: look at the distance. P@10 and RR assume the MS COCO collection.
* A prediction is about the average over annotators, images and models, not about one image.
"""

_SOURCES = f"""\
{PQPP_AND_COCO}. Code: Apache-2.0; the
encoder's weights keep their own licence.
"""


def render_card(targets: Sequence[str], details: Mapping[str, Any]) -> str:
    """Write the card of a text ensemble.

    Args:
        targets: what it predicts.
        details: ``data``, ``training`` and ``evaluation``; what is absent is left out.

    Returns:
        Markdown with a YAML header.

    >>> "Not measured" in render_card(["mean_rr"], {})
    True
    """
    about = _ABOUT + (_OUTSIDE if (details.get("training") or {}).get("outside") else "")
    parts = [head("text_ensemble", about, targets)]
    if details.get("own_collection"):
        parts.append(_OWN_COLLECTION.format(**details["own_collection"]))
    parts += [render_scores(details.get("evaluation")), _LIMITS]
    return card(parts, details, lambda: _training(details), _SOURCES)


def _training(details: Mapping[str, Any]) -> str:
    training = dict(details["training"])
    training |= {name: listed(training[name]) for name in ("fit", "tuned", "versions")}
    training["outside"] = listed(training.get("outside") or {}) or "none"
    return _TRAINING.format(data=details.get("data", "not named"), **training)
