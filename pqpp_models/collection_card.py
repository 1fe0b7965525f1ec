"""The text ensemble's model card, written from what its configuration says happened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from pqpp_models.static_card import render_scores

_HEAD = """\
---
license: apache-2.0
language: en
library_name: pqpp
tags:
- query-performance-prediction
- prompt-performance-prediction
- text-to-image
---
# text_ensemble

Predicts from a prompt alone how well it will do in text-to-image generation and in text-to-image
retrieval, how sure that is, and whether the prompt is far from what the predictor knows. HBPP is in
-1 .. 2, P@10 and RR are in 0 .. 1; higher is better. Targets: {targets}.

```python
from pqpp_models import Predictor

predictor = Predictor.from_pretrained("OWNER/REPOSITORY")
predictor.predict(["A man riding a wave on a surfboard."], "mean_hbpp,mean_p10")
```

## How it works

A frozen text encoder gives mean states of several layers. From them, from how densely a collection
of captions lies around the prompt, from the scores of the nearest training prompts and from cues of
difficulty, kernel ridge regression and small networks predict all targets; what concerns a training
prompt itself was left out when they were fitted. For generation, the same encoder, fine-tuned on
HBPP, has a share. Deviations are such that nine in ten true values are to lie within 1.645 of them.
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
| seed | {seed} |
| versions | {versions} |

Settings were chosen on parts of the train split that were left out, with an eye on validation.
"""

_LIMITS = """\
## Limits

* English only. HBPP is about GLIDE and SDXL, P@10 and RR about CLIP and BLIP-2 on MS COCO images;
  other models differ. RR is predicted much less well than the others.
* It was made for captions of photographs. It is better near its training prompts than far from
  them: look at the distance. P@10 and RR assume the MS COCO collection.
* A prediction is about the average over annotators, images and models, not about one image.
"""

_SOURCES = """\
## Sources and licences

Trained on PQPP (Poesina, Costache, Chifu, Mothe and Ionescu, "PQPP: A Joint Benchmark for
Text-to-Image Prompt and Query Performance Prediction", CVPR 2025), CC BY 4.0,
https://github.com/Eduard6421/PQPP, and on captions of MS COCO (Lin et al., 2014), CC BY 4.0. The
weights hold vectors and hashed counts of these captions, not their text. Code: Apache-2.0; the
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
    parts = [_HEAD.format(targets=", ".join(f"`{target}`" for target in targets))]
    if details.get("training"):
        training = dict(details["training"])
        for name in ("fit", "tuned", "versions"):
            training[name] = ", ".join(f"{key} {value}" for key, value in training[name].items())
        parts.append(_TRAINING.format(data=details.get("data", "not named"), **training))
    parts.append(render_scores(details.get("evaluation")))
    parts.append(_LIMITS)
    if "pqpp-v1" in str(details.get("data", "")):
        parts.append(_SOURCES)
    return "\n".join(parts)
