"""Random RAHF models and diffusers pipelines of a few kilobytes."""

import copy
import functools

from support.tiny_models import size_layers

PROMPTS = ("a red cat on a mat", "a blue dog next to a house", "two green birds, three boats")


def make_feedback(variant="multi_head", seed=0):
    """Return a random RAHF model with its processor, for images of any size."""
    import torch

    from pqpp_feedback.rahf import FeedbackModel, RahfForRichFeedback

    processor = make_processor(variant)
    torch.manual_seed(seed)
    model = RahfForRichFeedback(make_config(variant, len(processor.tokenizer)))
    # First weights leave zeros and ones that would hide a lost tensor.
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
    return FeedbackModel(model, processor, "cpu")


def make_config(variant="multi_head", vocab_size=300):
    """Return a configuration for images of 32 x 32, with a few thousand weights."""
    from transformers import T5Config, ViTConfig

    from pqpp_feedback.rahf import RahfConfig

    vision = ViTConfig(**size_layers(16, 32, 1), image_size=32, patch_size=8)
    options = {"feed_forward_proj": "gated-gelu", "tie_word_embeddings": True, "dropout_rate": 0.0}
    options |= {"vocab_size": vocab_size, "decoder_start_token_id": 0}
    text = T5Config(d_model=16, d_kv=8, d_ff=32, num_layers=1, num_heads=2, **options)
    heads = {"heatmap_conv_sizes": (12, 8), "heatmap_deconv_sizes": (8, 8, 8)}
    heads |= {"score_conv_sizes": (8, 4), "score_dense_sizes": (16, 8)}
    return RahfConfig(vision_config=vision, text_config=text, variant=variant, **heads)


def make_processor(variant="multi_head"):
    """Return a processor for images of 32 x 32."""
    from transformers import ViTImageProcessor

    from pqpp_feedback.rahf import RahfProcessor

    images = ViTImageProcessor(size={"height": 32, "width": 32})
    return RahfProcessor(images, make_tokenizer(), variant=variant)


@functools.cache
def make_tokenizer():
    """Return a byte-level tokenizer that knows a few words."""
    from pqpp_feedback.rahf.processing_rahf import train_tokenizer

    return train_tokenizer(PROMPTS, 300)


BLOCKS = {"block_out_channels": (8, 16), "layers_per_block": 1, "norm_num_groups": 4}


def make_diffusion(inpainting=False):
    """Return a random Stable Diffusion pipeline, or one that inpaints, for images of 32 x 32."""
    import diffusers
    import torch
    from transformers import CLIPTextModel

    torch.manual_seed(0)
    name = "StableDiffusionInpaintPipeline" if inpainting else "StableDiffusionPipeline"
    pipe = getattr(diffusers, name)(
        vae=make_vae(),
        text_encoder=CLIPTextModel(make_text_config()),
        tokenizer=make_short_tokenizer(),
        unet=make_unet(in_channels=9 if inpainting else 4, cross_attention_dim=16),
        scheduler=diffusers.DDIMScheduler(clip_sample=False, steps_offset=1),
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    )
    pipe.set_progress_bar_config(disable=True)
    return pipe


def make_diffusion_xl():
    """Return a random Stable Diffusion XL pipeline for images of 32 x 32."""
    import diffusers
    import torch
    from transformers import CLIPTextModel, CLIPTextModelWithProjection

    torch.manual_seed(0)
    pipe = diffusers.StableDiffusionXLPipeline(
        vae=make_vae(),
        text_encoder=CLIPTextModel(make_text_config()),
        text_encoder_2=CLIPTextModelWithProjection(make_text_config()),
        tokenizer=make_short_tokenizer(),
        tokenizer_2=make_short_tokenizer(),
        unet=make_unet(
            cross_attention_dim=32,  # of both encoders
            addition_embed_type="text_time",
            addition_time_embed_dim=8,
            projection_class_embeddings_input_dim=6 * 8 + 16,
        ),
        scheduler=diffusers.EulerDiscreteScheduler(),
        add_watermarker=False,
    )
    pipe.set_progress_bar_config(disable=True)
    return pipe


def make_diffusion_3():
    """Return a random Stable Diffusion 3 pipeline, with T5, for images of 32 x 32."""
    import diffusers
    import torch
    from transformers import CLIPTextModelWithProjection, T5Config, T5EncoderModel

    torch.manual_seed(0)
    t5 = T5Config(vocab_size=300, d_model=32, d_kv=8, d_ff=32, num_layers=1, num_heads=2)
    pipe = diffusers.StableDiffusion3Pipeline(
        transformer=diffusers.SD3Transformer2DModel(
            sample_size=16,
            patch_size=1,
            num_layers=1,
            attention_head_dim=8,
            num_attention_heads=4,
            caption_projection_dim=32,
            joint_attention_dim=32,
            pooled_projection_dim=32,
        ),
        scheduler=diffusers.FlowMatchEulerDiscreteScheduler(),
        vae=make_vae(latent_channels=16, shift_factor=0.06),
        text_encoder=CLIPTextModelWithProjection(make_text_config()),
        tokenizer=make_short_tokenizer(),
        text_encoder_2=CLIPTextModelWithProjection(make_text_config()),
        tokenizer_2=make_short_tokenizer(),
        text_encoder_3=T5EncoderModel(t5),
        tokenizer_3=make_short_tokenizer(),
    )
    pipe.set_progress_bar_config(disable=True)
    return pipe


def make_unet(**options):
    import diffusers

    blocks = {
        "down_block_types": ("DownBlock2D", "CrossAttnDownBlock2D"),
        "up_block_types": ("CrossAttnUpBlock2D", "UpBlock2D"),
    }
    options = {"in_channels": 4, **blocks, **BLOCKS, **options}
    return diffusers.UNet2DConditionModel(
        sample_size=16, out_channels=4, attention_head_dim=4, **options
    )


def make_vae(**options):
    import diffusers

    blocks = {
        "down_block_types": ["DownEncoderBlock2D"] * 2,
        "up_block_types": ["UpDecoderBlock2D"] * 2,
    }
    options = {"latent_channels": 4, **blocks, **BLOCKS, **options}
    return diffusers.AutoencoderKL(in_channels=3, out_channels=3, **options)


def make_text_config():
    from transformers import CLIPTextConfig

    tokenizer = make_tokenizer()
    return CLIPTextConfig(
        **size_layers(),
        projection_dim=16,
        vocab_size=len(tokenizer),
        max_position_embeddings=16,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )


def make_short_tokenizer():
    """Return the tokenizer with the text encoders' length."""
    tokenizer = copy.deepcopy(make_tokenizer())
    tokenizer.model_max_length = 16
    return tokenizer
