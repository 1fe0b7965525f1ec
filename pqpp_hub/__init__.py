"""What datasets, metrics and models share to get onto the Hugging Face Hub."""

from pqpp_hub.card import render_card
from pqpp_hub.names import is_repository_id
from pqpp_hub.push import HubError, push_files
from pqpp_hub.push_report import PushReport

__all__ = ["HubError", "PushReport", "is_repository_id", "push_files", "render_card"]
