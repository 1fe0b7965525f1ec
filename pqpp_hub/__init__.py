"""Publish datasets, metrics and models on the Hugging Face Hub, and read them."""

from pqpp_files.names import is_repository_id
from pqpp_hub.card import render_card
from pqpp_hub.push import HubError, PushReport, push_files

__all__ = ["HubError", "PushReport", "is_repository_id", "push_files", "render_card"]
