"""Random models of a few kilobytes that can chat: of images and text, and of text alone.

The processors of `VISION_KINDS` need torchvision, one num2words too.
"""

from support.tiny_models import make_tokenizer, save_varied, size_layers

_TEMPLATE = (
    "{% for message in messages %}{{ message['role'] }} "
    "{% for part in message['content'] %}"
    "{% if part['type'] == 'image' %}<image>{% else %}{{ part['text'] }}{% endif %}"
    "{% endfor %} {% endfor %}{% if add_generation_prompt %}assistant {% endif %}"
)

_TEXT_TEMPLATE = (
    "{% for message in messages %}{{ message['role'] }} {{ message['content'] + ' ' }}{% endfor %}"
    "{% if add_generation_prompt %}assistant {% endif %}"
)


VISION_KINDS = ("qwen2_5_vl", "qwen3_vl", "smolvlm")


def save_vision_chat(folder, kind):
    """Save a random model of a kind of today's that sees, with its own processor."""
    return save_varied(folder, globals()[f"_make_{kind}"])


def _make_tokenizer(**special):
    """Return a tokenizer of characters with further tokens, and their numbers by name."""
    tokenizer = make_tokenizer()
    tokenizer.add_special_tokens({"additional_special_tokens": list(special.values())})
    tokenizer.model_max_length = 4096
    for name, token in special.items():
        setattr(tokenizer, name, token)
    return tokenizer, {
        f"{name}_id": tokenizer.convert_tokens_to_ids(token) for name, token in special.items()
    }


def _make_text_settings(tokenizer, **options):
    sizes = {"hidden_size": 32, "intermediate_size": 32, "num_attention_heads": 4}
    sizes |= {"num_key_value_heads": 2, "num_hidden_layers": 2, "max_position_embeddings": 4096}
    special = {"eos_token_id": tokenizer.sep_token_id, "pad_token_id": tokenizer.pad_token_id}
    return {**sizes, **special, "vocab_size": len(tokenizer), **options}


def _make_qwen(version, videos, vision, **text):
    import transformers

    tokenizer, ids = _make_tokenizer(
        image_token="<|image_pad|>",
        video_token="<|video_pad|>",
        vision_start_token="<|vision_start|>",
        vision_end_token="<|vision_end|>",
    )
    rope = {"rope_type": "default", "mrope_section": [1, 1, 2], "rope_theta": 10000.0}
    config = getattr(transformers, f"{version}Config")(
        text_config=_make_text_settings(tokenizer, rope_parameters=rope, **text),
        vision_config={"hidden_size": 32, "depth": 2, "num_heads": 2, **vision},
        **ids,
    )
    placeholder = "<|vision_start|><|image_pad|><|vision_end|>"
    processor = getattr(transformers, f"{version}Processor")(
        transformers.Qwen2VLImageProcessor(
            patch_size=vision["patch_size"],
            size={"shortest_edge": 56 * 56, "longest_edge": 112 * 112},
        ),
        tokenizer,
        getattr(transformers, videos)(),
        chat_template=_TEMPLATE.replace("<image>", placeholder),
    )
    return getattr(transformers, f"{version}ForConditionalGeneration")(config), processor


def _make_qwen2_5_vl():
    vision = {"intermediate_size": 32, "out_hidden_size": 32, "patch_size": 14}
    vision |= {"fullatt_block_indexes": [1], "window_size": 56}
    return _make_qwen("Qwen2_5_VL", "Qwen2VLVideoProcessor", vision)


def _make_qwen3_vl():
    vision = {"intermediate_size": 32, "out_hidden_size": 32, "patch_size": 16}
    vision |= {"num_position_embeddings": 16, "deepstack_visual_indexes": [0]}
    return _make_qwen("Qwen3VL", "Qwen3VLVideoProcessor", vision, head_dim=8)


def _make_smolvlm():
    import transformers

    tiles = [f"<row_{row}_col_{column}>" for row in range(1, 5) for column in range(1, 5)]
    tokenizer, ids = _make_tokenizer(
        fake_image_token="<fake_token_around_image>",
        image_token="<image>",
        global_image_token="<global-img>",
        end_of_utterance_token="<end_of_utterance>",
        **{f"place_{number}": token for number, token in enumerate(tiles)},
    )
    tokenizer.image_token_id = ids["image_token_id"]
    config = transformers.SmolVLMConfig(
        text_config=transformers.LlamaConfig(**_make_text_settings(tokenizer)).to_dict(),
        vision_config={**size_layers(), "image_size": 32, "patch_size": 8},
        scale_factor=2,
        image_token_id=ids["image_token_id"],
        pad_token_id=tokenizer.pad_token_id,
    )
    processor = transformers.SmolVLMProcessor(
        transformers.SmolVLMImageProcessor(
            size={"longest_edge": 64}, max_image_size={"longest_edge": 32}
        ),
        tokenizer,
        transformers.SmolVLMVideoProcessor(),
        image_seq_len=4,
        chat_template=_TEMPLATE,
    )
    return transformers.SmolVLMForConditionalGeneration(config), processor


def _make_llama_config(tokenizer):
    from transformers import LlamaConfig

    return LlamaConfig(
        **size_layers(),
        num_key_value_heads=2,
        vocab_size=len(tokenizer),
        max_position_embeddings=4096,
        eos_token_id=tokenizer.sep_token_id,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=tokenizer.cls_token_id,
    )


def save_text_chat(folder, template=_TEXT_TEMPLATE):
    """Save a random Llama with a tokenizer of characters; without a template if it is None."""
    import torch
    from transformers import LlamaForCausalLM

    torch.manual_seed(0)
    tokenizer = make_tokenizer()
    tokenizer.model_max_length = 4096
    tokenizer.chat_template = template
    LlamaForCausalLM(_make_llama_config(tokenizer)).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def save_chat(folder):
    """Save a random LLaVA with a tokenizer of characters and a chat template."""
    import torch
    from transformers import (
        CLIPImageProcessor,
        CLIPVisionConfig,
        LlavaConfig,
        LlavaForConditionalGeneration,
        LlavaProcessor,
    )

    torch.manual_seed(0)
    tokenizer = make_tokenizer()
    tokenizer.add_special_tokens({"additional_special_tokens": ["<image>"]})
    tokenizer.model_max_length = 4096
    vision = CLIPVisionConfig(**size_layers(), image_size=16, patch_size=8, projection_dim=16)
    config = LlavaConfig(
        vision_config=vision,
        text_config=_make_llama_config(tokenizer),
        image_token_index=tokenizer.convert_tokens_to_ids("<image>"),
    )
    LlavaForConditionalGeneration(config).save_pretrained(folder)
    images = CLIPImageProcessor(size={"shortest_edge": 16}, crop_size={"height": 16, "width": 16})
    LlavaProcessor(
        images,
        tokenizer,
        patch_size=8,
        vision_feature_select_strategy="default",
        num_additional_image_tokens=1,
        chat_template=_TEMPLATE,
    ).save_pretrained(folder)
    return folder
