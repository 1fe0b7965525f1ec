"""Ways to type a prompt that say the same."""

import unicodedata

TYPED = {
    "capitals": str.upper,
    "a caption": lambda prompt: f"{prompt[:1].upper()}{prompt[1:]}.",
    "marks at the end": lambda prompt: f"{prompt} ...!?",
    "blanks": lambda prompt: "  " + prompt.replace(" ", "   ") + "\t",
    "line ends": lambda prompt: prompt.replace(" ", "\r\n") + "\n",
    "decomposed": lambda prompt: unicodedata.normalize("NFD", prompt),
    "full width": lambda prompt: prompt.replace("a", "\uff41").replace("!", "\uff01"),
}


def typed_otherwise(prompts):
    """Return each prompt typed in one of the ways, in turn."""
    ways = list(TYPED.values())
    return [ways[place % len(ways)](prompt) for place, prompt in enumerate(prompts)]


def ten_thousand_prompts(folder):
    """Return 10,000 prompts of PQPP's splits and of studies whose prompts hold no syntax."""
    from pqpp_datasets.load import load_benchmark
    from pqpp_models.text.training.studies import read_studies

    studies = read_studies(str(folder), without=("aigiqa", "imagenhub")).values()
    prompts = [one for study in studies for one in study.prompts]
    for split in ("train", "validation"):
        rows = load_benchmark("pqpp-v1.0", data_dir=str(folder / "pqpp" / "v1.0"), split=split)
        prompts += list(rows["prompt"])
    assert len(prompts) >= 10_000
    return prompts[:10_000]
