# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""Hugging Face's Llama, for tools/convert."""
import argparse
import json
import math
import os
import pathlib
import re
import struct
from typing import Dict, Iterator, NamedTuple, Tuple

from convert_files import (File, Refused, Tensor, is_number, note, read, read_json, refuse, replace,
                           write)
from convert_names import Row, check

EPSILON_POWER, SMALLEST_POWER = -5, -20  # of ten: what nn::RmsNorm adds, and can add

# What a configuration must say if it says anything: nothing else is what weft computes.
FIXED = {"hidden_act": "silu", "mlp_bias": False,
         "sliding_window": None, "pretraining_tp": 1, "partial_rotary_factor": 1.0}
MODELS = ("llama", "mistral", "qwen2")  # which are the same, if no window slides
SIZES = ("hidden_size", "intermediate_size", "num_hidden_layers", "num_attention_heads",
         "num_key_value_heads", "vocab_size", "max_position_embeddings")
# Where a file does not say it, as transformers' LlamaConfig has it.
DEFAULTS = {"hidden_act": "silu", "max_position_embeddings": 2048, "rms_norm_eps": 1e-6,
            "attention_bias": False, "tie_word_embeddings": False}
# And as its MistralConfig and Qwen2Config have it.
OF_MISTRAL = {"sliding_window": 4096, "num_key_value_heads": 8, "max_position_embeddings": 131072}
OF_QWEN2 = {"num_key_value_heads": 32, "max_position_embeddings": 32768, "sliding_window": 4096}
# Whatever their files say: of a Qwen 2's projections those before attention have biases.
BIASES = {"mistral": {"attention_bias": False, "mlp_bias": False},
          "qwen2": {"attention_bias": True, "mlp_bias": False}}

LAYER = {"self_attn.q_proj": "self_attention.query", "self_attn.k_proj": "self_attention.key",
         "self_attn.v_proj": "self_attention.value", "self_attn.o_proj": "self_attention.output",
         "input_layernorm": "self_attention.norm", "mlp.gate_proj": "feed_forward.gate",
         "mlp.up_proj": "feed_forward.up", "mlp.down_proj": "feed_forward.down",
         "post_attention_layernorm": "feed_forward.norm"}


# Of weft's nn::Rotary, transformers' names and what it takes where they are not said.
ROTARY = {"rotary_base": ("rope_theta", 10000), "rotary_factor": ("factor", 1),
          "rotary_slow_turns": ("low_freq_factor", 1), "rotary_fast_turns": ("high_freq_factor", 4),
          "rotary_first_length": ("original_max_position_embeddings", 8192)}


class Sizes(NamedTuple):
    """Those of a model, by weft's names."""
    d_model: int
    heads: int
    key_heads: int
    d_ff: int
    layers: int
    vocabulary: int
    longest: int
    rotary: Dict[str, int]  # by the names above
    norm_epsilon_power: int  # of 10
    attention_bias: bool
    output_bias: bool  # of the projection behind attention, in the file
    tie: bool


def rows_of(sizes: Sizes, file: File) -> Iterator[Row]:
    """All tensors of a model, which are as many as the file may have."""
    if sizes.layers > len(file.tensors):
        raise Refused(f"{file.path}: has {len(file.tensors)} tensors, too few for {sizes.layers} layers")
    C, F, V = sizes.d_model, sizes.d_ff, sizes.vocabulary
    K = C // sizes.heads * sizes.key_heads
    shapes = {"q_proj": (C, C), "k_proj": (K, C), "v_proj": (K, C), "o_proj": (C, C),
              "gate_proj": (F, C), "up_proj": (F, C), "down_proj": (C, F)}
    yield Row("model.embed_tokens.weight", ("embedding.weight",), (V, C))
    for i in range(sizes.layers):
        for theirs, ours in LAYER.items():
            shape = shapes.get(theirs.rpartition(".")[2], (C,))
            other, weft = f"model.layers.{i}.{theirs}", f"encoder.layers.{i}.{ours}"
            yield Row(f"{other}.weight", (f"{weft}.weight",), shape)
            has_bias = sizes.output_bias if theirs == "self_attn.o_proj" else sizes.attention_bias
            if has_bias and theirs.startswith("self_attn."):
                yield Row(f"{other}.bias", (f"{weft}.bias",), shape[:1])
    yield Row("model.norm.weight", ("encoder.norm.weight",), (C,))
    if not sizes.tie:
        yield Row("lm_head.weight", ("generator.weight",), (V, C))


def rotary_of(path: pathlib.Path, config: dict) -> Dict[str, int]:
    """The frequencies of the positions. Since transformers 5 they stand together in what was
    `rope_scaling` before, by whichever name; a base that stands above is for one that has none."""
    rope = config.get("rope_scaling") or config.get("rope_parameters") or {}
    if not isinstance(rope, dict):
        raise Refused(f"{path}: rope_scaling is {rope!r}, should be an object")
    rope = {"rope_theta": config.get("rope_theta", 10000.0), **rope}
    kind = rope.get("rope_type", rope.get("type", "default"))
    if kind not in ("default", "llama3"):
        raise Refused(f"{path}: rope_type is {kind!r}, should be default or llama3")
    if kind == "default":
        rope = {"rope_theta": rope["rope_theta"]}
    faults, rotary = [], {}
    for ours, (theirs, default) in ROTARY.items():
        number = rope.get(theirs, default)
        if isinstance(number, float) and number.is_integer():
            number = int(number)
        if not is_number(number, 2 if ours == "rotary_base" else 1):
            faults.append(f"{theirs} is {number!r}, should be a whole number above "
                          f"{1 if ours == 'rotary_base' else 0}")
        rotary[ours] = number
    refuse(str(path), faults)
    if rotary["rotary_fast_turns"] <= rotary["rotary_slow_turns"]:
        raise Refused(f"{path}: high_freq_factor is {rotary['rotary_fast_turns']}, should be above "
                      f"low_freq_factor, {rotary['rotary_slow_turns']}")
    return rotary


def epsilon_power_of(path: pathlib.Path, config: dict) -> int:
    """What norms add to mean squares, as a power of ten."""
    epsilon = config["rms_norm_eps"]
    if isinstance(epsilon, float) and 0.0 < epsilon <= 1.0:
        power = round(math.log10(epsilon))
        number = struct.Struct("<f")  # what is added: other formats' files give it so
        if power >= SMALLEST_POWER and number.pack(epsilon) == number.pack(float(f"1e{power}")):
            return power
    raise Refused(f"{path}: rms_norm_eps is {epsilon!r}, should be a power of ten from "
                  f"1e{SMALLEST_POWER} to 1.0")


def expect_heads(path: pathlib.Path, config: dict, width: str, heads: str,
                 key_heads: str) -> Tuple[int, int, int]:
    """The sizes of those names, if they divide one another and heads have pairs of channels."""
    C, H, G = (config[name] for name in (width, heads, key_heads))
    faults = []
    if C % H != 0 or C // H % 2 != 0:
        faults.append(f"{width} is {C}, should be an even number of channels for each of {heads}, {H}")
    if H % G != 0:
        faults.append(f"{key_heads} is {G}, should divide {heads}, {H}")
    refuse(str(path), faults)
    return C, H, G


def sizes_of(path: pathlib.Path) -> Sizes:
    said = read_json(path)
    if said.get("model_type") == "mistral":
        said = {**OF_MISTRAL, **said}
    if said.get("model_type") == "qwen2":
        said = {**OF_QWEN2, **said}
        if said.get("use_sliding_window", False) is False:
            said["sliding_window"] = None
    said = {**said, **BIASES.get(said.get("model_type"), {})}
    config = {name: value for name, value in said.items() if value is not None}
    rotary = rotary_of(path, config)
    faults = [f"{name} is missing" for name in SIZES[:4] + ("vocab_size",) if name not in config]
    for name, default in DEFAULTS.items():
        config.setdefault(name, default)
    config.setdefault("num_key_value_heads", config.get("num_attention_heads", 1))
    faults += [f"{name} is {config[name]!r}, should be {value!r}"
               for name, value in FIXED.items() if config.get(name, value) != value]
    if config.get("model_type") not in MODELS:
        faults.append(f"model_type is {config.get('model_type')!r}, "
                      f"should be one of {', '.join(MODELS)}")
    faults += [f"{name} is {config[name]!r}, should be a number above 0"
               for name in SIZES if name in config and not is_number(config[name], 1)]
    faults += [f"{name} is {config[name]!r}, should be true or false"
               for name in ("attention_bias", "tie_word_embeddings")
               if not isinstance(config[name], bool)]
    refuse(str(path), faults)
    C, H, G = expect_heads(path, config, "hidden_size", "num_attention_heads", "num_key_value_heads")
    if config.get("head_dim", C // H) != C // H:
        raise Refused(f"{path}: head_dim is {config['head_dim']!r}, should be {C // H}")
    return Sizes(C, H, G, config["intermediate_size"], config["num_hidden_layers"],
                 config["vocab_size"], config["max_position_embeddings"], rotary,
                 epsilon_power_of(path, config), config["attention_bias"],
                 config["attention_bias"] and config["model_type"] != "qwen2",
                 config["tie_word_embeddings"])


def shape_of(sizes: Sizes) -> dict:
    """The type to compile, as weft/train/model_config.hpp writes it."""
    shape = {"model": "weft::nn::LanguageModel", "d_model": sizes.d_model, "heads": sizes.heads,
             "d_ff": sizes.d_ff, "layers": sizes.layers, "norm": "pre",
             "attention_bias": sizes.attention_bias, "generator_bias": False,
             "activation": "silu", "positions": "rotary", "tie": sizes.tie}
    if sizes.key_heads != sizes.heads:
        shape["key_heads"] = sizes.key_heads
    if sizes.norm_epsilon_power != EPSILON_POWER:
        shape["norm_epsilon_power"] = sizes.norm_epsilon_power
    slowed = sizes.rotary["rotary_factor"] > 1
    return {**shape, "rms_norm": True, "gated": True, "scale_embedding": False,
            **{name: number for name, number in sizes.rotary.items()
               if slowed or name == "rotary_base"}}


def read_parts(folder: pathlib.Path) -> File:
    """The tensors of a model, which may lie in several files. As for transformers one file is the
    model where there is one: an index may be left of what stood there before."""
    index = folder / "model.safetensors.index.json"
    if (folder / "model.safetensors").is_file() or not index.is_file():
        return read(str(folder / "model.safetensors"))
    places = read_json(index).get("weight_map")
    names = set(places.values()) if isinstance(places, dict) and all(
        isinstance(name, str) and re.fullmatch(r"[\w.-]+", name) for name in places.values()) else ()
    if not names:
        raise Refused(f"{index}: should say by weight_map in which file each tensor is")
    tensors: Dict[str, Tensor] = {}
    for name in sorted(names):
        part = read(str(folder / name))
        twice = sorted(tensors.keys() & part.tensors.keys())
        refuse(part.path, [f'"{tensor}" is in another file too' for tensor in twice])
        tensors.update(part.tensors)
    return File(str(folder), tensors, {})


def expect_other_folder(options: argparse.Namespace) -> pathlib.Path:
    folder = pathlib.Path(options.input)
    if os.path.realpath(options.output) == os.path.realpath(folder):
        raise Refused(f"{options.output}: cannot be the model's own folder: files have the same names")
    return folder


def write_folder(options: argparse.Namespace, tensors: Dict[str, Tensor], metadata: Dict[str, str],
                 config: dict) -> None:
    folder, output = pathlib.Path(options.input), pathlib.Path(options.output)
    os.makedirs(output, exist_ok=True)
    write(str(output / "model.safetensors"), tensors, metadata)
    replace(str(output / "config.json"), [(json.dumps(config, indent=2) + "\n").encode()])
    if (folder / "tokenizer.model").is_file():  # what makes pieces of text: SentencePiece's
        replace(str(output / "tokenizer.model"), [(folder / "tokenizer.model").read_bytes()])


def llama_to_weft(options: argparse.Namespace) -> None:
    folder = expect_other_folder(options)
    sizes = sizes_of(folder / "config.json")
    file = read_parts(folder)
    embedding, head = "model.embed_tokens.weight", "lm_head.weight"
    if sizes.tie and file.tensors.get(head, file.tensors.get(embedding)) != file.tensors.get(embedding):
        refuse(file.path, [f'"{head}" is not "{embedding}", to which config.json says it is tied'])
    rows = list(rows_of(sizes, file))
    half = sizes.d_model // sizes.heads // 2
    computed = {f"model.layers.{i}.self_attn.rotary_emb.inv_freq": (half,)
                for i in range(sizes.layers)}  # of older files; weft computes them
    check(file, {row.other: row.shape for row in rows},
          {**computed, **({head: (sizes.vocabulary, sizes.d_model)} if sizes.tie else {})})
    tensors = {row.weft[0]: file.tensors[row.other] for row in rows}
    if sizes.attention_bias and not sizes.output_bias:
        C = sizes.d_model
        tensors.update({f"encoder.layers.{i}.self_attention.output.bias": Tensor((C,), bytes(4 * C))
                        for i in range(sizes.layers)})
    write_folder(options, tensors, {"format": "pt", "longest": str(sizes.longest)},
                 shape_of(sizes))


def weft_to_llama(options: argparse.Namespace) -> None:
    folder = expect_other_folder(options)
    path = folder / "config.json"
    config = read_json(path)
    model, best = folder / "model.safetensors", folder / "best.safetensors"
    file = read(str(best if best.is_file() and not model.is_file() else model))
    config.setdefault("key_heads", config.get("heads"))
    for name, (_, default) in list(ROTARY.items())[1:]:
        config.setdefault(name, default)
    epsilon_power = config.setdefault("norm_epsilon_power", EPSILON_POWER)
    numbers = ("d_model", "heads", "key_heads", "d_ff", "layers", *ROTARY)
    refuse(str(path), [f"{name} is {config.get(name)!r}, should be a number above 0"
                       for name in numbers if not is_number(config.get(name), 1)])
    if not is_number(epsilon_power, SMALLEST_POWER) or epsilon_power > 0:
        raise Refused(f"{path}: norm_epsilon_power is {epsilon_power!r}, should be a number from "
                      f"{SMALLEST_POWER} to 0")
    C, H, G = expect_heads(path, config, "d_model", "heads", "key_heads")
    words = next(iter(file.tensors.get("embedding.weight", Tensor((), b"")).shape), 0)
    longest = file.metadata.get("longest", "")
    if not re.fullmatch("[1-9][0-9]{0,17}", longest):
        longest = str(DEFAULTS["max_position_embeddings"])
        note(f'{file.path}: does not say "longest": max_position_embeddings is {longest}')
    sizes = Sizes(C, H, G, config["d_ff"], config["layers"], words,
                  int(longest),
                  {name: config[name] for name in ROTARY}, epsilon_power,
                  config.get("attention_bias") is True, config.get("attention_bias") is True,
                  config.get("tie") is True)
    should = shape_of(sizes)
    known = {"key_heads", "norm_epsilon_power", *ROTARY, *should}
    refuse(str(path), [f"{name} is {config.get(name)!r}, should be {should.get(name)!r}: no Llama"
                       for name in [*should, *(config.keys() - known)]
                       if config.get(name) != should.get(name)])
    rows = list(rows_of(sizes, file))
    check(file, {row.weft[0]: row.shape for row in rows}, {})
    rope = {theirs: float(sizes.rotary[ours]) for ours, (theirs, _) in ROTARY.items()}
    theta, length = rope.pop("rope_theta"), int(rope.pop("original_max_position_embeddings"))
    slowed = {"rope_scaling": {"rope_type": "llama3", **rope,
                               "original_max_position_embeddings": length}}
    note("tokens that begin and end a text are not weft's to know: config.json has transformers' "
         "own, 1 and 2")
    write_folder(options, {row.other: file.tensors[row.weft[0]] for row in rows}, {"format": "pt"}, {
        "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_act": "silu",
        "hidden_size": sizes.d_model, "intermediate_size": sizes.d_ff,
        "num_hidden_layers": sizes.layers, "num_attention_heads": sizes.heads,
        "num_key_value_heads": sizes.key_heads, "vocab_size": sizes.vocabulary,
        "max_position_embeddings": sizes.longest, "rms_norm_eps": float(f"1e{epsilon_power}"),
        "rope_theta": theta, **(slowed if sizes.rotary["rotary_factor"] > 1 else {}),
        "attention_bias": sizes.attention_bias, "mlp_bias": False,
        "tie_word_embeddings": sizes.tie, "torch_dtype": "float32"})
