"""Makes a model of two products and its module; checks what was pruned of it.

pruned_onnx.py make FOLDER: model.onnx with a fused MatMul weight in an external
file and a Gemm weight (transB) inside, dense.mlir as raise would leave it.
pruned_onnx.py check FOLDER: out.onnx runs in onnxruntime and gives what numpy
gives with the 16 largest of every 32 weights along K.
"""

import os
import sys

import numpy as np
import onnx
from onnx import TensorProto, helper, numpy_helper

K, ROWS, OUT = 96, 160, 64
command, folder = sys.argv[1:]
random = np.random.default_rng(3)
# [K, rows], of which rows 0 to 95 are q and 96 to 159 are v; and [out, rows].
fused = random.standard_normal((K, ROWS), dtype=np.float32)
last = random.standard_normal((OUT, ROWS), dtype=np.float32)
x = random.standard_normal((1, 3, K), dtype=np.float32)


def prune(rows):
    groups = rows.reshape(rows.shape[0], -1, 32)
    order = np.argsort(-abs(groups), axis=2, kind="stable")
    kept = np.zeros(groups.shape, bool)
    np.put_along_axis(kept, order[:, :, :16], True, axis=2)
    return np.where(kept, groups, 0).reshape(rows.shape)


if command == "make":
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "fused"], ["h"]),
         helper.make_node("Reshape", ["h", "shape"], ["flat"]),
         helper.make_node("Gemm", ["flat", "last"], ["y"], transB=1)],
        "g",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [1, 3, K])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [3, OUT])],
        [numpy_helper.from_array(fused, "fused"),
         numpy_helper.from_array(np.array([3, ROWS]), "shape"),
         numpy_helper.from_array(last, "last")])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)],
                              ir_version=8)
    onnx.external_data_helper.convert_model_to_external_data(
        model, location="weights", size_threshold=K * ROWS * 4,
        convert_attribute=False)
    onnx.save(model, os.path.join(folder, "model.onnx"))
    stored = f"tensor<{K}x{ROWS}xf32>"
    source = f'#decode.file<"weights", 0, {K * ROWS * 4}>'
    text = ""
    for name, first, rows in ("q", 0, 96), ("v", 96, 64):
        text += (f"decode.weight @layers.0.{name} : tensor<{rows}x{K}xf32> from "
                 f"{source} view #decode.view<{stored}, {first}, transposed>\n")
    text += (f"decode.weight @layers.0.o : tensor<{OUT}x{ROWS}xf32> from "
             f'dense<"0x{last.tobytes().hex()}"> : tensor<{OUT}x{ROWS}xf32>\n')
    text += "func.func @decode("
    text += f"%x: tensor<1x1x{K}xf32>, %h: tensor<1x1x{ROWS}xf32>) {{\n"
    for name, rows, k, arg in (("q", 96, K, "x"), ("v", 64, K, "x"),
                               ("o", OUT, ROWS, "h")):
        text += (f"  %w{name} = decode.load @layers.0.{name} : "
                 f"tensor<{rows}x{k}xf32>\n"
                 f"  %{name} = decode.linear %{arg}, %w{name} : "
                 f"tensor<1x1x{k}xf32>, tensor<{rows}x{k}xf32> -> "
                 f"tensor<1x1x{rows}xf32>\n")
    text += "  return\n}\n"
    with open(os.path.join(folder, "dense.mlir"), "w") as file:
        file.write(text)
else:
    import onnxruntime

    onnx.checker.check_model(os.path.join(folder, "out.onnx"))
    session = onnxruntime.InferenceSession(os.path.join(folder, "out.onnx"))
    got = session.run(None, {"x": x})[0]
    hidden = x[0].astype(np.float64) @ prune(fused.T).T
    expected = hidden @ prune(last).T
    dense = x[0] @ fused @ last.T
    error = abs(got - expected).max()
    print("error", error)
    assert error < 1e-3, (got, expected)
    assert abs(got - dense).max() > 1, "nothing was pruned"
