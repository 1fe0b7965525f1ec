"""The training scripts, installed as `pqpp_training`: `accelerate launch training/train_bert.py`."""
