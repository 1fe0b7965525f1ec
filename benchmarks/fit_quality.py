"""What `pqpp fit` reaches on studies of people's judgments, beside plain baselines.

    python benchmarks/fit_quality.py --data-dir DATA [--encoder MINILM] [--only agiqa] > table.md
    python benchmarks/fit_quality.py --data-dir DATA --few > few.md

Each study's prompts with their mean scores (`pqpp_models.text.training.studies`; none of them was
learned by `static-train`, on whose network the predictor stands), in five folds, three times. The
baselines are scikit-learn's: TF-IDF of words and pairs with ridge, TF-IDF of pieces of words with
ridge, and, by --encoder, a sentence embedding with ridge and with kernel ridge; each chooses its
strength, and its width, inside the other folds. `pqpp fit` is what `Predictor.predict` gives of
whole fits to the other folds. Figures are Spearman's coefficient, mean of the seeds, and Pearson's.
With --few: how far 20, 50, 100 and 200 judged prompts of a study go on all others of it, alone and
with a base, as `pqpp fit --base alignment` has one: here what a fit to the other studies predicts.
How far scores rise with the base is chosen on the other studies, too.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from time import process_time

import numpy as np
from scipy.stats import rankdata, spearmanr

from pqpp_backbones.encoder.normaliser import content
from pqpp_models import Predictor
from pqpp_models.scored_prompts import ScoredPrompts
from pqpp_models.text.ridge import forms
from pqpp_models.text.ridge.blocks import read
from pqpp_models.text.ridge.cross_validation import TrainingPrompts, cross_validate
from pqpp_models.text.ridge.head import Head
from pqpp_models.text.ridge.sentence_encoder import SentenceEncoder
from pqpp_models.text.training.studies import read_sources

STUDIES = ("gimbrr", "agiqa", "tia2_composition", "tia2_counting", "genai", "t2v")
SEEDS, FOLDS = (0, 1, 2), 5
SLOPES = (0.1, 0.2, 0.3, 0.5, 0.8)
FEW, FEW_SEEDS, FEWEST_LEFT = (20, 50, 100, 200), (0, 1, 2), 50
MOST_A_STUDY = 400
ALPHAS = np.logspace(-2, 2, 9)


def baselines(
    texts: list[str], embeddings: dict[str, np.ndarray]
) -> Iterator[tuple[str, Callable]]:
    """Yield the name of each baseline, and what predicts some rows from the scores of others."""
    from sklearn.feature_extraction.text import TfidfVectorizer
    from sklearn.kernel_ridge import KernelRidge
    from sklearn.linear_model import RidgeCV
    from sklearn.model_selection import GridSearchCV

    def tf_idf(**options):
        def predict(fitted, there, scores):
            reader = TfidfVectorizer(sublinear_tf=True, **options)
            rows = reader.fit_transform([texts[row] for row in fitted])
            model = RidgeCV(ALPHAS).fit(rows.toarray(), scores[fitted])
            return model.predict(reader.transform([texts[row] for row in there]).toarray())

        return predict

    yield "TF-IDF, words", tf_idf(ngram_range=(1, 2), token_pattern=r"\w+")
    yield "TF-IDF, pieces", tf_idf(ngram_range=(2, 4), analyzer="char_wb")

    def ridge(vectors, fitted, there, scores):
        return RidgeCV(ALPHAS).fit(vectors[fitted], scores[fitted]).predict(vectors[there])

    def kernel_ridge(vectors, fitted, there, scores):
        level = scores[fitted].mean()
        grid = {"alpha": [0.03, 0.3, 1.0], "gamma": [0.3, 1.0]}
        search = GridSearchCV(KernelRidge(kernel="rbf"), grid, cv=3)
        return search.fit(vectors[fitted], scores[fitted] - level).predict(vectors[there]) + level

    for name, vectors in embeddings.items():
        yield f"{name}, ridge", partial(ridge, vectors)
        yield f"{name}, kernel ridge", partial(kernel_ridge, vectors)


def study_figures(prompts: list[str], scores: list[float], encoder: str | None) -> dict:
    """Return by name the figures of each seed: Spearman's and Pearson's, of a fit its coverage."""
    first = {content(prompt): at for at, prompt in reversed(list(enumerate(prompts)))}
    texts, rows = list(first), list(first.values())
    true = np.array(scores)[rows]
    network = Predictor.from_pretrained("static-train")
    sentence_encoder = None if encoder is None else SentenceEncoder.load(encoder)
    limits = {"score": (float(true.min()), float(true.max()))}
    far = network.answer(texts, uncertainty=True).far
    reading = read(network, sentence_encoder, texts)
    figures: dict[str, list[tuple[float, ...]]] = {}
    everything = np.ones(len(texts), dtype=bool)
    for name in ("pqpp fit", "pqpp fit --encoder")[: 1 if encoder is None else 2]:
        beside = sentence_encoder if "--encoder" in name else None
        kept = reading if beside else reading._replace(sentence=None)
        training = TrainingPrompts(kept, texts, true[:, None], far)
        head, typed = Head(network, beside, limits), [prompts[row] for row in rows]
        for seed in SEEDS:
            found = cross_validate(head, training, typed, everything, FOLDS, seed=seed)
            one = found["cross_validation"]["score"]
            figures.setdefault(name, []).append((one["spearman"], one["pearson"], one["coverage"]))
    embeddings = {"own embedding": reading.embedding}
    if reading.sentence is not None:
        embeddings["encoder"] = reading.sentence
    for name, predict in baselines(texts, embeddings):
        for seed in SEEDS:
            part = np.random.default_rng(seed).permutation(len(texts)) % FOLDS
            predicted = np.empty(len(texts))
            for fold in range(FOLDS):
                others, there = np.flatnonzero(part != fold), np.flatnonzero(part == fold)
                predicted[there] = predict(others, there, true)
            pair = spearmanr(predicted, true)[0], np.corrcoef(predicted, true)[0, 1]
            figures.setdefault(name, []).append(pair)
    return figures


def base_without(name: str, sources: dict[str, ScoredPrompts]) -> Predictor:
    """Return what `pqpp fit` makes of the other studies, by the ranks inside each."""
    prompts, ranks = [], []
    for other, study in sources.items():
        if other != name:
            order = np.random.default_rng(0).permutation(len(study.prompts))[:MOST_A_STUDY]
            ranked = rankdata(study.scores) / len(study.prompts)
            prompts += [study.prompts[row] for row in order]
            ranks += [ranked[row] for row in order]
    held = {content(prompt) for prompt in sources[name].prompts}
    kept = [row for row, prompt in enumerate(prompts) if content(prompt) not in held]
    network = Predictor.from_pretrained("static-train")
    first = {content(prompts[row]): row for row in kept}
    texts, true = list(first), np.array(ranks)[list(first.values())]
    fitted, _ = Head(network, None, {"alignment": (0.0, 1.0)}).fit(
        read(network, None, texts), texts, true[:, None], np.zeros(len(texts), dtype=bool)
    )
    return fitted


def few_judged(name: str, sources: dict[str, ScoredPrompts]) -> tuple[float, np.ndarray]:
    """Return Spearman's coefficient on the prompts that no size was fitted to.

    Returns:
        That of the base, and those of each size (rows) of a fit alone and with the base, a slope
        of `SLOPES` a column; NaN where too few prompts are left.
    """
    study, base = sources[name], base_without(name, sources)
    network = Predictor.from_pretrained("static-train")
    first = {content(prompt): at for at, prompt in enumerate(study.prompts)}
    texts, scores = list(first), np.array(study.scores)[list(first.values())]
    based = base.predict(texts)[:, 0]
    reading = read(network, None, texts)._replace(base=based)
    limits = {"score": (float(scores.min()), float(scores.max()))}
    sizes = [size for size in FEW if len(texts) - size >= FEWEST_LEFT]
    of_base, figures = [], np.full((len(FEW_SEEDS), len(FEW), 1 + len(SLOPES)), np.nan)
    for seed in FEW_SEEDS:
        order = np.random.default_rng(seed).permutation(len(texts))
        left = order[max(sizes) :]
        of_base.append(spearmanr(based[left], scores[left])[0])
        for place, size in enumerate(sizes):
            judged = order[:size]
            rows = [texts[row] for row in judged]
            for column, slope in enumerate((None, *SLOPES)):
                forms.BASE_SLOPE = slope
                kept = reading if slope else reading._replace(base=None)
                head = Head(network, None, limits, "alignment" if slope else None)
                far = np.zeros(size, dtype=bool)
                fitted, _ = head.fit(kept.take(judged), rows, scores[judged, None], far)
                predicted = fitted.score_reading(kept.take(left))[:, 0]
                figures[seed, place, column] = spearmanr(predicted, scores[left])[0]
    return float(np.mean(of_base)), figures.mean(axis=0)


def best_slope(studies: Iterable[np.ndarray]) -> int:
    """Return the place in `SLOPES` of the best, every study and its sizes counted alike."""
    return int(np.mean([np.nanmean(study[:, 1:], axis=0) for study in studies], axis=0).argmax())


def print_few_judged(names: list[str], sources: dict[str, ScoredPrompts]) -> None:
    """Print a row a study, with the slope that is best on the others."""
    measured = {name: few_judged(name, sources) for name in names}
    print("| study | " + " | ".join(map(str, (0, *FEW))) + " | slope |\n" + "|---" * 7 + "|")
    for name, (of_base, figures) in measured.items():
        best = best_slope(study for other, (_, study) in measured.items() if other != name)
        pairs = [
            "" if np.isnan(row[0]) else f"{row[0]:.3f} / {row[1 + best]:.3f}" for row in figures
        ]
        print("| " + " | ".join([name, f"{of_base:.3f}", *pairs, f"{SLOPES[best]:g}"]) + " |")
    print("\n| slope | " + " | ".join(names) + " |\n" + "|---" * (1 + len(names)) + "|")
    for place, slope in enumerate(("none", *SLOPES)):
        means = [f"{np.nanmean(figures[:, place]):.3f}" for _, figures in measured.values()]
        print(f"| {slope} | " + " | ".join(means) + " |")


def main() -> None:
    """Print the table, a row as it is done."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data-dir", required=True)
    parser.add_argument("--encoder")
    parser.add_argument("--only", default=",".join(STUDIES))
    parser.add_argument("--few", action="store_true")
    options = parser.parse_args()
    sources = read_sources(options.data_dir)
    if options.few:
        print_few_judged(options.only.split(","), sources)
        return
    header = None
    for study in options.only.split(","):
        started = process_time()
        figures = study_figures(sources[study].prompts, sources[study].scores, options.encoder)
        means = {name: np.mean(rows, axis=0) for name, rows in figures.items()}
        if header is None:
            header = ["study", "prompts", *means, "covered", "CPU-s"]
            print("| " + " | ".join(header) + " |\n" + "|---" * len(header) + "|")
        cells = [f"{mean[0]:.3f} ({mean[1]:.3f})" for mean in means.values()]
        covered = ", ".join(f"{100 * mean[2]:.1f} %" for mean in means.values() if len(mean) > 2)
        count = len({content(prompt) for prompt in sources[study].prompts})
        row = [study, str(count), *cells, covered, f"{process_time() - started:.0f}"]
        print("| " + " | ".join(row) + " |", flush=True)


if __name__ == "__main__":
    main()
