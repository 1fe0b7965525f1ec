"""What `Trainer(compute_metrics=...)` calls, against scipy and a Trainer."""

import math

import numpy as np
import pytest
from metrics.test_resampling import MEASURES

from pqpp_metrics.errors import MetricInputError
from pqpp_metrics.trainer import compute_metrics


class TestTrainer:
    logits, labels = np.random.default_rng(3).standard_normal((2, 30))

    def test_logits_in_a_column_equal_scipy(self):
        found = compute_metrics((self.logits[:, None], self.labels))
        names = ("pearson", "kendall", "spearman", "rmse")
        expected = {name: MEASURES[name](self.logits, self.labels) for name in names}
        assert found == pytest.approx(expected)
        assert found == compute_metrics(((self.logits[:, None], "hidden"), self.labels[:, None]))

    @pytest.mark.slow
    def test_trainer_reports_the_metrics(self, tmp_path):
        import torch
        from transformers import Trainer, TrainingArguments

        class Line(torch.nn.Module):
            def __init__(self):
                super().__init__()
                self.line = torch.nn.Linear(1, 1)

            def forward(self, x, labels):
                logits = self.line(x)
                return {"loss": ((logits[:, 0] - labels) ** 2).mean(), "logits": logits}

        pairs = zip(self.logits, self.labels, strict=True)
        rows = [{"x": torch.tensor([x]).float(), "labels": torch.tensor(y)} for x, y in pairs]
        arguments = TrainingArguments(
            tmp_path, use_cpu=True, report_to="none", per_device_eval_batch_size=7
        )
        model = Line()
        trainer = Trainer(model, arguments, eval_dataset=rows, compute_metrics=compute_metrics)
        found = trainer.evaluate()
        with torch.no_grad():
            logits = model.line(torch.tensor(self.logits[:, None]).float())
        for name, value in compute_metrics((logits, self.labels)).items():
            assert found[f"eval_{name}"] == pytest.approx(value, abs=1e-6)

    def test_missing_labels_and_several_targets(self):
        labels = np.stack([self.labels, np.full(30, math.nan)], axis=1)
        logits = np.stack([self.logits, self.logits], axis=1)
        assert compute_metrics((logits, labels)) == compute_metrics((self.logits, self.labels))
        with pytest.raises(MetricInputError, match="logits and labels must have the same shape"):
            compute_metrics((logits, self.labels))
