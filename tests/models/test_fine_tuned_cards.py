"""Cards of fine-tuned predictors."""

from types import SimpleNamespace

from huggingface_hub import ModelCard

from pqpp_models.torch_predictor import render_fine_tuned_card

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


def make_predictor(name, details):
    return SimpleNamespace(name=name, targets=("mean_rr", "mean_hbpp"), details=details)


def test_card_hides_scores_on_training_prompts():
    data = TRAINING["data"] | {"validation_fitted": 2000}
    text = render_fine_tuned_card(make_predictor("bert", TRAINING | {"data": data}))
    assert "also trained on the validation split" in text and "0.375" not in text
    assert not ModelCard(text).data.eval_results
    data = TRAINING["data"] | {"validation_fitted": 3}
    text = render_fine_tuned_card(make_predictor("bert", TRAINING | {"data": data}))
    assert "also trained on 3 of these prompts" in text and "| mean | 0.375 | 0.188 |" in text
