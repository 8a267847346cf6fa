# SPDX-FileCopyrightText: 2026 The weft authors
# SPDX-License-Identifier: Apache-2.0
"""Tests tools/convert, on files that tests/reference/interchange.py had PyTorch and Hugging Face
write."""
import contextlib
import errno
import importlib.machinery
import importlib.util
import io
import json
import os
import math
import pathlib
import shutil
import struct
import sys
import tempfile
import tracemalloc
import unittest

sys.dont_write_bytecode = True
SCRIPT = pathlib.Path(__file__).resolve().parents[2] / "tools" / "convert"
loader = importlib.machinery.SourceFileLoader("convert", str(SCRIPT))
convert = importlib.util.module_from_spec(importlib.util.spec_from_loader("convert", loader))
loader.exec_module(convert)

import convert_files  # noqa: E402
import convert_llama  # noqa: E402
import convert_marian  # noqa: E402

DATA = pathlib.Path(__file__).resolve().parent / "data"
NAMES = json.loads((DATA / "names.json").read_text())
OPTIONS = {
    "nn_transformer": [],
    "translator": ["--prefix", "transformer.",
                   "--rename", "source_embedding.weight=src_tok_emb.embedding.weight",
                   "--rename", "target_embedding.weight=tgt_tok_emb.embedding.weight"],
}
DROP = {"nn_transformer": [], "translator": ["--drop", "positional_encoding.pos_embedding"]}


def file_of(path, tensors):
    """Writes {name: (dtype, shape, bytes)}."""
    header, body = {}, b""
    for name, (dtype, shape, data) in tensors.items():
        header[name] = {"dtype": dtype, "shape": shape,
                        "data_offsets": [len(body), len(body) + len(data)]}
        body += data
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + body)


class WithFolder(unittest.TestCase):
    def setUp(self):
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.folder = pathlib.Path(holder.name)

    def run_convert(self, *arguments):
        said = io.StringIO()
        with contextlib.redirect_stderr(said):
            status = convert.main([str(argument) for argument in arguments])
        return status, said.getvalue()

    def converted(self, *arguments):
        status, said = self.run_convert(*arguments)
        self.assertEqual(status, 0, said)
        return said

    def refused(self, *arguments):
        status, said = self.run_convert(*arguments)
        self.assertEqual(status, 1, said)
        self.assertFalse((self.folder / "out").exists())
        return said


class Numbers(unittest.TestCase):
    def test_float16_is_exact(self):
        every = struct.pack("<65536H", *range(65536))
        wide = struct.unpack("<65536f", convert_files.from_float16(every))
        for should, is_ in zip(struct.unpack("<65536e", every), wide):
            self.assertTrue(should == is_ or (math.isnan(should) and math.isnan(is_)))
        self.assertEqual(struct.pack("<f", wide[0x8000]), struct.pack("<f", -0.0))

    def test_bfloat16_is_exact(self):
        every = struct.pack("<65536H", *range(65536))
        wide = struct.unpack("<65536I", convert_files.from_bfloat16(every))
        self.assertEqual(list(wide), [number << 16 for number in range(65536)])


class Memory(WithFolder):
    def test_a_file_is_not_in_memory_beside_its_tensors(self):
        path, count, floats = self.folder / "large", 32, 1 << 14
        for dtype, width in (("F32", 4), ("BF16", 2)):
            file_of(path, {f"{i}": (dtype, [floats], bytes(width * floats)) for i in range(count)})
            tracemalloc.start()
            tensors = convert_files.read(str(path)).tensors
            _, peak = tracemalloc.get_traced_memory()
            tracemalloc.stop()
            whole = sum(len(tensor.data) for tensor in tensors.values())
            self.assertEqual(whole, 4 * count * floats)
            self.assertLess(peak, 1.2 * whole)


class Torch(WithFolder):
    def test_files_of_pytorch_become_the_committed_ones(self):
        for name, options in OPTIONS.items():
            out = self.folder / "out"
            self.converted("torch-to-weft", DATA / f"{name}.torch.safetensors", out, *options,
                           *DROP[name])
            self.assertEqual(out.read_bytes(), (DATA / f"{name}.weft.safetensors").read_bytes())

    def test_the_way_back_has_pytorchs_names_shapes_and_numbers(self):
        for name, options in OPTIONS.items():
            out = self.folder / "out"
            said = self.converted("weft-to-torch", DATA / f"{name}.weft.safetensors", out, *options)
            self.assertEqual(said, "")
            is_, should = convert_files.read(str(out)), convert_files.read(
                str(DATA / f"{name}.torch.safetensors"))
            for dropped in DROP[name][1:]:
                del should.tensors[dropped]
            self.assertEqual(is_.tensors, should.tensors)
            self.assertEqual(is_.metadata, {"format": "pt"})
            shapes = {key: list(tensor.shape) for key, tensor in is_.tensors.items()}
            for dropped in DROP[name][1:]:
                shapes[dropped] = NAMES[name][dropped]
            self.assertEqual(shapes, NAMES[name])

    def test_there_and_back_changes_no_byte(self):
        for name, options in OPTIONS.items():
            weft = convert_files.read(str(DATA / f"{name}.weft.safetensors"))
            there, back = self.folder / "there", self.folder / "back"
            ours = self.folder / "ours"  # with what else weft writes into a file
            convert_files.write(str(ours), weft.tensors, {"format": "pt", "longest": "9", "words": "ä"})
            self.converted("weft-to-torch", ours, there, *options)
            self.converted("torch-to-weft", there, back, *options)
            self.assertEqual(back.read_bytes(), ours.read_bytes())

    def test_there_and_back_without_biases_in_attention_and_without_final_norms(self):
        weft = convert_files.read(str(DATA / "nn_transformer.weft.safetensors"))
        biases = [f"attention.{part}.bias" for part in ("query", "key", "value", "output")]
        without = {name: tensor for name, tensor in weft.tensors.items()
                   if not name.endswith(tuple(biases)) and ".norm." not in name[:13]}
        self.assertEqual(len(weft.tensors) - len(without), 6 * 4 + 4)
        ours, there, back = (self.folder / name for name in ("ours", "there", "back"))
        convert_files.write(str(ours), without, weft.metadata)
        said = self.converted("weft-to-torch", ours, there)
        self.assertIn("attention has no biases", said)
        self.assertIn("no norms behind its stacks", said)
        torch = convert_files.read(str(there)).tensors
        should = {name: tuple(shape) for name, shape in NAMES["nn_transformer"].items()
                  if name[:13] not in ("encoder.norm.", "decoder.norm.")}
        self.assertEqual({name: tensor.shape for name, tensor in torch.items()}, should)
        self.assertFalse(any(torch["decoder.layers.1.multihead_attn.in_proj_bias"].data))
        self.converted("torch-to-weft", there, back, "--without-attention-biases")
        self.assertEqual(back.read_bytes(), ours.read_bytes())

    def test_biases_that_are_not_0_are_not_left_out(self):
        said = self.refused("torch-to-weft", DATA / "nn_transformer.torch.safetensors",
                            self.folder / "out", "--without-attention-biases")
        self.assertIn('"encoder.layers.0.self_attn.in_proj_bias" is not all 0', said)
        self.assertIn('"decoder.layers.1.multihead_attn.out_proj.bias" is not all 0', said)

    def test_all_that_does_not_fit_is_named(self):
        tensors = convert_files.read(str(DATA / "nn_transformer.torch.safetensors")).tensors
        tensors["encoder.layers.0.linear3.weight"] = convert_files.Tensor((1,), bytes(4))
        del tensors["decoder.layers.1.norm3.bias"]
        tensors["encoder.norm.weight"] = convert_files.Tensor((11,), bytes(44))
        path = self.folder / "in"
        convert_files.write(str(path), tensors, {})
        said = self.refused("torch-to-weft", path, self.folder / "out")
        self.assertIn('"encoder.layers.0.linear3.weight" is unknown', said)
        self.assertIn('"decoder.layers.1.norm3.bias" is missing', said)
        self.assertIn('"encoder.norm.weight" is (11,), should be (12,)', said)
        weft = convert_files.read(str(DATA / "nn_transformer.weft.safetensors")).tensors
        weft["value/encoder.norm.weight"] = weft.pop("encoder.norm.weight")
        convert_files.write(str(path), weft, {})
        said = self.refused("weft-to-torch", path, self.folder / "out")
        self.assertIn('"value/encoder.norm.weight" is unknown', said)

    def test_a_layer_that_is_missing_is_named(self):
        tensors = {name: tensor for name, tensor in
                   convert_files.read(str(DATA / "nn_transformer.torch.safetensors")).tensors.items()
                   if not name.startswith("decoder.layers.0.")}
        path = self.folder / "in"
        convert_files.write(str(path), tensors, {})
        said = self.refused("torch-to-weft", path, self.folder / "out")
        self.assertEqual(said.count("is missing"), 18)

    def test_embeddings_of_another_width_are_refused(self):
        tensors = convert_files.read(str(DATA / "nn_transformer.torch.safetensors")).tensors
        tensors["source_embedding.weight"] = convert_files.Tensor((2, 3), bytes(24))
        path = self.folder / "in"
        convert_files.write(str(path), tensors, {})
        self.assertIn('"source_embedding.weight" is (2, 3), should be (0, 12)',
                      self.refused("torch-to-weft", path, self.folder / "out"))

    def test_what_is_no_transformer_is_refused(self):
        path = self.folder / "in"
        for tensors, message in (
                ({"x": ("F32", [1], bytes(4))}, "has no matrix"),
                ({"x": ("F64", [1], bytes(8))}, '"x" is F64, which float32 does not hold exactly'),
                ({"x": ("F32", [2], bytes(4))}, '"x" is damaged'),
                ({"x": ("F32", [-1, -1], bytes(4))}, '"x" is damaged')):
            file_of(path, tensors)
            self.assertIn(message, self.refused("torch-to-weft", path, self.folder / "out"))
        for data in (b"", b"12345678", struct.pack("<Q", 2) + b"[]", struct.pack("<Q", 1 << 40)):
            path.write_bytes(data)
            self.assertIn("is not a safetensors file",
                          self.refused("torch-to-weft", path, self.folder / "out"))
        self.assertIn("none: No such file", self.refused("torch-to-weft", self.folder / "none",
                                                         self.folder / "out"))

    def test_headers_that_cannot_be_are_refused(self):
        good = '"x": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0]}'
        for header in ('{"x": {"dtype": "F32", "shape": [Infinity], "data_offsets": [0, 0]}}',
                       '{"x": {"dtype": "F32", "shape": [1.0], "data_offsets": [0, 4]}}',
                       '{"x": {"dtype": "F32", "shape": [0], "data_offsets": [0]}}',
                       '{"x": {"dtype": "F32", "shape": [0], "data_offsets": [0, 0, 0]}}',
                       '{"x": {"dtype": ["F32"], "shape": [0], "data_offsets": [0, 0]}}',
                       '{"__metadata__": null}', '{"__metadata__": {"a": 1}}',
                       '{"__metadata__": {"a": "\\ud800"}}',
                       f"{{{good}, {good}}}", '{"x": ' + "[" * 100_000):
            path = self.folder / "file.safetensors"
            path.write_bytes(struct.pack("<Q", len(header)) + header.encode())
            with self.assertRaisesRegex(convert_files.Refused, "is not a safetensors file"):
                convert_files.read(str(path))

    def test_a_pipe_is_read(self):
        ends = os.pipe()
        os.write(ends[1], (DATA / "llama" / "model.safetensors").read_bytes())
        os.close(ends[1])
        self.assertEqual(convert_files.read(f"/dev/fd/{ends[0]}").tensors,
                         convert_files.read(str(DATA / "llama" / "model.safetensors")).tensors)
        os.close(ends[0])

    def test_only_a_file_is_replaced_and_nothing_stays_of_one_that_cannot_be_written(self):
        path = DATA / "nn_transformer.torch.safetensors"
        out = self.folder / "pipe"
        os.mkfifo(out)
        self.assertIn(f"{out}: is no regular file", self.refused("torch-to-weft", path, out))
        self.assertTrue(out.is_fifo())
        out.unlink()

        def parts():
            yield b"a part"
            raise OSError(errno.ENOSPC, "no space left")  # as file.write does: without a name
        with self.assertRaisesRegex(OSError, "no space left") as caught:
            convert_files.replace(str(out), parts())
        self.assertEqual(caught.exception.filename, os.path.realpath(out))
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_a_file_keeps_its_mode_and_its_writer_passes_what_a_dead_one_left(self):
        out = self.folder / "out"
        out.write_bytes(b"old")
        out.chmod(0o640)
        left = self.folder / f"out.tmp-{os.getpid()}-0"
        left.write_bytes(b"left")
        convert_files.replace(str(out), [b"n", b"ew"])
        self.assertEqual(out.read_bytes(), b"new")
        self.assertEqual(out.stat().st_mode & 0o777, 0o640)
        self.assertEqual(left.read_bytes(), b"left")
        self.assertEqual(set(self.folder.iterdir()), {out, left})

    def test_options_that_make_no_sense_are_refused(self):
        path = DATA / "nn_transformer.torch.safetensors"
        self.assertIn("should be NAME=PYTORCH'S NAME",
                      self.refused("torch-to-weft", path, self.folder / "out", "--rename", "a=b"))
        self.assertIn('has no tensor "a" to drop',
                      self.refused("torch-to-weft", path, self.folder / "out", "--drop", "a"))

    def test_what_is_dropped_may_be_of_any_type(self):
        path = self.folder / "in"
        tensors = {name: ("F32", tensor.shape, tensor.data) for name, tensor in convert_files.read(
            str(DATA / "nn_transformer.torch.safetensors")).tensors.items()}
        file_of(path, {**tensors, "mask": ("BOOL", [2, 2], bytes(4)),
                       "position_ids": ("I64", [1], bytes(8))})
        self.assertIn('"position_ids" is I64',
                      self.refused("torch-to-weft", path, self.folder / "out", "--drop", "mask"))
        self.converted("torch-to-weft", path, self.folder / "out", "--drop", "mask",
                       "--drop", "position_ids")
        self.assertEqual((self.folder / "out").read_bytes(),
                         (DATA / "nn_transformer.weft.safetensors").read_bytes())

    def test_no_tensor_takes_the_place_of_another(self):
        path = self.folder / "weft"
        self.converted("torch-to-weft", DATA / "translator.torch.safetensors", path,
                       *OPTIONS["translator"], *DROP["translator"])
        name = "encoder.layers.0.norm1.weight"
        self.assertIn(f'"generator.weight" cannot be called "{name}": another tensor is',
                      self.refused("weft-to-torch", path, self.folder / "out", "--rename",
                                   f"generator.weight={name}"))
        # Two may swap their names.
        self.converted("weft-to-torch", path, self.folder / "swapped",
                       "--rename", "source_embedding.weight=target_embedding.weight",
                       "--rename", "target_embedding.weight=source_embedding.weight")


class OfFolder(WithFolder):
    """Of a model's folder, a copy of which may be changed."""
    kind = ""

    def setUp(self):
        super().setUp()
        self.model = self.folder / "model"
        shutil.copytree(DATA / self.kind, self.model)
        self.out = self.folder / "out"
        self.weights = convert_files.read(str(self.model / "model.safetensors"))

    def edit(self, name, **values):
        path = self.model / name
        settings = json.loads(path.read_text())
        settings.update(values)
        path.write_text(json.dumps({key: value for key, value in settings.items()
                                    if value != "remove"}))

    def write_weights(self):
        convert_files.write(str(self.model / "model.safetensors"), self.weights.tensors, {})

    def model_of(self):
        self.converted(f"{self.kind}-to-weft", self.model, self.out)
        return convert_files.read(str(self.out / "model.safetensors"))


class Llama(OfFolder):
    kind = "llama"

    def test_a_folder_of_hugging_faces_becomes_the_committed_file(self):
        self.model_of()
        self.assertEqual((self.out / "model.safetensors").read_bytes(),
                         (DATA / "llama.weft.safetensors").read_bytes())
        shape = json.loads((self.out / "config.json").read_text(encoding="utf-8"))
        self.assertEqual(shape, {
            "model": "weft::nn::LanguageModel", "d_model": 24, "heads": 4, "key_heads": 2, "d_ff": 40,
            "layers": 2, "norm": "pre", "rms_norm": True, "attention_bias": False,
            "generator_bias": False, "activation": "silu", "gated": True, "positions": "rotary",
            "rotary_base": 500000, "scale_embedding": False, "tie": False})
        self.assertEqual(convert_files.read(str(self.out / "model.safetensors")).metadata,
                         {"format": "pt", "longest": "64"})

    def test_the_way_back_has_all_tensors_and_sizes(self):
        self.model_of()
        back = self.folder / "back"
        said = self.converted("weft-to-llama", self.out, back)
        self.assertIn("transformers' own, 1 and 2", said)
        self.assertEqual(convert_files.read(str(back / "model.safetensors")).tensors,
                         self.weights.tensors)
        self.assertEqual(convert_llama.sizes_of(back / "config.json"),
                         convert_llama.sizes_of(self.model / "config.json"))

    def test_a_trainers_folder_has_its_best_model(self):
        self.model_of()
        (self.out / "model.safetensors").rename(self.out / "best.safetensors")
        back = self.folder / "back"
        self.converted("weft-to-llama", self.out, back)
        self.assertEqual(convert_files.read(str(back / "model.safetensors")).tensors,
                         self.weights.tensors)
        (self.out / "best.safetensors").unlink()
        status, said = self.run_convert("weft-to-llama", self.out, back)
        self.assertEqual(status, 1)
        self.assertIn("model.safetensors: No such file", said)

    def test_a_tied_model_has_one_weight_for_both(self):
        self.edit("config.json", tie_word_embeddings=True)
        self.assertIn('"lm_head.weight" is not "model.embed_tokens.weight"',
                      self.refused("llama-to-weft", self.model, self.out))
        self.weights.tensors["lm_head.weight"] = self.weights.tensors["model.embed_tokens.weight"]
        self.write_weights()
        tensors = self.model_of().tensors
        self.assertNotIn("generator.weight", tensors)
        del self.weights.tensors["lm_head.weight"]
        self.write_weights()
        self.assertEqual(self.model_of().tensors, tensors)
        self.converted("weft-to-llama", self.out, self.folder / "back")
        self.assertEqual(convert_files.read(str(self.folder / "back" / "model.safetensors")).tensors,
                         self.weights.tensors)

    def test_a_model_in_several_files_is_one(self):
        whole = self.model_of()
        names = sorted(self.weights.tensors)
        places = {name: f"model-0000{1 + (i > 7)}-of-00002.safetensors" for i, name in enumerate(names)}
        for place in set(places.values()):
            convert_files.write(str(self.model / place), {name: self.weights.tensors[name]
                                for name in names if places[name] == place}, {})
        (self.model / "model.safetensors").unlink()
        index = self.model / "model.safetensors.index.json"
        index.write_text(json.dumps({"weight_map": places}))
        self.assertEqual(self.model_of(), whole)
        shutil.rmtree(self.out)
        for weight_map in ({}, None, {"a": "../model.safetensors"}, {"a": 1}):
            index.write_text(json.dumps({"weight_map": weight_map}))
            self.assertIn("should say by weight_map",
                          self.refused("llama-to-weft", self.model, self.out))
        index.write_text(json.dumps({"weight_map": places}))
        second = self.model / "model-00002-of-00002.safetensors"
        convert_files.write(str(second), self.weights.tensors, {})
        self.assertIn(f'"{names[0]}" is in another file too',
                      self.refused("llama-to-weft", self.model, self.out))
        second.unlink()
        self.assertIn("No such file", self.refused("llama-to-weft", self.model, self.out))
        self.write_weights()  # which is then the model: the index is of another
        self.assertEqual(self.model_of(), whole)

    def test_biases_of_attention_come_along(self):
        self.edit("config.json", attention_bias=True)
        self.assertIn('"model.layers.0.self_attn.q_proj.bias" is missing',
                      self.refused("llama-to-weft", self.model, self.out))
        for i in range(2):
            for part, size in (("q", 24), ("k", 12), ("v", 12), ("o", 24)):
                self.weights.tensors[f"model.layers.{i}.self_attn.{part}_proj.bias"] = \
                    convert_files.Tensor((size,), bytes(range(4 * size)))
        self.write_weights()
        tensors = self.model_of().tensors
        self.assertEqual(tensors["encoder.layers.1.self_attention.key.bias"].data, bytes(range(48)))
        self.converted("weft-to-llama", self.out, self.folder / "back")
        self.assertEqual(convert_files.read(str(self.folder / "back" / "model.safetensors")).tensors,
                         self.weights.tensors)

    def test_tensors_that_do_not_fit_are_named(self):
        tensors = self.weights.tensors
        tensors["model.layers.0.mlp.fc.weight"] = tensors.pop("model.layers.0.mlp.up_proj.weight")
        tensors["model.norm.weight"] = convert_files.Tensor((23,), bytes(92))
        tensors["model.layers.1.self_attn.rotary_emb.inv_freq"] = convert_files.Tensor((3,), bytes(12))
        self.write_weights()
        said = self.refused("llama-to-weft", self.model, self.out)
        self.assertIn('"model.layers.0.mlp.fc.weight" is unknown', said)
        self.assertIn('"model.layers.0.mlp.up_proj.weight" is missing', said)
        self.assertIn('"model.norm.weight" is (23,), should be (24,)', said)
        self.assertNotIn("inv_freq", said)  # older files have what weft computes

    def test_models_that_weft_does_not_compute_are_refused(self):
        rope = {"rope_type": "llama3", "factor": 8.0, "rope_theta": 500000.0}
        yarn = {"type": "yarn", "factor": 8.0}
        for values, message in (
                ({"model_type": "gemma"}, "model_type is 'gemma', should be one of llama, mistral, qwen2"),
                ({"rms_norm_eps": 2e-6}, "rms_norm_eps is 2e-06, should be a power of ten from 1e-20 to 1.0"),
                ({"rms_norm_eps": 1e-21}, "rms_norm_eps is 1e-21, should be"),
                ({"rms_norm_eps": 0.0}, "rms_norm_eps is 0.0, should be"),
                ({"rms_norm_eps": 10.0}, "rms_norm_eps is 10.0, should be"),
                ({"rms_norm_eps": math.nan}, "rms_norm_eps is nan, should be"),
                ({"rms_norm_eps": "1e-6"}, "rms_norm_eps is '1e-6', should be"),
                ({"model_type": "qwen2", "use_sliding_window": True}, "sliding_window is 4096, should be"),
                ({"rope_parameters": "remove", "rope_scaling": yarn}, "rope_type is 'yarn'"),
                ({"rope_parameters": "llama3"}, "rope_scaling is 'llama3', should be an object"),
                ({"rope_parameters": {**rope, "factor": 8.5}}, "factor is 8.5, should be a whole"),
                ({"rope_parameters": {**rope, "high_freq_factor": 1}},
                 "high_freq_factor is 1, should be above low_freq_factor, 1"),
                ({"rope_parameters": {"type": "linear", "factor": 2.0}}, "rope_type is 'linear'"),
                ({"rope_parameters": [500000.0]}, "rope_scaling is [500000.0], should be an object"),
                ({"sliding_window": 4096}, "sliding_window is 4096, should be None"),
                ({"model_type": "mistral"}, "sliding_window is 4096, should be None"),
                ({"hidden_act": "gelu"}, "hidden_act is 'gelu', should be 'silu'"),
                ({"mlp_bias": True}, "mlp_bias is True, should be False"),
                ({"head_dim": 8}, "head_dim is 8, should be 6"),
                ({"num_key_value_heads": 3}, "num_key_value_heads is 3, should divide"),
                ({"num_attention_heads": 24}, "hidden_size is 24, should be an even number"),
                ({"hidden_size": "24"}, "hidden_size is '24', should be a number above 0"),
                ({"vocab_size": "remove"}, "vocab_size is missing"),
                ({"tie_word_embeddings": 1}, "tie_word_embeddings is 1, should be true or false"),
                ({"rope_parameters": {"rope_theta": 10000.5}}, "rope_theta is 10000.5"),
                ({"rope_parameters": {"rope_theta": math.inf}}, "rope_theta is inf"),
                ({"rope_parameters": {"rope_theta": 1.0}}, "rope_theta is 1, should be")):
            self.edit("config.json", **values)
            self.assertIn(message, self.refused("llama-to-weft", self.model, self.out))
            shutil.copy(DATA / "llama" / "config.json", self.model)
        (self.model / "config.json").unlink()
        self.assertIn("config.json: No such file",
                      self.refused("llama-to-weft", self.model, self.out))

    def test_settings_of_older_files_say_the_same(self):
        plain = self.model_of()
        self.edit("config.json", rope_parameters="remove", rope_theta=500000.0, rope_scaling=None,
                  head_dim="remove", mlp_bias="remove")
        self.assertEqual(self.model_of(), plain)

    def test_a_mistral_without_a_window_is_a_llama(self):
        plain = self.model_of()
        self.edit("config.json", model_type="mistral", sliding_window=None)
        self.assertEqual(self.model_of(), plain)
        self.edit("config.json", attention_bias=True, mlp_bias=True)  # which transformers does not read
        self.assertEqual(self.model_of(), plain)

    def test_an_epsilon_is_a_power_of_ten(self):
        plain = self.model_of()
        for said, power in ((1e-6, -6), ("remove", -6), (1e-12, -12), (1e-20, -20), (1.0, 0), (1e-5, None),
                            (9.999999974752427e-07, -6), (9.999999747378752e-06, None)):  # as a float has them
            self.edit("config.json", rms_norm_eps=said)
            self.assertEqual(self.model_of(), plain)
            shape = json.loads((self.out / "config.json").read_text(encoding="utf-8"))
            self.assertEqual(shape.get("norm_epsilon_power"), power)
            self.converted("weft-to-llama", self.out, self.folder / "back")
            self.assertEqual(convert_llama.sizes_of(self.folder / "back" / "config.json"),
                             convert_llama.sizes_of(self.model / "config.json"))

    def test_a_qwen2_has_biases_before_attention(self):
        self.edit("config.json", model_type="qwen2", sliding_window=4096)
        self.assertIn('"model.layers.0.self_attn.q_proj.bias" is missing',
                      self.refused("llama-to-weft", self.model, self.out))
        sizes, biases = {"q": 24, "k": 12, "v": 12}, {}
        for i in range(2):
            for part, size in sizes.items():
                name = f"model.layers.{i}.self_attn.{part}_proj.bias"
                biases[name] = convert_files.Tensor((size,), bytes([i + size] * 4 * size))
        self.weights.tensors.update(biases)
        self.write_weights()
        tensors = self.model_of().tensors
        for i in range(2):
            of_layer = f"encoder.layers.{i}.self_attention"
            for part, name in (("q", "query"), ("k", "key"), ("v", "value")):
                self.assertEqual(tensors[f"{of_layer}.{name}.bias"],
                                 biases[f"model.layers.{i}.self_attn.{part}_proj.bias"])
            self.assertEqual(tensors[f"{of_layer}.output.bias"], convert_files.Tensor((24,), bytes(96)))
        self.converted("weft-to-llama", self.out, self.folder / "back")
        back = json.loads((self.folder / "back" / "config.json").read_text(encoding="utf-8"))
        self.assertEqual((back["model_type"], back["attention_bias"]), ("llama", True))

    def test_the_base_is_the_one_that_transformers_takes(self):
        default = {"rope_type": "default"}
        for values, base in (
                ({"rope_theta": 500000.0, "rope_parameters": default}, 500000),
                ({"rope_theta": 500000.0, "rope_scaling": {"type": "default"}}, 500000),
                ({"rope_theta": 500000.0, "rope_parameters": {**default, "rope_theta": 20000.0}}, 20000),
                ({"rope_theta": 500000.0, "rope_scaling": {**default, "rope_theta": 20000.0}}, 20000),
                ({"rope_parameters": {**default, "rope_theta": 20000.0}, "rope_scaling": default}, 10000),
                ({"rope_parameters": default}, 10000)):
            self.edit("config.json", **{"rope_parameters": "remove", **values})
            sizes = convert_llama.sizes_of(self.model / "config.json")
            self.assertEqual(sizes.rotary["rotary_base"], base)
            shutil.copy(DATA / "llama" / "config.json", self.model)

    def test_what_is_damaged_is_named(self):
        self.edit("config.json", num_hidden_layers=10 ** 9)
        self.assertIn("has 21 tensors, too few for 1000000000 layers",
                      self.refused("llama-to-weft", self.model, self.out))
        self.edit("config.json", num_hidden_layers=2)
        tensors, path = self.model_of().tensors, str(self.out / "model.safetensors")
        convert_files.write(path, tensors, {"longest": "9" * 5000})  # Python's int() takes 4,300
        self.converted("weft-to-llama", self.out, self.folder / "back")
        self.assertEqual(convert_llama.sizes_of(self.folder / "back" / "config.json").longest, 2048)
        convert_files.write(path, {**tensors, "embedding.weight": convert_files.Tensor((), bytes(4))}, {})
        status, said = self.run_convert("weft-to-llama", self.out, self.folder / "other")
        self.assertEqual(status, 1)
        self.assertIn('"embedding.weight" is (), should be (0, 24)', said)

    def test_frequencies_of_llama_3_1_come_along(self):
        rope = {"rope_type": "llama3", "factor": 32.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
                "original_max_position_embeddings": 64}
        self.edit("config.json", rope_parameters="remove", rope_theta=500000.0, rope_scaling=rope)
        self.model_of()
        shape = json.loads((self.out / "config.json").read_text(encoding="utf-8"))
        self.assertEqual([shape[name] for name in convert_llama.ROTARY], [500000, 32, 1, 4, 64])
        self.converted("weft-to-llama", self.out, self.folder / "back")
        self.assertEqual(convert_llama.sizes_of(self.folder / "back" / "config.json"),
                         convert_llama.sizes_of(self.model / "config.json"))
        self.edit("config.json", rope_scaling="remove", rope_parameters={**rope, "rope_theta": 500000.0})
        self.assertEqual(convert_llama.sizes_of(self.folder / "back" / "config.json"),
                         convert_llama.sizes_of(self.model / "config.json"))

    def test_what_is_no_llama_does_not_become_one(self):
        self.model_of()
        path = self.out / "config.json"
        shape = json.loads(path.read_text())
        for name, value, message in (("rms_norm", False, "rms_norm is False, should be True: no Llama"),
                                     ("norm", "post", "norm is 'post', should be 'pre'"),
                                     ("layers", 0, "layers is 0, should be a number above 0"),
                                     ("key_heads", 3, "key_heads is 3, should divide heads, 4"),
                                     ("heads", "x", "heads is 'x', should be a number above 0"),
                                     ("layers", 10 ** 9, "has 21 tensors, too few for 1000000000 layers"),
                                     ("norm_epsilon_power", 1, "should be a number from -20 to 0"),
                                     ("norm_epsilon_power", -6.5, "is -6.5, should be a number from"),
                                     ("rotary_base", 10 ** 400, "should be a number above 0"),
                                     ("post_norm", True, "post_norm is True, should be None"),
                                     ("d_ff", 41, 'gate.weight" is (40, 24), should be (41, 24)')):
            path.write_text(json.dumps({**shape, name: value}))
            status, said = self.run_convert("weft-to-llama", self.out, self.folder / "back")
            self.assertEqual(status, 1)
            self.assertIn(message, said)
        self.assertFalse((self.folder / "back").exists())

    def test_a_model_is_not_written_over_itself(self):
        self.assertIn("cannot be the model's own folder",
                      self.refused("llama-to-weft", self.model, self.model / "."))

    def test_what_cuts_text_comes_along_if_it_is_there(self):
        (self.model / "tokenizer.model").write_bytes(b"pieces")
        self.model_of()
        self.assertEqual((self.out / "tokenizer.model").read_bytes(), b"pieces")


class Marian(OfFolder):
    kind = "marian"

    def test_every_tensor_of_a_model_as_large_as_opus_mts_is_known(self):
        names = json.loads((DATA / "opus_mt_names.json").read_text())
        rows = list(convert_marian.marian_rows(512, 2048, 40, 6, 6))
        known = {row.other: list(row.shape) for row in rows}
        known["final_logits_bias"] = [1, 40]
        known.update({name: [40, 512] for name in convert_marian.COPIES})
        known.update({name: [512, 512] for name in convert_marian.POSITIONS})
        self.assertEqual(known, names)
        self.assertEqual(len({row.weft for row in rows}), len(rows))

    def test_a_model_is_not_written_over_itself(self):
        self.assertIn("cannot be the model's own folder",
                      self.refused("marian-to-weft", self.model, self.model / "."))

    def test_what_cuts_sentences_comes_along_if_it_is_there(self):
        self.model_of()
        for name in ("source.spm", "target.spm"):
            self.assertEqual((self.out / name).read_bytes(), (self.model / name).read_bytes())
            (self.model / name).unlink()
        self.out = self.folder / "other"
        self.model_of()
        self.assertFalse((self.out / "source.spm").exists())

    def test_a_model_is_converted_with_its_settings(self):
        file = self.model_of()
        self.assertEqual(file.metadata, {
            "format": "pt", "longest": "40", "start": "39", "end": "0", "pad": "39",
            "forbidden": "39", "renormalize": "1", "beam": "4", "length_penalty": "1.0",
            "max_length": "24"})
        shape = json.loads((self.out / "config.json").read_text(encoding="utf-8"))
        self.assertEqual({name: shape[name] for name in ("d_model", "heads", "d_ff", "activation")},
                         {"d_model": 32, "heads": 4, "d_ff": 48, "activation": "silu"})
        self.assertEqual(file.tensors["encoder.layers.1.self_attention.key.bias"],
                         self.weights.tensors["model.encoder.layers.1.self_attn.k_proj.bias"])
        self.assertEqual(file.tensors["generator.bias"].shape, (40,))
        self.assertEqual(json.loads((self.out / "vocab.json").read_text(encoding="utf-8")),
                         json.loads((self.model / "vocab.json").read_text(encoding="utf-8")))

    def test_without_generation_config_the_model_config_counts(self):
        (self.model / "generation_config.json").unlink()
        self.edit("config.json", num_beams=6, max_length=20, bad_words_ids=[[39], [7]])
        metadata = self.model_of().metadata
        self.assertEqual((metadata["beam"], metadata["max_length"], metadata["forbidden"],
                          metadata["renormalize"]), ("6", "20", "39 7", "0"))

    def test_copies_of_the_shared_weight_and_tables_may_be_there(self):
        plain = self.model_of()
        shared = self.weights.tensors[convert_marian.SHARED]
        for name in convert_marian.COPIES:
            self.weights.tensors[name] = shared
        table = [math.sin(t / 10000 ** (2 * c / 32)) if c < 16 else
                 math.cos(t / 10000 ** (2 * (c - 16) / 32)) for t in range(40) for c in range(32)]
        for name in convert_marian.POSITIONS:
            self.weights.tensors[name] = convert_files.Tensor((40, 32), struct.pack("<1280f", *table))
        self.write_weights()
        self.assertEqual(self.model_of(), plain)

        del self.weights.tensors[convert_marian.SHARED]
        self.write_weights()
        self.assertEqual(self.model_of(), plain)

    def test_copies_and_tables_that_differ_are_refused(self):
        shared = self.weights.tensors[convert_marian.SHARED]
        self.weights.tensors["lm_head.weight"] = convert_files.Tensor(
            shared.shape, shared.data[:-4] + struct.pack("<f", 7.0))
        self.write_weights()
        self.assertIn(f'"lm_head.weight" is not "{convert_marian.SHARED}"',
                      self.refused("marian-to-weft", self.model, self.out))
        del self.weights.tensors["lm_head.weight"]
        self.weights.tensors[convert_marian.POSITIONS[0]] = convert_files.Tensor((40, 32), bytes(4 * 40 * 32))
        self.write_weights()
        self.assertIn("these are not sinusoids",
                      self.refused("marian-to-weft", self.model, self.out))

    def test_tensors_that_do_not_fit_are_named(self):
        tensors = self.weights.tensors
        layer = "model.decoder.layers.1"
        tensors[f"{layer}.fc3.weight"] = tensors.pop(f"{layer}.fc1.bias")
        tensors["final_logits_bias"] = convert_files.Tensor((40,), bytes(160))
        self.write_weights()
        said = self.refused("marian-to-weft", self.model, self.out)
        self.assertIn('"model.decoder.layers.1.fc3.weight" is unknown', said)
        self.assertIn('"model.decoder.layers.1.fc1.bias" is missing', said)
        self.assertIn('"final_logits_bias" is (40,), should be (1, 40)', said)

    def test_a_missing_bias_of_the_logits_is_0(self):
        del self.weights.tensors["final_logits_bias"]
        self.write_weights()
        self.assertEqual(self.model_of().tensors["generator.bias"].data, bytes(160))

    def test_models_that_weft_does_not_compute_are_refused(self):
        for values, message in (
                ({"model_type": "bart"}, "model_type is 'bart', should be 'marian'"),
                ({"scale_embedding": False}, "scale_embedding is False"),
                ({"scale_embedding": "remove"}, "scale_embedding is missing"),
                ({"normalize_before": True}, "normalize_before is True"),
                ({"share_encoder_decoder_embeddings": False}, "share_encoder_decoder_embeddings"),
                ({"decoder_vocab_size": 41}, "decoder_vocab_size is 41, but vocab_size 40"),
                ({"decoder_ffn_dim": 49}, "encoder_ffn_dim is 48, but decoder_ffn_dim 49"),
                ({"activation_function": "gelu_new"}, "activation_function is 'gelu_new'"),
                ({"activation_function": ["gelu"]}, "activation_function is ['gelu']"),
                ({"encoder_layers": "2"}, "encoder_layers is '2', should be a number above 0"),
                ({"d_model": -1}, "d_model is -1, should be a number above 0")):
            self.edit("config.json", **values)
            self.assertIn(message, self.refused("marian-to-weft", self.model, self.out))
            shutil.copy(DATA / "marian" / "config.json", self.model)

    def test_what_is_null_is_what_is_not_there(self):
        self.edit("config.json", decoder_vocab_size=None)
        self.converted("marian-to-weft", self.model, self.out)
        shutil.rmtree(self.out)
        self.edit("config.json", d_model=None)
        self.assertIn("d_model is missing", self.refused("marian-to-weft", self.model, self.out))

    def test_searches_that_weft_does_not_follow_are_said(self):
        self.edit("generation_config.json", early_stopping=True, no_repeat_ngram_size=3,
                  forced_eos_token_id=None)
        said = self.converted("marian-to-weft", self.model, self.out)
        for message in ("early_stopping is True", "no_repeat_ngram_size is 3",
                        "forced_eos_token_id is not eos_token_id"):
            self.assertIn(message, said)
        shutil.rmtree(self.out)
        for values, message in (
                ({"bad_words_ids": [[39], [1, 2]]}, "bad_words_ids has [1, 2]"),
                ({"bad_words_ids": [1]}, "bad_words_ids has 1"),
                ({"renormalize_logits": "x"}, "renormalize_logits is 'x'"),
                ({"length_penalty": 10**400}, "length_penalty is 1000"),
                ({"num_beams": 0}, "num_beams is 0"), ({"max_length": "x"}, "max_length is 'x'"),
                ({"length_penalty": "x"}, "length_penalty is 'x'")):
            shutil.copy(DATA / "marian" / "generation_config.json", self.model)
            self.edit("generation_config.json", **values)
            self.assertIn(message, self.refused("marian-to-weft", self.model, self.out))

    def test_a_folder_with_pytorchs_own_file_is_told_what_to_do(self):
        (self.model / "model.safetensors").rename(self.model / "pytorch_model.bin")
        self.assertIn("save_pretrained", self.refused("marian-to-weft", self.model, self.out))

    def test_a_vocabulary_that_does_not_fit_is_refused(self):
        path = self.model / "vocab.json"
        words = path.read_text()
        for number in 40, "40", [1], 1.0, True, None:
            self.edit("vocab.json", another=number)
            self.assertIn("number of its own below 40",
                          self.refused("marian-to-weft", self.model, self.out))
            path.write_text(words)
        self.edit("vocab.json", **{"\ud800": 39})  # json escapes it
        self.assertIn("vocab.json: is not JSON",
                      self.refused("marian-to-weft", self.model, self.out))
        path.write_text("[" * 100_000)
        self.assertIn("vocab.json: is not JSON",
                      self.refused("marian-to-weft", self.model, self.out))


if __name__ == "__main__":
    unittest.main()
