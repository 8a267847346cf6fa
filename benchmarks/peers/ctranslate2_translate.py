# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""The translations of benchmarks/translate.cpp by CTranslate2, in float32."""
import json
import sys
import tempfile

import ctranslate2
import numpy as np
from ctranslate2.specs import TransformerSpec
from safetensors.numpy import load_file

from peer import Clock, memory, serve
from positions import sinusoids

LAYERS, HEADS, C, V = 6, 8, 512, 32000
MARKS = ["<blank>", "<unk>", "<s>", "</s>"]


def set_linear(spec, weight, bias=None):
    spec.weight = np.ascontiguousarray(weight)
    spec.bias = np.zeros(len(weight), np.float32) if bias is None else bias


def set_norm(spec, weights, path):
    spec.gamma, spec.beta = weights[f"{path}.weight"], weights[f"{path}.bias"]


def set_attention(spec, weights, path, joins):
    """joins: which projections are one product; the last product is the output's."""
    for linear, parts in zip(spec.linear, joins):
        set_linear(linear, np.concatenate([weights[f"{path}.{part}.weight"] for part in parts]))
    set_linear(spec.linear[-1], weights[f"{path}.output.weight"])
    set_norm(spec.layer_norm, weights, f"{path}.norm")


def set_stack(spec, weights, side, table):
    set_norm(spec.layer_norm, weights, f"{side}.norm")
    spec.position_encodings.encodings = table
    for i, layer in enumerate(spec.layer):
        at = f"{side}.layers.{i}"
        set_attention(layer.self_attention, weights, f"{at}.self_attention",
                      [("query", "key", "value")])
        if side == "decoder":
            set_attention(layer.attention, weights, f"{at}.cross_attention",
                          [("query",), ("key", "value")])
        set_norm(layer.ffn.layer_norm, weights, f"{at}.feed_forward.norm")
        for linear, name in ((layer.ffn.linear_0, "inner"), (layer.ffn.linear_1, "outer")):
            set_linear(linear, weights[f"{at}.feed_forward.{name}.weight"],
                       weights[f"{at}.feed_forward.{name}.bias"])


def convert(weights, folder):
    """Writes a model in CTranslate2's format."""
    spec = TransformerSpec.from_config(LAYERS, HEADS, pre_norm=True)
    table = sinusoids(512, C).numpy()
    set_stack(spec.encoder, weights, "encoder", table)
    set_stack(spec.decoder, weights, "decoder", table)
    spec.encoder.embeddings[0].weight = weights["source_embedding.weight"]
    spec.decoder.embeddings.weight = weights["target_embedding.weight"]
    set_linear(spec.decoder.projection, weights["generator.weight"])
    tokens = MARKS + [f"w{i}" for i in range(len(MARKS), V)]
    spec.register_source_vocabulary(tokens)
    spec.register_target_vocabulary(tokens)
    spec.validate()
    spec.save(folder)


def main():
    s = json.loads(sys.argv[1])
    rows, length = s["sentences"], s["source_length"]
    words = 4 + (np.arange(rows * length).reshape(rows, length) * 7919 + 13) % (V - 4)
    source = [[f"w{word}" for word in row] for row in words]
    translator = None

    def translate(scored):
        return translator.translate_batch(
            source, beam_size=s["beam"], max_decoding_length=s["most_words"], length_penalty=0,
            return_scores=scored)

    def load(path):
        nonlocal translator
        with tempfile.TemporaryDirectory() as folder:
            convert(load_file(path), folder)
            translator = ctranslate2.Translator(folder, device="cpu", compute_type="float32",
                                                inter_threads=1, intra_threads=s["threads"])
        return True

    def check():
        found = translate(scored=True)
        return {"translations": [[int(word[1:]) for word in result.hypotheses[0]]
                                 for result in found],
                "scores": [result.scores[0] for result in found]}

    def repeat():
        clock = Clock()
        translate(scored=False)
        return {"translate": clock.lap()}

    serve({"load": load, "check": check, "repeat": repeat, "memory": memory})


main()
