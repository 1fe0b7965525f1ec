"""ONNX graphs that a text predictor's folder may hold: a small sound one, and hostile ones."""

import numpy as np


def sound_graph(width: int = 8, words: int = 57) -> bytes:
    """Return a graph from `input_ids` and `attention_mask` to one score a prompt."""
    from onnx import TensorProto, helper

    nodes = [
        helper.make_node("Gather", ["words", "input_ids"], ["states"]),
        helper.make_node("Cast", ["attention_mask"], ["mask"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["mask", "last"], ["column"]),
        helper.make_node("Mul", ["states", "column"], ["kept"]),
        helper.make_node("ReduceMean", ["kept", "middle"], ["mean"], keepdims=0),
        helper.make_node("MatMul", ["mean", "weights"], ["logits"]),
        helper.make_node("Sigmoid", ["logits"], ["scores"]),
    ]
    return _whole(nodes, width, words)


def _whole(nodes: list, width: int = 8, words: int = 57) -> bytes:
    from onnx import TensorProto, helper, numpy_helper

    random = np.random.default_rng(0)
    constants = {
        "words": random.normal(size=(words, width)).astype(np.float32),
        "weights": random.normal(size=(width, 1)).astype(np.float32),
        "last": np.array([-1]),
        "middle": np.array([1]),
        "huge": np.array([10**5, 10**5]),
        "shape": np.array([1, 10**9]),
        "none": np.array(0.0, np.float32),
        "far": np.array(10**10),
        "step": np.array(1),
        "zero": np.array(0),
    }
    used = {name for node in nodes for name in node.input}
    inputs = [
        helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"])
        for name in ("input_ids", "attention_mask")
    ]
    scores = helper.make_tensor_value_info("scores", TensorProto.FLOAT, None)
    kept = [numpy_helper.from_array(v, n) for n, v in constants.items() if n in used]
    graph = helper.make_graph(nodes, "g", inputs, [scores], kept)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    return made.SerializeToString()


def hostile_graph(random: np.random.Generator, raw: bytes) -> tuple[str, bytes]:
    """Return what a hostile graph does, and its bytes."""
    import onnx
    from onnx import TensorProto, helper

    node = helper.make_node

    def edited(change) -> bytes:
        model = onnx.load_from_string(raw)
        change(model)
        return model.SerializeToString()

    def external(model) -> None:
        tensor = model.graph.initializer[0]
        tensor.ClearField("raw_data")
        tensor.data_location = TensorProto.EXTERNAL
        for key, value in (("location", "../secret/weights.safetensors"), ("offset", "0")):
            tensor.external_data.add(key=key, value=value)

    def shaped(model) -> None:
        model.graph.initializer[0].dims[:] = [10**6, 10**6]

    def numbers(value: float):
        def change(model) -> None:
            tensor = next(one for one in model.graph.initializer if one.name == "weights")
            tensor.raw_data = np.full(tensor.dims[0], value, np.float32).tobytes()

        return change

    def renamed(model) -> None:
        model.graph.input[0].name = "other"

    def own_domain(model) -> None:
        model.graph.node[0].domain = "theirs"
        model.opset_import.add(domain="theirs", version=1)

    def many(model) -> None:
        model.graph.node.extend(
            node("Identity", [f"n{n}" if n else "scores"], [f"n{n + 1}"]) for n in range(20_000)
        )

    def doubled(times: int) -> bytes:
        nodes = [node("Unsqueeze", ["none", "zero"], ["d0"])]
        nodes += [node("Concat", [f"d{n}"] * 2, [f"d{n + 1}"], axis=0) for n in range(times)]
        nodes.append(node("ReduceMax", [f"d{times}"], ["scores"]))
        return _whole(nodes)

    fill = node("ConstantOfShape", ["huge"], ["filled"])
    mean = node("ReduceMean", ["filled"], ["scores"])
    loop = helper.make_graph(
        [node("Identity", ["go"], ["on"])],
        "body",
        [
            helper.make_tensor_value_info("n", TensorProto.INT64, []),
            helper.make_tensor_value_info("go", TensorProto.BOOL, []),
        ],
        [helper.make_tensor_value_info("on", TensorProto.BOOL, [])],
    )
    ways = {
        "filled": lambda: _whole([fill, mean]),
        "expanded": lambda: _whole([node("Expand", ["none", "shape"], ["filled"]), mean]),
        "doubled": lambda: doubled(40),
        "multiplied": lambda: _whole(
            [
                node("Reshape", ["words", "last"], ["row"]),
                node("Unsqueeze", ["row", "zero"], ["lying"]),
                node("Transpose", ["lying"], ["standing"]),
                node("MatMul", ["standing", "lying"], ["table"]),
                node("Reshape", ["table", "last"], ["row2"]),
                node("Unsqueeze", ["row2", "zero"], ["lying2"]),
                node("Transpose", ["lying2"], ["standing2"]),
                node("MatMul", ["standing2", "lying2"], ["filled"]),
                mean,
            ]
        ),
        "loop": lambda: _whole(
            [
                node("Cast", ["step"], ["yes"], to=TensorProto.BOOL),
                node("Loop", ["far", "yes"], [], body=loop),
                node("Identity", ["none"], ["scores"]),
            ]
        ),
        "outside": lambda: edited(external),
        "NaN": lambda: edited(numbers(np.nan)),
        "other operators": lambda: edited(own_domain),
        "many nodes": lambda: edited(many),
        "cut": lambda: raw[: int(random.integers(len(raw)))],
        "byte": lambda: (
            raw[: (at := int(random.integers(len(raw))))] + bytes([raw[at] ^ 255]) + raw[at + 1 :]
        ),
    }
    way = str(random.choice(list(ways)))
    return way, ways[way]()
