"""Random RAHF models and diffusers pipelines of a few kilobytes."""

import functools

PROMPTS = ("a red cat on a mat", "a blue dog next to a house", "two green birds, three boats")


def tiny_feedback(variant="multi_head", seed=0):
    """Return a random RAHF model with its processor, for images of any size."""
    import torch

    from pqpp_models.rahf import FeedbackModel, RahfConfig, RahfForRichFeedback

    processor = tiny_processor(variant)
    torch.manual_seed(seed)
    config = RahfConfig.tiny(variant, vocab_size=len(processor.tokenizer))
    model = RahfForRichFeedback(config)
    # First weights leave zeros and ones that would hide a lost tensor.
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.add_(0.05 * torch.randn_like(parameter))
    return FeedbackModel(model, processor, "cpu")


def tiny_processor(variant="multi_head"):
    """Return a processor for images of 32 x 32."""
    from transformers import ViTImageProcessor

    from pqpp_models.rahf import RahfProcessor

    images = ViTImageProcessor(size={"height": 32, "width": 32})
    return RahfProcessor(images, tiny_tokenizer(), variant=variant)


@functools.cache
def tiny_tokenizer():
    """Return a byte-level tokenizer that knows a few words."""
    from pqpp_models.rahf.tokenizer import new_tokenizer

    return new_tokenizer(PROMPTS, 300)


def save_diffusion(folder, inpainting=False):
    """Save a random Stable Diffusion pipeline for images of 32 x 32 and return the folder."""
    diffusion(inpainting).save_pretrained(folder)
    return folder


def diffusion(inpainting=False):
    """Return a random Stable Diffusion pipeline, or one that inpaints, for images of 32 x 32."""
    import diffusers
    import torch
    from transformers import CLIPTextConfig, CLIPTextModel

    torch.manual_seed(0)
    blocks = {"block_out_channels": (8, 16), "layers_per_block": 1, "norm_num_groups": 4}
    unet = diffusers.UNet2DConditionModel(
        sample_size=16,
        in_channels=9 if inpainting else 4,
        out_channels=4,
        down_block_types=("DownBlock2D", "CrossAttnDownBlock2D"),
        up_block_types=("CrossAttnUpBlock2D", "UpBlock2D"),
        cross_attention_dim=16,
        attention_head_dim=4,
        **blocks,
    )
    vae = diffusers.AutoencoderKL(
        in_channels=3,
        out_channels=3,
        down_block_types=["DownEncoderBlock2D"] * 2,
        up_block_types=["UpDecoderBlock2D"] * 2,
        latent_channels=4,
        **blocks,
    )
    tokenizer = tiny_tokenizer()
    text = CLIPTextModel(
        CLIPTextConfig(
            hidden_size=16,
            intermediate_size=16,
            num_hidden_layers=1,
            num_attention_heads=2,
            vocab_size=len(tokenizer),
            max_position_embeddings=16,
            eos_token_id=tokenizer.eos_token_id,
            pad_token_id=tokenizer.pad_token_id,
        )
    )
    tokenizer.model_max_length = 16
    scheduler = diffusers.DDIMScheduler(clip_sample=False, steps_offset=1)
    kind = "StableDiffusionInpaintPipeline" if inpainting else "StableDiffusionPipeline"
    pipe = getattr(diffusers, kind)(
        vae=vae,
        text_encoder=text,
        tokenizer=tokenizer,
        unet=unet,
        scheduler=scheduler,
        safety_checker=None,
        feature_extractor=None,
        requires_safety_checker=False,
    )
    pipe.set_progress_bar_config(disable=True)
    return pipe
