"""A random model of a few kilobytes for each role of `pqpp_feedback.vistar.vision`."""

from support.tiny_detectors import save_detector
from support.tiny_models import save_clip, size_layers


def save_vision(folder, roles=None):
    """Save one for each role, or for some; return role to folder."""
    import torch

    folders = {}
    for role in roles or _SAVERS:
        torch.manual_seed(0)
        (folder / role).mkdir(parents=True)
        _SAVERS[role](folder / role)
        folders[role] = str(folder / role)
    return folders


def _save_detector(folder):
    save_detector(folder, "owlv2")


def _save_segmenter(folder):
    from transformers import SamConfig, SamImageProcessor, SamModel, SamProcessor

    vision = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    vision |= {"image_size": 64, "patch_size": 16, "output_channels": 8, "mlp_dim": 16}
    vision |= {"num_pos_feats": 4, "global_attn_indexes": [0], "window_size": 2}
    prompt = {"hidden_size": 8, "image_size": 64, "patch_size": 16, "mask_input_channels": 4}
    decoder = {"hidden_size": 8, "mlp_dim": 16, "num_hidden_layers": 1, "num_attention_heads": 2}
    decoder |= {"iou_head_hidden_dim": 8, "attention_downsample_rate": 1}
    config = SamConfig(
        vision_config=vision, prompt_encoder_config=prompt, mask_decoder_config=decoder
    )
    SamModel(config).save_pretrained(folder)
    images = SamImageProcessor(
        size={"longest_edge": 64},
        pad_size={"height": 64, "width": 64},
        mask_size={"longest_edge": 16},
        mask_pad_size={"height": 16, "width": 16},
    )
    SamProcessor(images).save_pretrained(folder)


def save_sam2(folder):
    """Save a random SAM 2 in place of the segmenter, and return the folder."""
    import torch
    from transformers import (
        Sam2Config,
        Sam2HieraDetConfig,
        Sam2ImageProcessor,
        Sam2Model,
        Sam2Processor,
        Sam2VisionConfig,
    )

    torch.manual_seed(0)
    backbone = Sam2HieraDetConfig(
        hidden_size=8,
        num_attention_heads=1,
        image_size=[64, 64],
        window_positional_embedding_background_size=[4, 4],
        blocks_per_stage=[1, 1, 1, 1],
        embed_dim_per_stage=[8, 16, 32, 64],
        num_attention_heads_per_stage=[1, 1, 2, 2],
        window_size_per_stage=[4, 4, 2, 2],
        global_attention_blocks=[],
    )
    vision = Sam2VisionConfig(
        backbone_config=backbone,
        backbone_channel_list=[64, 32, 16, 8],
        backbone_feature_sizes=[[16, 16], [8, 8], [4, 4]],
        fpn_hidden_size=16,
    )
    prompt = {"hidden_size": 16, "image_size": 64, "patch_size": 16, "mask_input_channels": 4}
    decoder = {"hidden_size": 16, "mlp_dim": 16, "num_attention_heads": 2}
    decoder |= {"num_hidden_layers": 1, "iou_head_hidden_dim": 8}
    config = Sam2Config(
        vision_config=vision, prompt_encoder_config=prompt, mask_decoder_config=decoder
    )
    Sam2Model(config).save_pretrained(folder)
    side = {"height": 64, "width": 64}
    Sam2Processor(Sam2ImageProcessor(size=side), target_size=64).save_pretrained(folder)
    return folder


def save_dinov3(folder):
    """Save a random DINOv3 in place of the features."""
    import torch
    from transformers import DINOv3ViTConfig, DINOv3ViTImageProcessor, DINOv3ViTModel

    torch.manual_seed(0)
    config = DINOv3ViTConfig(
        **size_layers(16, 32, 1), image_size=32, patch_size=8, num_register_tokens=2
    )
    DINOv3ViTModel(config).save_pretrained(folder)
    DINOv3ViTImageProcessor(size={"height": 32, "width": 32}).save_pretrained(folder)
    return folder


def _save_depth(folder):
    import torch
    from transformers import (
        DepthAnythingConfig,
        DepthAnythingForDepthEstimation,
        Dinov2Config,
        DPTImageProcessor,
    )

    backbone = Dinov2Config(
        **size_layers(16, 32, 4),
        image_size=28,
        patch_size=14,
        out_features=["stage1", "stage2", "stage3", "stage4"],
        reshape_hidden_states=False,
        apply_layernorm=True,
    )
    config = DepthAnythingConfig(
        backbone_config=backbone,
        reassemble_hidden_size=16,
        neck_hidden_sizes=[4, 4, 8, 8],
        fusion_hidden_size=8,
        head_hidden_size=8,
        depth_estimation_type="metric",
        max_depth=20,
    )
    model = DepthAnythingForDepthEstimation(config)
    with torch.no_grad():  # so that depths differ
        for parameter in model.parameters():
            parameter.add_(0.3 * torch.randn_like(parameter))
    model.save_pretrained(folder)
    DPTImageProcessor(
        size={"height": 56, "width": 56}, ensure_multiple_of=14, keep_aspect_ratio=True
    ).save_pretrained(folder)


def _save_features(folder):
    from transformers import BitImageProcessor, Dinov2Config, Dinov2Model

    Dinov2Model(
        Dinov2Config(**size_layers(16, 32, 1), image_size=28, patch_size=14)
    ).save_pretrained(folder)
    side = {"height": 28, "width": 28}
    BitImageProcessor(size={"shortest_edge": 28}, crop_size=side).save_pretrained(folder)


def _save_pose(folder):
    from transformers import (
        VitPoseBackboneConfig,
        VitPoseConfig,
        VitPoseForPoseEstimation,
        VitPoseImageProcessor,
    )

    backbone = VitPoseBackboneConfig(
        hidden_size=16,
        num_hidden_layers=1,
        num_attention_heads=2,
        image_size=[32, 24],
        patch_size=[8, 8],
        out_indices=[1],
    )
    labels = {n: f"point{n}" for n in range(17)}
    config = VitPoseConfig(backbone_config=backbone, id2label=labels, scale_factor=4)
    VitPoseForPoseEstimation(config).save_pretrained(folder)
    VitPoseImageProcessor(size={"height": 32, "width": 24}).save_pretrained(folder)


def _save_expression(folder):
    from transformers import ViTConfig, ViTForImageClassification, ViTImageProcessor

    labels = dict(enumerate(("angry", "happy", "sad")))
    config = ViTConfig(**size_layers(16, 32, 1), image_size=16, patch_size=8, id2label=labels)
    ViTForImageClassification(config).save_pretrained(folder)
    ViTImageProcessor(size={"height": 16, "width": 16}).save_pretrained(folder)


_SAVERS = {
    "detector": _save_detector,
    "segmenter": _save_segmenter,
    "depth": _save_depth,
    "similarity": save_clip,
    "features": _save_features,
    "pose": _save_pose,
    "expression": _save_expression,
}
