"""The cards of fine-tuned predictors: what is known is told, what is not is left out."""

from types import SimpleNamespace

import pytest
from huggingface_hub import ModelCard

from pqpp_models.torch_predictor import fine_tuned_card

TRAINING = {
    "repository": "me/mine",
    "recipe": {
        "dataset": "pqpp",
        "subset": "pqpp-v1.0",
        "model": "google-bert/bert-base-cased",
        "targets": ["mean_rr", "mean_hbpp"],
        "source": None,
        "validation_split": "validation",
    },
    "data": {
        "version": "1.0.0",
        "train_rows": 6000,
        "train_sha256": "0a",
        "validation_rows": 2000,
        "validation_sha256": "0b",
    },
    **{"epochs": 4, "best_epoch": 3, "steps": 10, "seconds": 7, "processes": 2},
    "validation": {
        **{"mean_rr_pearson": 0.25, "mean_rr_kendall": 0.125},
        **{"mean_hbpp_pearson": 0.5, "mean_hbpp_kendall": 0.25},
        **{"pearson": 0.375, "kendall": 0.1875},
    },
    "versions": {"torch": "2.4"},
}


def predictor(name, details):
    return SimpleNamespace(name=name, targets=("mean_rr", "mean_hbpp"), details=details)


@pytest.mark.parametrize("name", ["bert", "clip", "correlation_cnn"])
def test_a_card_tells_what_happened(name):
    text = fine_tuned_card(predictor(name, TRAINING))
    card = ModelCard(text)
    assert card.data.base_model == "google-bert/bert-base-cased"
    assert card.data.license == "apache-2.0" and "pqpp" in card.data.tags
    found = [
        (r.dataset_config, r.dataset_split, r.metric_type, r.metric_name, r.metric_value)
        for r in card.data.eval_results
    ]
    assert found[0] == ("pqpp-v1.0", "validation", "pearson_qpp", "mean_rr Pearson", 0.25)
    assert found[3] == ("pqpp-v1.0", "validation", "kendall_qpp", "mean_hbpp Kendall", 0.25)
    for line in (
        "| training prompts | 6,000, SHA-256 `0a` |",
        "| epochs | 4, the best is 3 |",
        "| mean | 0.375 | 0.188 |",
    ):
        assert line in text, line
    assert 'from_pretrained("me/mine")' in text


@pytest.mark.parametrize(
    ("name", "said"),
    [("clip_score", "openai/clip-vit-base-patch32"), ("hps_v2", "PreferencePredictor.from_folder")],
)
def test_a_scorers_card(name, said):
    pytest.importorskip("torch", reason="scorers need torch")
    from pqpp_models.clip.preference import PreferencePredictor

    text = PreferencePredictor(name, SimpleNamespace(eval=lambda: None), None).card()
    assert text.startswith("---\n") and f"# {name}\n" in text and said in text


def test_figures_of_prompts_that_were_trained_on_are_not_shown():
    data = TRAINING["data"] | {"validation_fitted": 2000}
    text = fine_tuned_card(predictor("bert", TRAINING | {"data": data}))
    assert "trained on the validation split too" in text and "0.375" not in text
    assert not ModelCard(text).data.eval_results
    data = TRAINING["data"] | {"validation_fitted": 3}
    text = fine_tuned_card(predictor("bert", TRAINING | {"data": data}))
    assert "trained on 3 of these prompts too" in text and "| mean | 0.375 | 0.188 |" in text
