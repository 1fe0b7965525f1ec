"""The models of all roles, compared with plain transformers on wide, tall and rotated images.

The models are tiny and random, so only positions are compared.
"""

import functools
import math
import string

import numpy as np
import pytest

pytest.importorskip("torch")
Image = pytest.importorskip("PIL.Image", reason="images need pillow")

import torch  # noqa: E402
from PIL import ImageOps  # noqa: E402
from support.tiny_chat import VISION_KINDS, save_chat, save_vision_chat  # noqa: E402
from support.tiny_detectors import KINDS, LABELS, save_detector  # noqa: E402
from support.tiny_vision import save_dinov3, save_sam2, save_vision  # noqa: E402
from transformers import (  # noqa: E402
    AutoModel,
    AutoModelForDepthEstimation,
    AutoModelForImageTextToText,
    AutoModelForMaskGeneration,
    AutoModelForObjectDetection,
    AutoModelForZeroShotObjectDetection,
    AutoProcessor,
    VitPoseForPoseEstimation,
)

from pqpp_backbones.chat.chat import MAX_TOP_LOGPROBS, Request  # noqa: E402
from pqpp_backbones.chat.models import load_local_chat  # noqa: E402
from pqpp_feedback.assess.detector import Detector  # noqa: E402
from pqpp_feedback.assess.pictures import Picture, open_picture  # noqa: E402
from pqpp_feedback.vistar.vision import Vision, scale_boxes  # noqa: E402

# Stored width and height, and EXIF orientation.
SHAPES = {"wide": ((192, 96), None), "tall": ((96, 192), None), "turned": ((192, 96), 6)}
BOX = [0.1, 0.2, 0.6, 0.9]


# The rotated image is as tall as the tall one, which is therefore slow.
@pytest.fixture(params=["wide", pytest.param("tall", marks=pytest.mark.slow), "turned"])
def photo(request, tmp_path):
    """An image file, and the image as opened by plain Pillow."""
    size, orientation = SHAPES[request.param]
    pixels = np.random.default_rng(0).integers(0, 255, (*size[::-1], 3), np.uint8)
    exif = Image.Exif()
    if orientation:
        exif[0x0112] = orientation
    Image.fromarray(pixels).save(tmp_path / "a.png", exif=exif)
    with Image.open(tmp_path / "a.png") as image:
        return tmp_path / "a.png", ImageOps.exif_transpose(image).convert("RGB")


@pytest.fixture(scope="module")
def model_folders(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models")
    detectors = {kind: str(save_detector(folder / kind, kind)) for kind in KINDS}
    roles = ("segmenter", "depth", "features", "pose", "expression")
    sight = save_vision(folder, roles)
    return {**detectors, **sight}


@functools.cache
def load_reference(folder, auto_class):
    return AutoProcessor.from_pretrained(folder), auto_class.from_pretrained(folder).eval()


load_detector = functools.cache(Detector)


def detect_boxes(folder, kind, image):
    """Return the boxes of plain transformers in pixels, without a threshold."""
    size = [image.size[::-1]]
    if kind not in ("owlv2", "grounding_dino"):
        processor, model = load_reference(folder, AutoModelForObjectDetection)
        outputs = model(**processor(images=image, return_tensors="pt"))
        detections = processor.post_process_object_detection(outputs, 0.0, size)[0]
        return detections["boxes"]
    processor, model = load_reference(folder, AutoModelForZeroShotObjectDetection)
    text = "apple." if kind == "grounding_dino" else [["a photo of a apple"]]
    inputs = processor(images=image, text=text, return_tensors="pt")
    options = {"threshold": 0.0, "target_sizes": size}
    if kind == "grounding_dino":
        options |= {"input_ids": inputs["input_ids"], "text_threshold": 0.0}
    return processor.post_process_grounded_object_detection(model(**inputs), **options)[0]["boxes"]


@pytest.mark.parametrize("kind", KINDS)
@torch.inference_mode()
def test_detector_boxes_match_transformers(model_folders, kind, photo, monkeypatch):
    path, image = photo
    monkeypatch.setattr("pqpp_feedback.assess.detector.nms", list)  # keep overlapping boxes
    monkeypatch.setattr("pqpp_feedback.assess.detector.MIN_SCORE", 0.0)
    names = ["apple"] if kind in ("owlv2", "grounding_dino") else [n.lower() for n in LABELS]
    (evidence,) = load_detector(model_folders[kind], "cpu").observe([open_picture(path)], [names])
    width, height = image.size
    actual = np.array([box["box"] for box in evidence["boxes"]]).reshape(-1, 4)
    actual *= [width, height, width, height]
    expected = detect_boxes(model_folders[kind], kind, image).numpy()
    expected = expected.clip(0, [width, height] * 2)
    expected = expected[(expected[:, 2:] > expected[:, :2]).all(1)]
    assert len(actual) == len(expected) > 0
    for box in expected:
        assert np.abs(actual - box).max(1).min() < 0.01


@pytest.mark.parametrize("kind", ["segmenter", "sam2"])
@torch.inference_mode()
def test_masks_match_transformers(model_folders, kind, photo, tmp_path):
    path, image = photo
    folder = model_folders.get(kind)
    if kind == "sam2":
        pytest.importorskip("torchvision", reason="processors of SAM 2 need it")
        folder = str(save_sam2(tmp_path / "sam2"))
    masks, _ = Vision({"segmenter": folder}, "cpu").segment(open_picture(path), [BOX])
    processor, model = load_reference(folder, AutoModelForMaskGeneration)
    box = (np.array(BOX) * [*image.size, *image.size]).tolist()
    inputs = processor(images=image, input_boxes=[[box]], return_tensors="pt")
    names = [name for name in ("original_sizes", "reshaped_input_sizes") if name in inputs]
    sizes = [inputs.pop(name) for name in names]
    outputs = model(**inputs, multimask_output=False)
    expected = processor.post_process_masks(outputs.pred_masks, *sizes)[0][0, 0].numpy()
    assert masks.shape == (1, *image.size[::-1]) and (masks[0] == expected).all()
    assert 0 < masks.mean() < 1


@torch.inference_mode()
def test_depth_matches_transformers(model_folders, photo):
    path, image = photo
    vision, picture = Vision({"depth": model_folders["depth"]}, "cpu"), Picture(path, "")
    actual = vision.estimate_depth(open_picture(path), picture)
    processor, model = load_reference(model_folders["depth"], AutoModelForDepthEstimation)
    outputs = model(**processor(images=image, return_tensors="pt"))
    size = [image.size[::-1]]
    (expected,) = processor.post_process_depth_estimation(outputs, target_sizes=size)
    assert actual.shape == image.size[::-1]
    assert np.abs(actual - expected["predicted_depth"].numpy().clip(1e-6)).max() < 1e-4


@torch.inference_mode()
def test_siglip_2_similarities_match_transformers(photo, tmp_path):
    import transformers
    from support.tiny_models import make_tokenizer, size_layers

    path, image = photo
    torch.manual_seed(0)
    tokenizer = make_tokenizer()
    layers = size_layers(16, 32, 1)
    text = {**layers, "max_position_embeddings": 16, "projection_size": 16}
    text["vocab_size"] = len(tokenizer)
    vision = {**layers, "num_patches": 16, "patch_size": 8}
    config = transformers.Siglip2Config(text_config=text, vision_config=vision)
    transformers.Siglip2Model(config).save_pretrained(tmp_path)
    tokenizer.save_pretrained(tmp_path)
    transformers.Siglip2ImageProcessorPil(patch_size=8, max_num_patches=16).save_pretrained(
        tmp_path
    )
    actual = Vision({"similarity": str(tmp_path)}, "cpu").compare([open_picture(path)], ["a cat"])
    model = transformers.Siglip2Model.from_pretrained(tmp_path).eval()
    # With torchvision, this class would resize slightly differently from Pillow.
    processor = AutoProcessor.from_pretrained(tmp_path)
    words = processor.tokenizer(["a cat"], padding="max_length", max_length=16, return_tensors="pt")
    prepared = processor.image_processor([image], return_tensors="pt")
    pixels = model.get_image_features(**prepared).pooler_output
    texts = model.get_text_features(input_ids=words["input_ids"]).pooler_output
    assert actual[0, 0] == pytest.approx(float(torch.cosine_similarity(pixels, texts)), abs=1e-5)


@torch.inference_mode()
def test_poses_match_transformers(model_folders, photo):
    path, image = photo
    vision = Vision({name: model_folders[name] for name in ("pose", "expression")}, "cpu")
    vision.detect = lambda image, words: [{"label": "person", "score": 0.9, "box": BOX}]
    (person,) = vision.find_people(open_picture(path))
    processor, model = load_reference(model_folders["pose"], VitPoseForPoseEstimation)
    left, top, right, bottom = scale_boxes([BOX], image.size)[0].tolist()
    boxes = [[[left, top, right - left, bottom - top]]]
    outputs = model(**processor(images=image, boxes=boxes, return_tensors="pt"))
    (expected,) = processor.post_process_pose_estimation(outputs, boxes=boxes)[0]
    assert np.abs(np.array(person["keypoints"])[:, :2] - expected["keypoints"].numpy()).max() < 1e-3


@pytest.mark.parametrize("kind", ["features", "dinov3"])
@torch.inference_mode()
def test_subject_features_match_transformers(model_folders, kind, photo, tmp_path):
    path, image = photo
    folder = model_folders.get(kind)
    if kind == "dinov3":
        pytest.importorskip("torchvision", reason="the processor of DINOv3 needs it")
        folder = str(save_dinov3(tmp_path / "dinov3"))
    vision = Vision({"features": folder}, "cpu")
    vision.detect = lambda image, words: [{"label": "dog", "score": 0.9, "box": BOX}]
    vision.segment = lambda image, boxes: (np.ones((1, *image.size[::-1]), bool), [1.0])
    actual = vision.embed_subject(open_picture(path), "a dog")
    left, top, right, bottom = scale_boxes([BOX], image.size)[0]
    crop = image.crop((math.floor(left), math.floor(top), math.ceil(right), math.ceil(bottom)))
    processor, model = load_reference(folder, AutoModel)
    expected = model(**processor(images=crop, return_tensors="pt")).pooler_output[0].numpy()
    assert actual == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("kind", ["llava", *VISION_KINDS])
def test_chat_answers_match_transformers(kind, photo, tmp_path):
    if kind != "llava":
        pytest.importorskip("torchvision", reason="processors of newer models need it")
    if kind == "smolvlm":
        pytest.importorskip("num2words", reason="the processor of SmolVLM needs it")
    path, image = photo
    folder = str(
        save_chat(tmp_path) if kind == "llava" else save_vision_chat(tmp_path / kind, kind)
    )
    letters = tuple(string.ascii_lowercase)
    request = Request("a cat?", image=open_picture(path), max_tokens=6, answers=letters)
    reply = load_local_chat(folder, device="cpu", images=True).ask(request)
    processor, model = load_reference(folder, AutoModelForImageTextToText)
    parts = [{"type": "image", "image": image}, {"type": "text", "text": "a cat?"}]
    template_options = {"add_generation_prompt": True, "tokenize": True, "return_dict": True}
    inputs = processor.apply_chat_template(
        [{"role": "user", "content": parts}], return_tensors="pt", **template_options
    )
    expected = model.generate(**inputs, do_sample=False, max_new_tokens=6)[0]
    expected = expected[inputs["input_ids"].shape[1] :]
    assert reply.text == processor.decode(expected, skip_special_tokens=True)
    with torch.inference_mode():
        first = model(**inputs).logits[0, -1].softmax(-1)
    texts = processor.tokenizer.convert_ids_to_tokens(range(len(first)))
    top = first.topk(MAX_TOP_LOGPROBS).indices.tolist()
    probs = [sum(first[k].item() for k in top if texts[k].lower() == a) for a in letters]
    assert [reply.probs[letter] for letter in letters] == pytest.approx(probs, abs=1e-5)
    assert sum(probs) > 0.01, sum(probs)
