"""The text predictor on onnxruntime: for serving on CPUs, without torch."""

import importlib
import logging
import os
import re
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray

from pqpp_backbones.checkpoint import CONFIG, Tensors
from pqpp_backbones.errors import ModelError
from pqpp_files.errors import in_a_line
from pqpp_files.extras import needing
from pqpp_files.hashes import sha256_of_parts
from pqpp_models.bert.onnx_graph import why_refused
from pqpp_models.bert.predictor import BertPredictor
from pqpp_models.predictor import Predictor
from pqpp_models.prompts import read_contents
from pqpp_models.targets import check_limits, resolve_targets, unscale_targets
from pqpp_models.torch_predictor import fine_tuned_card, processor_files

GRAPH = "model.onnx"
_INPUTS = ("input_ids", "attention_mask")
_LEAST_BOUND, _MORE_A_THREAD, _TIMES_GRAPH = 300_000_000, 100_000_000, 16
_TOKENS_A_BATCH = 2048


class OnnxBertPredictor(Predictor):
    """A text predictor that runs on onnxruntime, without torch.

    Predictions are in each target's own units, as those of `BertPredictor`.

    Args:
        graph: the bytes of the ONNX model.
        config: `targets`, `max_length` and what else is to be told.
        threads: how many a prediction uses; as many as there are cores for it if left out. Each
            runs batches of its own: none waits for another, nor spins while it waits.
        batch_size: prompts that the model sees at once, at most.
    """

    name = "bert_onnx"
    inputs = "text"
    supervised = True
    made_by = "`pqpp models export FOLDER` of a text predictor"
    chunk_size = 16384
    read_rows = staticmethod(read_contents)

    def __init__(
        self,
        graph: bytes,
        tokenizer: Any,
        config: Mapping[str, Any],
        threads: int = 0,
        batch_size: int = 32,
    ) -> None:
        self.graph, self.tokenizer, self.batch_size = graph, tokenizer, batch_size
        self.config = dict(config)
        self.targets = resolve_targets(self.config["targets"])
        self.limits = self.config.get("limits")
        check_limits(self.targets, self.limits)
        self.threads = threads or _cores()
        self.session = _session(graph, self.threads)

    @classmethod
    def from_torch(cls, predictor: BertPredictor, threads: int = 0) -> Self:
        """Convert a text predictor.

        Args:
            predictor: it stays as it is.
            threads: as for the class.

        Raises:
            MissingExtraError: a package of `pqpp[onnx]` is not installed.
        """
        graph = export_graph(predictor)
        config: dict[str, Any] = {"max_length": predictor.model.config.max_length}
        config |= {"targets": list(predictor.targets), "training": predictor.details}
        made = cls(graph, predictor.processor, config, threads)
        made.record = predictor.record
        return made

    def _try(self) -> None:
        self.predict(["a cat"])

    def _score(self, rows: list[Any], targets: tuple[str, ...]) -> NDArray[np.float64]:
        from pqpp_backbones.encoder.tokens import encode, length_sorted, padded

        prompts = [prompt.normalised for prompt in rows]
        encoded = encode(self.tokenizer, prompts, self.config["max_length"])
        pad_id = self.tokenizer.pad_token_id or 0
        scores = np.empty((len(rows), len(self.targets)))

        def run(batch: NDArray[np.intp]) -> None:
            inputs = padded([encoded[i] for i in batch], pad_id)
            scores[batch] = self._run(dict(zip(_INPUTS, inputs, strict=True)))

        size = min(self.batch_size, -(-len(rows) // self.threads))  # some for each thread
        batches = length_sorted([len(row) for row in encoded], max(1, size), _TOKENS_A_BATCH)
        with ThreadPoolExecutor(self.threads) as threads:
            mapped = map if len(batches) == 1 else threads.map  # it starts no thread unasked
            for _ in mapped(run, batches):
                pass
        columns = [self.targets.index(target) for target in targets]
        # A foreign graph may give anything.
        return unscale_targets(scores.clip(0, 1), self.targets, self.limits)[:, columns]

    def _run(self, inputs: dict[str, NDArray[np.int64]]) -> NDArray[np.float64]:
        """Return the scores of a batch, 0 .. 1 if the graph is what it should be."""
        shape = (len(inputs[_INPUTS[0]]), len(self.targets))
        try:
            (scores,) = self.session.run(None, inputs)
            scores = np.asarray(scores, np.float64)
        except Exception as error:  # onnxruntime and foreign graphs raise anything
            reason = _reason(error)
        else:
            if scores.shape == shape:
                return scores
            reason = f"its scores have the shape {scores.shape}, not {shape}"
        raise ModelError(f"the graph cannot be run ({reason}); export the predictor again")

    def _state(self) -> tuple[dict[str, Any], Tensors]:
        return {**self.config, "onnx_sha256": sha256_of_parts([self.graph])}, {}

    def _card(self) -> str:
        return fine_tuned_card(self)

    @property
    def details(self) -> dict[str, Any]:
        """How the predictor was trained."""
        return dict(self.config.get("training") or {})

    def _files(self) -> dict[str, bytes]:
        return {**processor_files(self.tokenizer), GRAPH: self.graph}

    @classmethod
    def from_checkpoint(cls, folder: Path, config: Mapping[str, Any], tensors: Tensors) -> Self:
        """Return the predictor of a folder.

        Raises:
            ModelError: the graph is damaged, another one, or no text predictor's.
            MissingExtraError: onnxruntime is not installed.
        """
        _import("onnxruntime")
        graph = (folder / GRAPH).read_bytes()
        if sha256_of_parts([graph]) != config.get("onnx_sha256"):
            raise ModelError(
                f"{folder / GRAPH} is damaged or belongs to another {CONFIG} (its sha256 differs); "
                "save or download the predictor again"
            )
        kept = ("targets", "max_length", "training")
        own = {k: config[k] for k in kept if k in config}
        if reason := why_refused(graph):
            raise ModelError(f"{folder / GRAPH} {reason}; export the predictor again")
        try:
            from transformers import PreTrainedTokenizerFast

            loader = PreTrainedTokenizerFast
            return cls(graph, loader.from_pretrained(folder, trust_remote_code=False), own)
        except Exception as error:  # tokenizers and onnxruntime raise bare exceptions
            raise ModelError(
                f"{folder} has no usable tokenizer or graph ({_reason(error)}); save or download "
                "the predictor again"
            ) from None


def _cores() -> int:
    """Return how many cores this process may use, as it is set up or as OMP_NUM_THREADS says."""
    threads = os.environ.get("OMP_NUM_THREADS", "")
    if threads.isdecimal() and int(threads):
        return int(threads)
    is_told = hasattr(os, "sched_getaffinity")
    return len(os.sched_getaffinity(0)) if is_told else os.cpu_count() or 1


def _session(graph: bytes, threads: int) -> Any:
    """Return a session for so many threads, whose memory has a bound that grows with its graph.

    It has no threads of its own. onnxruntime's wait for each other many times a batch, and spin
    meanwhile, which takes the cores from whatever else runs.

    A graph of a few bytes may ask for gigabytes; a sound one needs them for the products of its
    weights with some thousand tokens.
    """
    runtime = _import("onnxruntime")
    binding = _import("onnxruntime.capi.onnxruntime_pybind11_state")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    for kind in ("intra_op", "inter_op"):
        options.add_session_config_entry(f"session.{kind}.allow_spinning", "0")
    options.log_severity_level = 4  # what goes wrong is raised
    options.add_session_config_entry("session.use_env_allocators", "1")
    arena = binding.OrtAllocatorType.ORT_ARENA_ALLOCATOR
    place = binding.OrtMemoryInfo("Cpu", arena, 0, binding.OrtMemType.DEFAULT)
    most = _LEAST_BOUND + _MORE_A_THREAD * (threads - 1) + _TIMES_GRAPH * len(graph)
    bound = {"max_mem": most, "arena_extend_strategy": 1}
    # Takes the place of that of an earlier session, which keeps its own.
    runtime.create_and_register_allocator(place, binding.OrtArenaCfg(bound))
    # Folding would unfold what a few numbers stand for, out of this bound; exporters have done it.
    return runtime.InferenceSession(graph, options, disabled_optimizers=["ConstantFolding"])


def _reason(error: Exception) -> str:
    memory = re.search(r"memory of (\d+) is smaller than requested bytes of (\d+)", str(error))
    if memory:
        return f"it asks for {int(memory[2]):,} bytes, of its bound {int(memory[1]):,} are left"
    return in_a_line(error)


def export_graph(predictor: BertPredictor) -> bytes:
    """Return a text predictor's model as an ONNX graph for batches of any size and length."""
    import torch

    _import("onnxscript")
    onnx = _import("onnx")

    class Scores(torch.nn.Module):
        def __init__(self, model):
            super().__init__()
            self.model = model

        def forward(self, input_ids, attention_mask):
            return self.model(input_ids, attention_mask=attention_mask).scores

    model = predictor.model
    device, attention = model.device, model.config._attn_implementation
    # Two tensors: one and the same would become one input of the graph.
    example = tuple(torch.ones(2, 7, dtype=torch.long) for _ in _INPUTS)
    sizes = {0: torch.export.Dim("batch"), 1: torch.export.Dim("length")}
    logging.getLogger("torch.onnx").setLevel(logging.ERROR)
    model.to("cpu").set_attn_implementation("eager")  # the others check shapes while tracing
    try:
        program = torch.onnx.export(
            Scores(model).eval(),
            example,
            input_names=list(_INPUTS),
            output_names=["scores"],
            dynamic_shapes=dict.fromkeys(_INPUTS, sizes),
            dynamo=True,
            verbose=False,
        )
    finally:
        model.to(device).set_attn_implementation(attention)
    graph = program.model_proto
    # Shapes that the exporter noted before it folded constants; onnx refuses them.
    del graph.graph.value_info[:]
    onnx.checker.check_model(graph)
    return graph.SerializeToString()


def _import(name: str) -> Any:
    with needing("the predictor 'bert_onnx'", "onnx"):
        return importlib.import_module(name)
