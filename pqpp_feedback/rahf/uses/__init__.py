"""What feedback is good for: repairing, choosing, guiding and fine-tuning."""
