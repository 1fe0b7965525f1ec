"""Random detectors of a few kilobytes, of six kinds, saved as transformers saves them."""

from support.tiny_models import make_tokenizer, save_varied, size_layers

LABELS = ("person", "apple", "cat", "Sofa", "N/A")
KINDS = ("detr", "rt_detr", "rt_detr_v2", "d_fine", "owlv2", "grounding_dino")


def save_detector(folder, kind="detr"):
    """Save a random detector with its processor, and return the folder."""
    return save_varied(folder, globals()[f"_make_{kind}"])


def _make_resnet(**options):
    from transformers import ResNetConfig

    sizes = {"embedding_size": 4, "hidden_sizes": [4, 4, 8, 8], "depths": [1, 1, 1, 1]}
    return ResNetConfig(**sizes, layer_type="basic", **options)


def _get_names():
    return {
        "id2label": dict(enumerate(LABELS)),
        "label2id": {name: number for number, name in enumerate(LABELS)},
    }


def _make_detr():
    from transformers import DetrConfig, DetrForObjectDetection, DetrImageProcessor

    layers = {"encoder_layers": 1, "decoder_layers": 1, "d_model": 8, "num_queries": 6}
    layers |= {"encoder_attention_heads": 2, "decoder_attention_heads": 2}
    layers |= {"encoder_ffn_dim": 8, "decoder_ffn_dim": 8}
    config = DetrConfig(
        use_timm_backbone=False,
        use_pretrained_backbone=False,
        backbone_config=_make_resnet(out_features=["stage4"]),
        **layers,
        **_get_names(),
    )
    images = DetrImageProcessor(size={"shortest_edge": 48, "longest_edge": 64})
    return DetrForObjectDetection(config), images


def _make_rt_detr(version=""):
    import transformers

    backbone = transformers.RTDetrResNetConfig(
        embedding_size=4,
        hidden_sizes=[4, 4, 8, 8],
        depths=[1, 1, 1, 1],
        layer_type="basic",
        out_features=["stage2", "stage3", "stage4"],
    )
    config = getattr(transformers, f"RTDetr{version}Config")(
        backbone_config=backbone, encoder_in_channels=[4, 8, 8], **_get_layers()
    )
    side = {"height": 64, "width": 64}
    model = getattr(transformers, f"RTDetr{version}ForObjectDetection")(config)
    return model, transformers.RTDetrImageProcessor(size=side)


def _make_rt_detr_v2():
    return _make_rt_detr("V2")


def _make_d_fine():
    from transformers import (
        DFineConfig,
        DFineForObjectDetection,
        HGNetV2Config,
        RTDetrImageProcessor,
    )

    backbone = HGNetV2Config(
        embedding_size=8,
        hidden_sizes=[8, 8, 8, 8],
        stem_channels=[3, 8, 8],
        stage_in_channels=[8, 8, 8, 8],
        stage_mid_channels=[8, 8, 8, 8],
        stage_out_channels=[8, 8, 8, 8],
        stage_num_blocks=[1, 1, 1, 1],
        stage_numb_of_layers=[1, 1, 1, 1],
        out_features=["stage2", "stage3", "stage4"],
    )
    config = DFineConfig(backbone_config=backbone, encoder_in_channels=[8, 8, 8], **_get_layers())
    images = RTDetrImageProcessor(size={"height": 64, "width": 64})
    return DFineForObjectDetection(config), images


def _get_layers():
    return {
        "encoder_hidden_dim": 8,
        "encoder_ffn_dim": 8,
        "encoder_attention_heads": 2,
        "d_model": 8,
        "num_queries": 6,
        "decoder_in_channels": [8, 8, 8],
        "decoder_ffn_dim": 8,
        "decoder_layers": 2,
        "decoder_attention_heads": 2,
        "num_denoising": 0,
        **_get_names(),
    }


def _make_owlv2():
    from transformers import (
        Owlv2Config,
        Owlv2ForObjectDetection,
        Owlv2ImageProcessor,
        Owlv2Processor,
    )

    tokenizer = make_tokenizer()
    layers = size_layers(8, 8, 1)
    config = Owlv2Config(
        text_config={"vocab_size": len(tokenizer), "max_position_embeddings": 48, **layers},
        vision_config={"image_size": 32, "patch_size": 8, **layers},
        projection_dim=8,
    )
    images = Owlv2ImageProcessor(size={"height": 32, "width": 32})
    return Owlv2ForObjectDetection(config), Owlv2Processor(images, tokenizer)


def _make_grounding_dino():
    from transformers import (
        BertConfig,
        GroundingDinoConfig,
        GroundingDinoForObjectDetection,
        GroundingDinoImageProcessor,
        GroundingDinoProcessor,
        SwinConfig,
    )

    tokenizer = make_tokenizer()
    swin = SwinConfig(
        image_size=64,
        patch_size=4,
        embed_dim=4,
        depths=[1, 1, 1, 1],
        num_heads=[1, 1, 2, 2],
        window_size=2,
        out_features=["stage2", "stage3", "stage4"],
    )
    text = BertConfig(**size_layers(8, 8, 1), vocab_size=len(tokenizer), max_position_embeddings=64)
    config = GroundingDinoConfig(
        backbone_config=swin,
        text_config=text,
        d_model=32,
        num_queries=6,
        encoder_layers=1,
        decoder_layers=2,
        encoder_attention_heads=2,
        decoder_attention_heads=2,
        encoder_ffn_dim=8,
        decoder_ffn_dim=8,
        num_feature_levels=4,
        max_text_len=64,
    )
    images = GroundingDinoImageProcessor(size={"shortest_edge": 128, "longest_edge": 192})
    return GroundingDinoForObjectDetection(config), GroundingDinoProcessor(images, tokenizer)
