# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""Hugging Face's MarianMT, for tools/convert."""
import argparse
import json
import math
import os
import pathlib
import re
import struct
from typing import Dict, Iterator

from convert_files import (File, Refused, Tensor, is_number, note, read, read_json, refuse, replace,
                           write)
from convert_names import PROJECTIONS, Row, check, plain


def marian_rows(C: int, F: int, V: int, encoder_layers: int, decoder_layers: int) -> Iterator[Row]:
    """All tensors of a MarianMT model that are its own."""
    yield Row("model.shared.weight", ("source_embedding.weight",), (V, C))
    for stack, layers in (("encoder", encoder_layers), ("decoder", decoder_layers)):
        for i in range(layers):
            weft = f"{stack}.layers.{i}"
            marian = f"model.{weft}"
            parts = [("self_attn", "self_attention")]
            if stack == "decoder":
                parts.append(("encoder_attn", "cross_attention"))
            for theirs, ours in parts:
                for projection in PROJECTIONS:
                    yield from plain(f"{marian}.{theirs}.{projection[0]}_proj",
                                     f"{weft}.{ours}.{projection}", C, C)
                yield from plain(f"{marian}.{theirs}.out_proj", f"{weft}.{ours}.output", C, C)
                yield from plain(f"{marian}.{theirs}_layer_norm", f"{weft}.{ours}.norm", C)
            yield from plain(f"{marian}.fc1", f"{weft}.feed_forward.inner", F, C)
            yield from plain(f"{marian}.fc2", f"{weft}.feed_forward.outer", C, F)
            yield from plain(f"{marian}.final_layer_norm", f"{weft}.feed_forward.norm", C)


SHARED = "model.shared.weight"
COPIES = ("model.encoder.embed_tokens.weight", "model.decoder.embed_tokens.weight",
          "lm_head.weight")
POSITIONS = ("model.encoder.embed_positions.weight", "model.decoder.embed_positions.weight")
ACTIVATIONS = {"swish": "silu", "silu": "silu", "relu": "relu", "gelu": "gelu"}

# What a configuration must say if it says anything: nothing else is what weft computes.
SIZE = re.compile("d_model|vocab_size|max_position_embeddings|"
                  "(en|de)coder_(layers|attention_heads|ffn_dim)")
FIXED = {"model_type": "marian", "scale_embedding": True, "normalize_before": False,
         "normalize_embedding": False, "add_final_layer_norm": False,
         "static_position_embeddings": True, "share_encoder_decoder_embeddings": True,
         "tie_word_embeddings": True}

# What `generate` would do otherwise than weft's search, with the value that changes nothing.
NOT_FOLLOWED = {"early_stopping": False, "do_sample": False, "min_length": 0,
                "min_new_tokens": None, "no_repeat_ngram_size": 0, "repetition_penalty": 1.0,
                "encoder_no_repeat_ngram_size": 0, "encoder_repetition_penalty": 1.0,
                "num_beam_groups": 1, "diversity_penalty": 0.0, "forced_bos_token_id": None,
                "suppress_tokens": None, "begin_suppress_tokens": None, "max_new_tokens": None,
                "temperature": 1.0}


def checked_config(path: pathlib.Path) -> dict:
    config = {name: value for name, value in read_json(path).items() if value is not None}
    faults = [f"{name} is {config[name]!r}, should be {value!r}"
              for name, value in FIXED.items() if config.get(name, value) != value]
    # transformers' own default, where a file does not say it, is not to scale.
    faults += [f"{name} is missing" for name in ("d_model", "vocab_size", "scale_embedding")
               if name not in config]
    config.setdefault("activation_function", "gelu")
    config.setdefault("max_position_embeddings", 1024)
    for name, default in (("layers", 12), ("attention_heads", 16), ("ffn_dim", 4096)):
        for side in ("encoder", "decoder"):
            config.setdefault(f"{side}_{name}", default)
    faults += [f"{name} is {value!r}, should be a number above 0" for name, value in config.items()
               if SIZE.fullmatch(name) and not is_number(value, 1)]
    for name in ("attention_heads", "ffn_dim"):
        if config[f"encoder_{name}"] != config[f"decoder_{name}"]:
            faults.append(f"encoder_{name} is {config[f'encoder_{name}']}, "
                          f"but decoder_{name} {config[f'decoder_{name}']}")
    if config.get("decoder_vocab_size", config.get("vocab_size")) != config.get("vocab_size"):
        faults.append(f"decoder_vocab_size is {config['decoder_vocab_size']}, "
                      f"but vocab_size {config.get('vocab_size')}")
    if config["activation_function"] not in list(ACTIVATIONS):  # it may be anything
        faults.append(f"activation_function is {config['activation_function']!r}, "
                      f"should be one of {', '.join(ACTIVATIONS)}")
    refuse(str(path), faults)
    return config


def search_metadata(path: pathlib.Path, config: dict) -> Dict[str, str]:
    """How `generate` searches with this model unless it is told otherwise."""
    own = path / "generation_config.json"
    settings = read_json(own) if own.is_file() else config

    def setting(name: str, default):
        value = settings.get(name)
        return default if value is None else value

    for name, value in NOT_FOLLOWED.items():
        if setting(name, value) != value:
            note(f"{name} is {settings[name]!r}: weft's search does not follow that")
    end = setting("eos_token_id", config.get("eos_token_id", 0))
    pad = setting("pad_token_id", config.get("pad_token_id"))
    start = setting("decoder_start_token_id", config.get("decoder_start_token_id", pad))
    faults = [f"{name} is {value!r}, should be a token's number" for name, value in
              (("eos_token_id", end), ("pad_token_id", pad), ("decoder_start_token_id", start))
              if not is_number(value, 0)]
    forbidden = setting("bad_words_ids", [])
    if not isinstance(forbidden, list):
        forbidden = [forbidden]
    faults += [f"bad_words_ids has {words!r}, should be one token's number in brackets"
               for words in forbidden
               if not (isinstance(words, list) and len(words) == 1 and is_number(words[0], 0))]
    beam = setting("num_beams", 1)
    longest = setting("max_length", config["max_position_embeddings"])
    faults += [f"{name} is {value!r}, should be a number above 0"
               for name, value in (("num_beams", beam), ("max_length", longest))
               if not is_number(value, 1)]
    penalty = setting("length_penalty", 1.0)
    if not isinstance(penalty, (int, float)) or not abs(penalty) < 1e9:
        faults.append(f"length_penalty is {penalty!r}, should be a number")
    renormalize = setting("renormalize_logits", False)
    if not isinstance(renormalize, bool):
        faults.append(f"renormalize_logits is {renormalize!r}, should be true or false")
    refuse(str(own if own.is_file() else path / "config.json"), faults)
    if setting("forced_eos_token_id", None) != end:
        note("forced_eos_token_id is not eos_token_id: translations of the greatest length may end "
             "otherwise")
    return {"start": str(start), "end": str(end), "pad": str(pad),
            "forbidden": " ".join(str(words[0]) for words in forbidden),
            "renormalize": str(int(renormalize)),
            "beam": str(beam),
            "length_penalty": str(float(penalty)),
            "max_length": str(longest)}


def check_positions(file: File, name: str, longest: int, C: int) -> None:
    """A table of positions must be the one that weft computes, up to rounding."""
    table = file.tensors[name]
    if table.shape != (longest, C):
        raise Refused(f'{file.path}: "{name}" is {table.shape}, should be {(longest, C)}')
    sines = (C + 1) // 2
    numbers = struct.unpack(f"<{longest * C}f", table.data)
    for i, number in enumerate(numbers):
        t, c = divmod(i, C)
        angle = t / 10000.0 ** (2 * (c if c < sines else c - sines) / C)
        should = math.sin(angle) if c < sines else math.cos(angle)
        if not abs(number - should) <= 2.0 ** -9:  # what bfloat16 rounds off; float16 less
            raise Refused(f'{file.path}: "{name}" has {number} for position {t}, channel {c}, '
                          f"should be {should}: these are not sinusoids, all sines first")


def marian_to_weft(options: argparse.Namespace) -> None:
    folder = pathlib.Path(options.input)
    if os.path.realpath(options.output) == os.path.realpath(folder):
        raise Refused(f"{options.output}: cannot be the model's own folder: files have the same names")
    config = checked_config(folder / "config.json")
    model = folder / "model.safetensors"
    if not model.is_file() and (folder / "pytorch_model.bin").is_file():
        raise Refused(
            f"{folder}: has pytorch_model.bin, which only PyTorch reads. With transformers:\n"
            f"  python3 -c \"from transformers import MarianMTModel as M; "
            f"M.from_pretrained('{folder}').save_pretrained('{folder}')\"")
    file = read(str(model))
    C, F, V = config["d_model"], config["encoder_ffn_dim"], config["vocab_size"]
    longest = config["max_position_embeddings"]

    # One weight may be there under up to four names.
    copies = [name for name in (SHARED, *COPIES) if name in file.tensors]
    if copies:
        file.tensors.setdefault(SHARED, file.tensors[copies[0]])
    refuse(file.path, [f'"{name}" is not "{copies[0]}": weft has one weight for both'
                       for name in copies if file.tensors[name] != file.tensors[copies[0]]])
    for name in POSITIONS:
        if name in file.tensors:
            check_positions(file, name, longest, C)
    rows = list(marian_rows(C, F, V, config["encoder_layers"], config["decoder_layers"]))
    check(file, {row.other: row.shape for row in rows},
          {"final_logits_bias": (1, V), **{name: (V, C) for name in COPIES},
           **{name: (longest, C) for name in POSITIONS}})
    tensors = {row.weft[0]: file.tensors[row.other] for row in rows}
    bias = file.tensors.get("final_logits_bias", Tensor((1, V), bytes(4 * V)))
    tensors["generator.bias"] = Tensor((V,), bias.data)

    words = read_json(folder / "vocab.json")
    numbers = {number for number in words.values() if is_number(number, 0) and number < V}
    if len(numbers) != len(words):
        raise Refused(f"{folder / 'vocab.json'}: should give each of its {len(words)} pieces a "
                      f"number of its own below {V}")
    metadata = {"format": "pt", "longest": str(longest), **search_metadata(folder, config)}
    # The type to compile, as weft/train/model_config.hpp writes it.
    shape = {"model": "weft::nn::Transformer", "d_model": C,
             "heads": config["encoder_attention_heads"], "d_ff": F,
             "encoder_layers": config["encoder_layers"],
             "decoder_layers": config["decoder_layers"], "norm": "post", "final_norms": False,
             "attention_bias": True, "generator_bias": True,
             "activation": ACTIVATIONS[config["activation_function"]],
             "positions": "sinusoidal_halves", "tie": "all"}
    os.makedirs(options.output, exist_ok=True)
    write(os.path.join(options.output, "model.safetensors"), tensors, metadata)
    replace(os.path.join(options.output, "config.json"),
            [(json.dumps(shape, indent=2) + "\n").encode()])
    replace(os.path.join(options.output, "vocab.json"),
            [json.dumps(words, ensure_ascii=False).encode()])
    for name in ("source.spm", "target.spm"):  # what makes pieces of text, and text of pieces
        if (folder / name).is_file():
            replace(os.path.join(options.output, name), [(folder / name).read_bytes()])
