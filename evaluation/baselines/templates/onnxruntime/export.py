"""How `model.onnx` was made of `weights.npz`, with the package onnx. Exporters of frameworks write such files, too.

python export.py WEIGHTS.npz MODEL.onnx
"""

from __future__ import annotations

import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

POOL = 4  # pixels of a side of a cell


def main(source, destination):
    weights = np.load(source, allow_pickle=False)
    constants = [numpy_helper.from_array(weights[name], name) for name in weights.files]
    constants += [
        numpy_helper.from_array(np.array([3], np.int64), "channels"),
        numpy_helper.from_array(np.float32(255), "white"),
    ]
    nodes = [
        helper.make_node("ReduceMean", ["pixels", "channels"], ["grey"], keepdims=1),
        helper.make_node("Div", ["grey", "white"], ["brightness"]),
        helper.make_node("Transpose", ["brightness"], ["planes"], perm=[0, 3, 1, 2]),
        helper.make_node("AveragePool", ["planes"], ["cells"], kernel_shape=[POOL, POOL], strides=[POOL, POOL]),
        helper.make_node("Flatten", ["cells"], ["flat"]),
        helper.make_node("Gemm", ["flat", "hidden", "hidden_bias"], ["sums"]),
        helper.make_node("Relu", ["sums"], ["activations"]),
        helper.make_node("Gemm", ["activations", "output", "output_bias"], ["scores"]),
    ]
    graph = helper.make_graph(
        nodes,
        "perceptron",
        [helper.make_tensor_value_info("pixels", TensorProto.FLOAT, ["n", 64, 64, 3])],
        [helper.make_tensor_value_info("scores", TensorProto.FLOAT, ["n", 10])],
        constants,
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=10)
    onnx.checker.check_model(model)
    onnx.save(model, destination)


if __name__ == "__main__":
    main(*sys.argv[1:])
