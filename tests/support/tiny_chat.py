"""Random models of a few kilobytes that can chat: of images and text, and of text alone."""

from support.tiny_models import _character_tokenizer

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


def save_text_chat(folder, template=_TEXT_TEMPLATE):
    """Save a random Llama with a tokenizer of characters; without a template if told so."""
    import torch
    from transformers import LlamaConfig, LlamaForCausalLM

    torch.manual_seed(0)
    tokenizer = _character_tokenizer()
    tokenizer.model_max_length = 4096
    tokenizer.chat_template = template
    config = LlamaConfig(
        hidden_size=16,
        intermediate_size=16,
        num_attention_heads=2,
        num_hidden_layers=2,
        num_key_value_heads=2,
        vocab_size=len(tokenizer),
        max_position_embeddings=4096,
        eos_token_id=tokenizer.sep_token_id,
        pad_token_id=tokenizer.pad_token_id,
        bos_token_id=tokenizer.cls_token_id,
    )
    LlamaForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder


def save_chat(folder):
    """Save a random LLaVA with a tokenizer of characters and a chat template."""
    import torch
    from transformers import (
        CLIPImageProcessor,
        CLIPVisionConfig,
        LlamaConfig,
        LlavaConfig,
        LlavaForConditionalGeneration,
        LlavaProcessor,
    )

    torch.manual_seed(0)
    tokenizer = _character_tokenizer()
    tokenizer.add_special_tokens({"additional_special_tokens": ["<image>"]})
    tokenizer.model_max_length = 4096
    layers = {"hidden_size": 16, "intermediate_size": 16, "num_attention_heads": 2}
    layers |= {"num_hidden_layers": 2}
    config = LlavaConfig(
        vision_config=CLIPVisionConfig(**layers, image_size=16, patch_size=8, projection_dim=16),
        text_config=LlamaConfig(
            **layers,
            vocab_size=len(tokenizer),
            num_key_value_heads=2,
            max_position_embeddings=4096,
            eos_token_id=tokenizer.sep_token_id,
            pad_token_id=tokenizer.pad_token_id,
            bos_token_id=tokenizer.cls_token_id,
        ),
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
