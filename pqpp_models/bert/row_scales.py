"""Eight-bit activations with a scale of their own for each row, in an ONNX graph.

onnxruntime's dynamic quantization takes one scale for a whole batch, so that a prompt's prediction
depends on its neighbours. With a scale a token it depends on the prompt alone, and is also nearer
to the exact one.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

# Names of the constants that are added to a graph.
_AXIS, _LEAST, _STEP, _ZERO = "rows.axis", "rows.least", "rows.step", "rows.zero"
_CONSTANTS = {
    _AXIS: np.array([-1], np.int64),
    _LEAST: np.array(1e-12, np.float32),  # a row of zeros is not divided by zero
    _STEP: np.array(1 / 127, np.float32),
    _ZERO: np.array(128, np.uint8),
}


def scale_by_row(model: Any) -> None:
    """Let each row of activations have its own scale, in place.

    Args:
        model: an ONNX model from `onnxruntime.quantization.quantize_dynamic`, of opset 18 or later.

    Example:
        >>> import onnx.parser
        >>> text = '<ir_version: 8, opset_import: ["": 18]> g (float[n, 2] x) => (uint8[n, 2] y)'
        >>> model = onnx.parser.parse_model(text + "{ y, s, z = DynamicQuantizeLinear(x) }")
        >>> scale_by_row(model)
        >>> sorted({node.op_type for node in model.graph.node})
        ['Abs', 'Div', 'Max', 'Mul', 'QuantizeLinear', 'ReduceMax']
    """
    from onnx import numpy_helper

    graph = model.graph
    quantized = [node for node in graph.node if node.op_type == "DynamicQuantizeLinear"]
    scales = {node.output[1] for node in quantized}
    zeros = {node.output[2] for node in quantized}
    # The scale of a product: that of its activations times those of its weights' columns.
    joined = {
        node.output[0]: (node.input[0], node.input[1])
        for node in graph.node
        if node.op_type == "Mul" and node.input[0] in scales
    }
    nodes = [replaced for node in graph.node for replaced in _replaced(node, joined)]
    for node in nodes:
        for place, name in enumerate(node.input):
            if name in zeros:
                node.input[place] = _ZERO
    del graph.node[:]
    graph.node.extend(nodes)
    for name, value in _CONSTANTS.items():
        graph.initializer.append(numpy_helper.from_array(value, name))


def _replaced(node: Any, joined: dict[str, tuple[str, str]]) -> Iterator[Any]:
    """Give the nodes that stand in the place of one."""
    if node.op_type == "DynamicQuantizeLinear":
        yield from _quantized(node.input[0], node.output[0], node.output[1])
    elif node.op_type == "Mul" and any(name in joined for name in node.input):
        (both,) = (name for name in node.input if name in joined)
        (product,) = (name for name in node.input if name != both)
        of_rows, of_columns = joined[both]
        # In two steps: onnxruntime fuses a product with one scale, and would take the first row's.
        yield _node("Mul", [product, of_columns], f"{node.output[0]}.by_column")
        yield _node("Mul", [f"{node.output[0]}.by_column", of_rows], node.output[0])
    elif not (node.op_type == "Mul" and node.output[0] in joined):
        yield node


def _quantized(values: str, rounded: str, scale: str) -> Iterator[Any]:
    """Bring each row to -1 .. 1 by its largest value, then round it to eight bits."""
    yield _node("Abs", [values], f"{rounded}.abs")
    yield _node("ReduceMax", [f"{rounded}.abs", _AXIS], f"{rounded}.max", keepdims=1)
    yield _node("Max", [f"{rounded}.max", _LEAST], f"{rounded}.largest")
    yield _node("Mul", [f"{rounded}.largest", _STEP], scale)
    yield _node("Div", [values, f"{rounded}.largest"], f"{rounded}.unit")
    yield _node("QuantizeLinear", [f"{rounded}.unit", _STEP, _ZERO], rounded)


def _node(kind: str, inputs: list[str], output: str, **attributes: Any) -> Any:
    from onnx import helper

    return helper.make_node(kind, inputs, [output], name=f"{output}.{kind}", **attributes)
