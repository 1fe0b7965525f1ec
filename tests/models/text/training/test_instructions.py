"""The instruction model: a gate that is closed for captions, and what is hard behind it."""

import numpy as np

from pqpp_models.text.instructions import InstructionModel, begins_lower
from pqpp_models.text.training.instructions import InstructionSettings, fit_instruction_model
from pqpp_models.text.words import WordTables, difficulty_features


def test_the_gate_stays_closed_for_captions():
    captions = [f"A man {verb} a wave on a board." for verb in ("riding", "catching")] * 100
    instructions = [f"{n} cats left of a box" for n in ("two", "three", "four")] * 20
    tables = WordTables.build(captions)
    settings = InstructionSettings(closed_share=1.0, ridge=1.0, expected={"unknown_words": -1.0})
    rates = np.tile([0.9, 0.5, 0.1], 20)
    model = fit_instruction_model(captions, instructions, rates, tables, settings)
    inside = difficulty_features(captions, tables, own=True)
    outside = difficulty_features(instructions, tables)
    assert model.gate(inside, begins_lower(captions)).max() < 1e-4
    opened = model.gate(outside, begins_lower(instructions))
    assert opened.min() > 0.5
    hbpp = model.hbpp(outside[:3])
    assert hbpp[0] > hbpp[1] > hbpp[2]
    harder = difficulty_features(["two zyxq cats left of a box"], tables)
    assert model.hbpp(harder)[0] < hbpp[0]
    again = InstructionModel.from_tensors(model.tensors())
    assert np.array_equal(again.gate(outside, begins_lower(instructions)), opened)
