"""Random models of a few kilobytes, and the trainers."""

import importlib
import importlib.util
import itertools
import string
import sys
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]


RECIPES = {
    "bert": "BertRecipe",
    "clip": "ClipRecipe",
    "correlation_cnn": "CnnRecipe",
    "static": "StaticRecipe",
    "text_ensemble": "EnsembleRecipe",
    "rahf": "RahfRecipe",
}


def import_trainer(name: str):
    """Import the script of `pqpp train NAME`."""
    return importlib.import_module(f"pqpp_training.train_{name}")


def get_recipe_class(name: str):
    """Return the class of the recipe of `pqpp train NAME`."""
    return getattr(import_trainer(name), RECIPES[name])


def train(name: str, *arguments: str):
    """Do what `pqpp train NAME WORDS` does; errors come as they are."""
    from pqpp_files.options.recipe import parse_recipe

    return import_trainer(name).train(parse_recipe(get_recipe_class(name), "", "", arguments))


def train_until(name: str, recipe, interrupt_at: int | None = None):
    """Train, interrupt before the given batch if any, and return the outcome and the weights."""
    from safetensors.torch import load_file

    from pqpp_backbones.training.trainer import PerformanceTrainer

    step, batches = PerformanceTrainer.training_step, itertools.count(1)

    def step_or_interrupt(self, *inputs):
        if next(batches) == interrupt_at:
            raise KeyboardInterrupt
        return step(self, *inputs)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(PerformanceTrainer, "training_step", step_or_interrupt)
        outcome = import_trainer(name).train(recipe)
    return outcome, load_file(Path(recipe.output_dir) / "model" / "model.safetensors")


def load_script(name: str, folder: str):
    """Import a script of a folder by its path."""
    path = REPOSITORY / folder / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"_script_{name}", path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def size_layers(hidden=16, inner=16, layers=2):
    """Return the sizes of a transformer's layers, each of two heads."""
    return {
        "hidden_size": hidden,
        "intermediate_size": inner,
        "num_hidden_layers": layers,
        "num_attention_heads": 2,
    }


def save_text_encoder(folder: Path, hidden_size: int = 16) -> Path:
    """Save a random two-layer BERT with a tokenizer of characters."""
    import torch
    from transformers import BertConfig, BertModel

    torch.manual_seed(0)
    tokenizer = make_tokenizer()
    config = BertConfig(
        vocab_size=len(tokenizer),
        max_position_embeddings=128,
        **size_layers(hidden_size, 2 * hidden_size),
    )
    BertModel(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def save_varied(folder: Path, make_model) -> Path:
    """Save the random model and processor of `build`; its outputs differ by the image."""
    import torch

    torch.manual_seed(0)
    model, processor = make_model()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    model.save_pretrained(folder)
    processor.save_pretrained(folder)
    return folder


def save_bert(folder: Path, targets: list[str]) -> Path:
    """Save a text predictor, and its random encoder in the folder `encoder` next to it."""
    from pqpp_backbones.pretrained import load_tokenizer
    from pqpp_models.bert.modeling_bert_predictor import BertForPerformancePrediction
    from pqpp_models.bert.predictor import BertPredictor

    encoder = str(save_text_encoder(folder.parent / "encoder"))
    model = BertForPerformancePrediction.from_backbone(encoder, targets=targets)
    return BertPredictor(model, load_tokenizer(encoder)).save_pretrained(folder)


def save_vit(folder: Path) -> Path:
    """Save a random encoder of images, which reads no text."""
    from transformers import ViTConfig, ViTModel

    tiny = ViTConfig(**size_layers(8, 8, 1), image_size=16, patch_size=8)
    ViTModel(tiny).save_pretrained(folder)
    return folder


def save_clip(folder: Path, size: int = 16) -> Path:
    """Save a random CLIP for images of 16 x 16 with a tokenizer of characters."""
    import torch
    from transformers import CLIPConfig, CLIPImageProcessor, CLIPModel, CLIPProcessor

    torch.manual_seed(0)
    tokenizer = make_tokenizer()
    layers = {**size_layers(size, 2 * size), "projection_dim": size}
    text = {"vocab_size": len(tokenizer), "max_position_embeddings": 48, **layers}
    text |= {"eos_token_id": tokenizer.sep_token_id, "pad_token_id": tokenizer.pad_token_id}
    config = CLIPConfig(
        text_config=text,
        vision_config={"image_size": 16, "patch_size": 8, **layers},
        projection_dim=size,
    )
    CLIPModel(config).save_pretrained(folder)
    images = CLIPImageProcessor(size={"shortest_edge": 16}, crop_size={"height": 16, "width": 16})
    CLIPProcessor(images, tokenizer).save_pretrained(folder)
    return folder


def save_siglip(folder: Path) -> Path:
    """Save a random SigLIP for images of 16 x 16 with a tokenizer of characters."""
    import torch
    from transformers import SiglipConfig, SiglipImageProcessor, SiglipModel, SiglipProcessor

    torch.manual_seed(0)
    tokenizer = make_tokenizer()
    layers = size_layers(16, 32, 1)
    text = {"vocab_size": len(tokenizer), "max_position_embeddings": 48, **layers}
    config = SiglipConfig(
        text_config=text, vision_config={"image_size": 16, "patch_size": 8, **layers}
    )
    SiglipModel(config).save_pretrained(folder)
    images = SiglipImageProcessor(size={"height": 16, "width": 16})
    SiglipProcessor(images, tokenizer).save_pretrained(folder)
    return folder


def make_tokenizer(pad_id=0):
    from tokenizers import Tokenizer, models, pre_tokenizers, processors
    from transformers import PreTrainedTokenizerFast

    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]"]
    order = special if pad_id == 0 else [special[2], special[0], special[3], special[1]]
    vocabulary = {token: i for i, token in enumerate([*order, *string.ascii_letters, " "])}
    tokenizer = Tokenizer(models.WordLevel(vocabulary, unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.Split("", "isolated")
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]",
        special_tokens=[(token, vocabulary[token]) for token in ("[CLS]", "[SEP]")],
    )
    names = dict(zip(("pad_token", "unk_token", "cls_token", "sep_token"), special, strict=True))
    return PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, **names, eos_token="[SEP]", model_max_length=48
    )


ENCODERS = ("bert", "distilbert", "roberta", "mpnet", "deberta_v2", "modernbert", "electra")
ENCODERS += ("albert", "t5_encoder", "t5", "clip_text", "clip")


def save_encoder(folder: Path, kind: str) -> Path:
    """Save a random two-layer text encoder of a kind, each of another width, with a tokenizer."""
    import torch
    import transformers as hf

    if kind == "clip":
        return save_clip(folder)
    if kind == "bert":
        return save_text_encoder(folder)
    torch.manual_seed(0)
    # RoBERTa's kind counts positions from behind the padding's number.
    tokenizer = make_tokenizer(pad_id=1 if kind in ("roberta", "mpnet") else 0)
    vocab_size, pad = len(tokenizer), tokenizer.pad_token_id
    layers = {"num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 20}
    layers |= {"vocab_size": vocab_size, "pad_token_id": pad, "max_position_embeddings": 56}
    t5 = {"vocab_size": vocab_size, "d_model": 10, "d_kv": 5, "d_ff": 16, "num_layers": 2}
    t5 |= {"num_heads": 2, "pad_token_id": pad}
    distil = {"vocab_size": vocab_size, "dim": 12, "n_layers": 2, "n_heads": 2, "hidden_dim": 20}
    ends = {"eos_token_id": tokenizer.sep_token_id, "bos_token_id": tokenizer.cls_token_id}
    all_ends = ends | {"cls_token_id": ends["bos_token_id"], "sep_token_id": ends["eos_token_id"]}
    model = {
        "distilbert": lambda: hf.DistilBertModel(hf.DistilBertConfig(**distil)),
        "roberta": lambda: hf.RobertaModel(hf.RobertaConfig(hidden_size=14, **layers)),
        "mpnet": lambda: hf.MPNetModel(hf.MPNetConfig(hidden_size=18, **layers)),
        "deberta_v2": lambda: hf.DebertaV2Model(hf.DebertaV2Config(hidden_size=26, **layers)),
        "modernbert": lambda: hf.ModernBertModel(
            hf.ModernBertConfig(hidden_size=28, **layers, **all_ends)
        ),
        "electra": lambda: hf.ElectraModel(hf.ElectraConfig(hidden_size=30, **layers)),
        "albert": lambda: hf.AlbertModel(hf.AlbertConfig(hidden_size=32, **layers)),
        "t5_encoder": lambda: hf.T5EncoderModel(hf.T5Config(**t5)),
        "t5": lambda: hf.T5Model(hf.T5Config(**t5)),
        "clip_text": lambda: hf.CLIPTextModel(hf.CLIPTextConfig(hidden_size=22, **layers, **ends)),
    }[kind]()
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def save_blip2(folder: Path) -> Path:
    """Save a random BLIP-2 for retrieval, with 3 vectors an image of 16 x 16."""
    import torch
    import transformers as hf

    torch.manual_seed(0)
    tokenizer = make_tokenizer()
    tokenizer.add_tokens(["<image>"], special_tokens=True)
    layers = {"num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}
    config = hf.Blip2Config(
        vision_config={"image_size": 16, "patch_size": 8, "hidden_size": 12, **layers},
        qformer_config={
            "vocab_size": len(tokenizer),
            "hidden_size": 16,
            "encoder_hidden_size": 12,
            "max_position_embeddings": 64,
            "use_qformer_text_input": True,
            **layers,
        },
        num_query_tokens=3,
        image_text_hidden_size=8,
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
    )
    model = hf.Blip2ForImageTextRetrieval(config)
    with torch.no_grad():  # else the queries are zeros, and all vectors of an image one
        for parameter in model.parameters():
            if parameter.ndim > 1:
                parameter.normal_(0, 0.6)
    model.save_pretrained(folder)
    images = hf.BlipImageProcessor(size={"height": 16, "width": 16})
    hf.Blip2Processor(images, tokenizer, num_query_tokens=3).save_pretrained(folder)
    return folder


def save_classifier(folder, labels, **options):
    """Write a tiny model for text classification, and return its tokenizer."""
    import torch
    from transformers import AutoTokenizer, BertConfig, BertForSequenceClassification

    save_text_encoder(folder)
    torch.manual_seed(0)
    config = BertConfig.from_pretrained(folder, num_labels=labels, **options)
    BertForSequenceClassification(config).save_pretrained(folder)
    return AutoTokenizer.from_pretrained(folder)
