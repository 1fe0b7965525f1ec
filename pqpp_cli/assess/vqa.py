"""`pqpp assess vqa`: the probability that a model of images and text sees the prompt (VQAScore)."""

from __future__ import annotations

from pqpp_cli.assess import EPILOG
from pqpp_cli.assess.groups import Assessing
from pqpp_cli.command import Command
from pqpp_feedback.assessors.vqa import VqaOptions


class AssessVqa(Assessing, VqaOptions, Command):
    """Ask a model of images and text whether each image shows its prompt: the probability of "yes",
    after VQAScore.
    """

    EPILOG = f"""examples:
  pqpp assess vqa --image-dir generated --chat-model Qwen/Qwen2.5-VL-7B-Instruct --device cuda
  pqpp assess vqa --image-dir generated --chat-url http://localhost:8000/v1 --chat-model NAME \\
    --answers answers --most-calls 1000

The model runs in this process or behind an endpoint that speaks OpenAI's chat completions; its key
comes from PQPP_CHAT_KEY. Where no probabilities are told, there is a verdict and no score.
{EPILOG}"""
