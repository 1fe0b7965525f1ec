"""How much of their errors like prompts share, and what the judge of rewrites accepts.

    python benchmarks/rewriting.py --data-dir DATA --encoder MINILM --output likeness.json

The first part writes what `pqpp_engines/rewrite/likeness.json` holds. Captions of PQPP's train
split are predicted by a kernel ridge on an encoder and on counts of words, without the labels of
their neighbours; a pair's errors are those of the ridge fitted without both (in closed form, from
the inverse of its matrix), so that neither caption has helped to predict the other. Errors are
divided by the deviation that is predicted for them. Their correlation is told by the cosine of the
pair, in the space of `static` and in the encoder's, which is the text ensemble's; it may not fall
as the cosine rises (isotonic, weighted by the pairs).

The second part, on captions of the validation split without their labels, counts what the judge
says of paraphrases (another order, synonyms, added detail; as in `tests/support/paraphrases.py`).
The third does so for what should not pass (words deleted greedily by what is predicted then,
ConQA's rephrasings), for expansions of ConQA's queries by synonyms, and for captions that stand for
their own words in a random order, which is as much better as a rewrite of the same words can be.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

import numpy as np
from scipy.linalg import cho_factor
from scipy.linalg.lapack import dpotri
from scipy.optimize import isotonic_regression

from pqpp_datasets.load import load_benchmark
from pqpp_engines.rewrite import Judge, Synonyms
from pqpp_files.write_beside import write_whole
from pqpp_models import TARGETS, Predictor
from pqpp_models.encoder.normaliser import normalise
from pqpp_models.encoder.pretrained import load_encoder
from pqpp_models.text.calibration import distance_to_nearest, predicted
from pqpp_models.text.collection.collection import Collection
from pqpp_models.text.collection.model import Scaling, squared_distances
from pqpp_models.text.collection.postings import Postings
from pqpp_models.text.conformal import calibrate_targets
from pqpp_models.text.training.texts import cached_layer_means, read_captions, spaced
from pqpp_models.text.words import WordTables, difficulty_features

sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
from support.paraphrases import PARAPHRASES

LAYERS, RIDGE = (2, 6), 5.0
EDGES = (0.8, 0.85, 0.9, 0.93, 0.95, 0.97, 0.98, 0.99, 1.001)
FEWEST = 100


def main() -> None:
    """Measure, write and print."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--data-dir", type=Path, required=True, help="folder of the data")
    parser.add_argument("--encoder", help="folder of all-MiniLM-L6-v2; without it: part two alone")
    parser.add_argument("--output", type=Path, help="where the correlations go, as JSON")
    parser.add_argument("--captions", type=int, default=42000, help="of the collection")
    parser.add_argument("--cache", help="folder that keeps the encoder's states")
    options = parser.parse_args()
    if options.encoder:
        found = correlations(options)
        if options.output:
            write_whole(options.output, json.dumps(found, indent=1) + "\n")
        print(table(found))
    print(judged(options.data_dir))
    print(attacked(options.data_dir))


def correlations(options: argparse.Namespace) -> dict:
    """Return what the judge reads: by space and target, correlations at rising cosines."""
    rows = load_benchmark("pqpp-v1.0", data_dir=str(options.data_dir / "pqpp/v1.0"), split="train")
    prompts = [normalise(one) for one in rows["prompt"]]
    labels = np.column_stack([rows[name] for name in TARGETS]).astype(float)
    vectors, features = encoded(prompts, options)
    kernel = 2 * np.exp(-0.3 * squared_distances(features, features)).astype(float)
    for layer in LAYERS:
        kernel += np.exp(-0.7 * squared_distances(vectors[layer], vectors[layer]))
    errors = PairErrors(kernel, labels, prompts, vectors[max(LAYERS)])
    static = Predictor.from_pretrained("static-train").embed(prompts)
    spaces = {"static": static, "text_ensemble": vectors[max(LAYERS)]}
    return {
        "source": "benchmarks/rewriting.py",
        "data": f"PQPP v1.0, train: {len(prompts)} captions",
        "spaces": {name: by_cosine(errors, points) for name, points in spaces.items()},
    }


def encoded(prompts: list[str], options: argparse.Namespace) -> tuple[dict, np.ndarray]:
    """Return the prompts' unit vectors by layer, and features without anybody's labels."""
    path = options.data_dir / "captions/coco_val2014_captions.txt"
    folder = str(options.data_dir / "pqpp/v1.0")
    others = load_benchmark("pqpp-v1.0", data_dir=folder, split="validation")["prompt"]
    captions = read_captions(str(path), [*prompts, *map(normalise, others)])
    captions = [captions[i] for i in spaced(0, len(captions), options.captions)]
    texts = [*prompts, *map(normalise, captions)]
    encoder, tokenizer = load_encoder(options.encoder)
    states = cached_layer_means(encoder, tokenizer, texts, [0, *LAYERS], options.cache)
    tables = WordTables.build(texts)
    collection = Collection.build(states, len(prompts), tables, Postings.build(texts))
    own = {layer: array[: len(prompts)] for layer, array in collection.vectors.items()}
    parts = [
        collection.density_features(own),
        difficulty_features(prompts, tables, True),
        collection.postings.scope(prompts),
    ]
    found = np.concatenate(parts, axis=1)
    return own, Scaling.fit(found)(found) / np.sqrt(found.shape[1])


class PairErrors:
    """Errors of two captions by a kernel ridge fitted without both, in predicted deviations."""

    def __init__(self, kernel, labels, prompts, vectors) -> None:
        self.labels = labels
        self.standard = (labels - labels.mean(axis=0)) / labels.std(axis=0)
        kernel[np.diag_indices_from(kernel)] += RIDGE
        factor, _ = cho_factor(kernel, lower=True, overwrite_a=True)
        inverse = np.tril(dpotri(factor, lower=1, overwrite_c=True)[0])
        self.inverse = inverse + np.tril(inverse, -1).T
        self.alpha = self.inverse @ self.standard
        left_out = self.standard - self.alpha / np.diag(self.inverse)[:, None]
        distance = distance_to_nearest(vectors, np.ascontiguousarray(vectors.T), own=True)
        found = calibrate_targets(left_out, labels, prompts, distance)
        self.units = {name: array.astype(float) for name, array in found.items()}
        self.deviations = predicted(left_out, prompts, distance, self.units)[1]

    def __call__(self, first: np.ndarray, second: np.ndarray, target: int) -> tuple:
        """Return the errors of the first and the second captions of pairs."""
        diagonal, alpha = np.diag(self.inverse), self.alpha[:, target]
        shared = self.inverse[first, second]
        determinant = diagonal[first] * diagonal[second] - shared**2
        sides = []
        for one, other in ((first, second), (second, first)):
            raw = (diagonal[other] * alpha[one] - shared * alpha[other]) / determinant
            score = self.standard[one, target] - raw
            value = score * self.units["slope"][target] + self.units["offset"][target]
            sides.append((self.labels[one, target] - value) / self.deviations[one, target])
        return tuple(sides)


def by_cosine(errors: PairErrors, points: np.ndarray) -> dict:
    """Return the correlation of errors in each step of the cosine, never falling."""
    first, second = np.triu_indices(len(points), 1)
    cosines = np.concatenate([points[at] @ points[at + 1 :].T for at in range(len(points) - 1)])
    like = np.flatnonzero(cosines >= EDGES[0])
    first, second, cosines = first[like], second[like], cosines[like]
    step = np.digitize(cosines, EDGES) - 1
    counts = np.bincount(step, minlength=len(EDGES) - 1)
    kept = np.flatnonzero(counts >= FEWEST)
    found = {}
    for at, target in enumerate(TARGETS):
        one, other = errors(first, second, at)
        shared = np.bincount(step, one * other)[kept]
        square = np.bincount(step, (one**2 + other**2) / 2)[kept]
        risen = isotonic_regression(shared / square, weights=counts[kept]).x
        found[target] = np.maximum(risen, 0).round(4).tolist()
    means = (np.bincount(step, cosines)[kept] / counts[kept]).round(4).tolist()
    return {"cosines": means, "pairs": counts[kept].tolist(), "correlations": found}


def table(found: dict) -> str:
    """Return the correlations as Markdown."""
    lines = []
    for name, space in found["spaces"].items():
        lines += ["", f"| cosine in the space of {name} | pairs | {' | '.join(TARGETS)} |"]
        lines += ["|---|---|" + "---|" * len(TARGETS)]
        for at, cosine in enumerate(space["cosines"]):
            cells = [f"{space['correlations'][one][at]:.2f}".lstrip("0") for one in TARGETS]
            lines.append(f"| {cosine:.3f} | {space['pairs'][at]:,} | {' | '.join(cells)} |")
    return "\n".join(lines)


def judged(data_dir: Path) -> str:
    """Return as Markdown what becomes of paraphrases of validation captions."""
    captions = validation_captions(data_dir)[:600]
    lines = [
        "",
        "| target | paraphrase | n | meaning kept | gain, median [10, 90 %] | largest | deviation "
        "of the gain | accepted at .8 | at .5 |",
        "|---|---|---|---|---|---|---|---|---|",
    ]
    for target in ("mean_hbpp", "mean_p10", "mean_rr"):
        judge, loose = (Judge(target, "static-train", confidence=one) for one in (0.8, 0.5))
        for name, paraphrase in PARAPHRASES.items():
            pairs = [(one, paraphrase(one)) for one in captions if paraphrase(one)][:150]
            verdicts = [judge(one, [other])[0] for one, other in pairs]
            kept = [one for one in verdicts if one.accepted or one.reason.startswith("not surely")]
            gains = np.array([one.gain for one in kept])
            bounds = np.array([one.lower_bound for one in kept])
            low, middle, high = np.quantile(gains, [0.1, 0.5, 0.9])
            spread = np.median((gains - bounds) / 0.8416)
            more = sum(loose(one, [other])[0].accepted for one, other in pairs)
            lines.append(
                f"| {target} | {name} | {len(pairs)} | {len(kept)} | {middle:+.3f} [{low:+.3f}, "
                f"{high:+.3f}] | {gains.max():+.3f} | {spread:.2f} | "
                f"{sum(one.accepted for one in verdicts)} | {more} |"
            )
    return "\n".join(lines)


def validation_captions(data_dir: Path) -> list[str]:
    """Return the captions of PQPP's validation split."""
    rows = load_benchmark("pqpp-v1.0", data_dir=str(data_dir / "pqpp/v1.0"), split="validation")
    return list(rows["prompt"])


def attacked(data_dir: Path) -> str:
    """Return as Markdown what becomes of attacks, expansions and words in another order."""
    lines = [
        "",
        "| target | rewrite | n | meaning kept | gain, median | largest | accepted at .8 | at .5 |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for target in ("mean_hbpp", "mean_p10"):
        judge, loose = (Judge(target, "static-train", confidence=one) for one in (0.8, 0.5))
        for name, pairs in attacks(data_dir, judge.predictor, target).items():
            found = [judge(one, [other])[0] for one, other in pairs]
            kept = [one for one in found if one.accepted or one.reason.startswith("not surely")]
            gains = np.array([one.gain for one in kept])
            more = sum(loose(one, [other])[0].accepted for one, other in pairs)
            lines.append(
                f"| {target} | {name} | {len(pairs)} | {len(kept)} | {np.median(gains):+.3f} | "
                f"{gains.max():+.3f} | {sum(one.accepted for one in found)} | {more} |"
            )
    return "\n".join(lines)


def attacks(data_dir: Path, predictor: Predictor, target: str) -> dict[str, list]:
    """Return by name prompts with their rewrites."""
    captions, random = validation_captions(data_dir), np.random.default_rng(0)
    deleted, shuffled = [], []
    for caption in captions[:60]:
        words = caption.split()
        for _ in range(4):
            shorter = [" ".join(words[:at] + words[at + 1 :]) for at in range(len(words))]
            words = shorter[int(predictor.predict(shorter, target).argmax())].split()
            deleted.append((caption, " ".join(words)))
    for caption in captions[:300]:
        words = caption.rstrip(" .").split()
        shuffled.append((" ".join(random.permutation(words)), caption))
    seed = json.loads((data_dir / "conqa/seed.json").read_text("utf-8"))
    made = json.loads((data_dir / "conqa/exp_GPT_J6B.json").read_text("utf-8"))
    queries = {name: one["Text"] for name, one in seed.items()}
    return {
        "words deleted greedily": deleted,
        "ConQA's rephrasings": [(queries[one], text) for one in made for text in made[one]],
        "synonyms of ConQA's words": [
            (q, text) for q in queries.values() for text in Synonyms(8)(q)
        ],
        "words put in order": shuffled,
    }


if __name__ == "__main__":
    main()
