"""Two processes evaluate to what one does, and train one common model."""

import json
import os
import subprocess
import sys

import pytest

torch = pytest.importorskip("torch", reason="training needs torch")
pytest.importorskip("accelerate", reason="training needs accelerate")

from support.tiny_models import REPOSITORY, save_text_encoder  # noqa: E402

pytestmark = pytest.mark.slow


SHARD = """
import runpy, sys
from accelerate import state
from accelerate.utils import DistributedType
plain = state.PartialState.__init__
def start(self, *arguments, **options):
    is_first = not self.initialized  # later ones find what Accelerate made of it
    plain(self, *arguments, **options)
    if is_first:
        self.distributed_type = DistributedType.MULTI_GPU
state.PartialState.__init__ = start  # Accelerate shards on GPUs only; torch does on CPUs as well
sys.argv = sys.argv[2:]  # without itself and -m
runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
"""
FSDP = {
    "ACCELERATE_USE_FSDP": "true",
    "FSDP_VERSION": "2",
    "FSDP_AUTO_WRAP_POLICY": "TRANSFORMER_BASED_WRAP",
    "FSDP_TRANSFORMER_CLS_TO_WRAP": "BertLayer",
    "FSDP_STATE_DICT_TYPE": "SHARDED_STATE_DICT",
}


def train(tmp_path, name, processes, *flags, begin=(), **more):
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(REPOSITORY), **more}
    environment.pop("ACCELERATE_USE_CPU", None)  # a machine without GPUs needs no word of it
    launcher = [sys.executable]
    if processes > 1:
        launcher += ["-m", "torch.distributed.run", "--nproc_per_node", str(processes)]
        launcher += [
            "--master_port",
            "0",
            "--rdzv_backend",
            "c10d",
            "--rdzv_endpoint",
            "localhost:0",
        ]
    result = subprocess.run(
        [
            *launcher,
            *begin,
            *("-m", "pqpp_cli", "train", "bert"),
            *("--subset", "sample", "--epochs", "2", "--targets", "mean_hbpp,mean_rr"),
            *("--model", str(tmp_path / "encoder"), "--output_dir", str(tmp_path / name)),
            *flags,
        ],
        env=environment,
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert result.returncode == 0, result.stderr[-3000:]
    return json.loads((tmp_path / name / "model" / "config.json").read_text())["training"]


def test_two_processes_evaluate_to_what_one_does(tmp_path, cache):
    save_text_encoder(tmp_path / "encoder")
    # A learning rate that changes nothing leaves the two with the same model to evaluate; 77 rows
    # don't come out even.
    still = ("--learning_rate", "1e-30", "--batch_size", "8", "--validation_split", "test[:77]")
    one = train(tmp_path, "one", 1, *still)
    two = train(tmp_path, "two", 2, *still)
    assert (one["processes"], two["processes"]) == (1, 2)
    assert one["validation"] == two["validation"]


def test_two_processes_learn_what_one_does_on_twice_the_batch(tmp_path, cache):
    save_text_encoder(tmp_path / "encoder")
    # Without dropout and with whole batches in one order, the mean of two gradients is that of the
    # joint batch.
    flags = ("--head_dropout", "0", "--no-length_sorted", "--learning_rate", "1e-3")
    config = tmp_path / "encoder" / "config.json"
    fields = json.loads(config.read_text())
    fields |= {"hidden_dropout_prob": 0.0, "attention_probs_dropout_prob": 0.0}
    config.write_text(json.dumps(fields))
    one = train(
        tmp_path, "one", 1, *flags, "--gradient_accumulation_steps", "2", "--batch_size", "8"
    )
    two = train(tmp_path, "two", 2, *flags, "--batch_size", "8")
    assert one["steps"] == two["steps"] == 30
    assert one["validation"] == pytest.approx(two["validation"], abs=1e-3)


def test_a_sharded_model_is_whole_when_it_is_saved_and_resumed(tmp_path, cache):
    from safetensors.torch import load_file

    from pqpp_models import Predictor

    save_text_encoder(tmp_path / "encoder")
    (tmp_path / "shard.py").write_text(SHARD)
    begin = (str(tmp_path / "shard.py"),)
    flags = ("--batch_size", "8", "--learning_rate", "1e-3", "--checkpoint_steps", "10")
    details = train(tmp_path, "sharded", 2, *flags, begin=begin, **FSDP)
    assert details["processes"] == 2 and details["steps"] == 30
    model = tmp_path / "sharded" / "model"
    whole = load_file(model / "model.safetensors")
    again = train(tmp_path, "sharded", 2, *flags, "--resume", begin=begin, **FSDP)
    assert again["validation"] == details["validation"]
    resumed = load_file(model / "model.safetensors")
    assert all(torch.equal(whole[name], resumed[name]) for name in whole)
    assert Predictor.from_pretrained(model).predict(["a cat"]).shape == (1, 2)


def test_one_process_of_several_is_told(tmp_path, cache):
    save_text_encoder(tmp_path / "encoder")
    launcher = [sys.executable, "-m", "accelerate.commands.accelerate_cli", "launch", "--cpu"]
    for count in ("1", "2"):
        done = subprocess.run(
            [
                *(*launcher, "--num_processes", count),
                str(REPOSITORY / "training" / "train_bert.py"),
                *("--subset", "sample", "--epochs", "1", "--targets", "mean_rr"),
                *("--model", str(tmp_path / "encoder"), "--output_dir", str(tmp_path / count)),
            ],
            env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(REPOSITORY)},
            capture_output=True,
            text=True,
            timeout=900,
        )
        assert done.returncode == 0, done.stderr[-3000:]
        assert ("several are started by torchrun" in done.stderr) == (count == "2")
