// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file The kernels of a module of PTX, from its text.
#pragma once

#include <algorithm>
#include <cctype>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "arithmetic.hpp"
#include "program.hpp"
#include "statements.hpp"
#include "together.hpp"
#include "warpgroup.hpp"

namespace emulator {

//! Bytes of a type such as `.f32`, without the point; 0: a predicate.
inline unsigned bytes_of(std::string_view type) {
  if (type == "pred") return 0;
  const auto digits = type.substr(1);
  if (digits == "8") return 1;
  if (digits == "16") return 2;
  if (digits == "32") return 4;
  if (digits == "64") return 8;
  unknown("type " + std::string(type));
}

inline std::size_t number_of(std::string_view digits) {
  std::size_t number = 0;
  std::from_chars(digits.data(), digits.data() + digits.size(), number);
  return number;
}

//! A variable of a module or a kernel: `.shared .align 4 .b8 name[16]`.
struct Variable {
  std::string_view name;
  std::size_t bytes = 0, alignment = 1;
  bool has_size = true;
};

inline Variable variable_of(std::string_view declaration) {
  Variable variable;
  std::size_t element = 1;
  std::vector<std::string_view> words;
  for (std::size_t i = 0; i < declaration.size();) {
    const auto end = std::min(declaration.find_first_of(" \t\n", i), declaration.size());
    if (end > i) words.push_back(declaration.substr(i, end - i));
    i = end + 1;
  }
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (words[i] == ".align") {
      variable.alignment = number_of(words[++i]);
    } else if (words[i].starts_with(".") && words[i].size() <= 4) {
      element = bytes_of(words[i].substr(1));
    } else if (!words[i].starts_with(".")) {
      const auto bracket = words[i].find('[');
      variable.name = words[i].substr(0, bracket);
      const auto count = bracket == std::string_view::npos ? "1" : words[i].substr(bracket + 1);
      variable.has_size = count != "]";
      variable.bytes = element * number_of(count);
      break;
    }
  }
  variable.alignment = std::max(variable.alignment, element);
  return variable;
}

//! Turns one kernel's statements into instructions.
class Decoder {
 public:
  Decoder(Kernel& kernel, const std::map<std::string_view, Variable>& shared,
          const std::map<std::string_view, std::uint64_t>& globals)
      : kernel_(kernel), globals_(globals), module_shared_(shared) {
    scopes_.emplace_back();
  }

  void add_parameter(std::string_view declaration) {
    const Variable parameter = variable_of(declaration);
    auto& bytes = kernel_.parameters;
    bytes = (bytes + parameter.alignment - 1) / parameter.alignment * parameter.alignment;
    symbols_[parameter.name] = bytes;
    kernel_.parameter_offsets.push_back(bytes);
    kernel_.parameter_bytes.push_back(parameter.bytes);
    bytes += parameter.bytes;
  }

  //! The statements between the kernel's braces.
  void decode(const std::vector<std::string_view>& statements) {
    place_shared(statements);
    for (const auto statement : statements) {
      if (statement == "{" || statement == "}" || statement.ends_with(':')) products_.clear();
      if (statement == "{") {
        scopes_.emplace_back();
      } else if (statement == "}") {
        scopes_.pop_back();
      } else if (statement.ends_with(':')) {
        labels_[statement.substr(0, statement.size() - 1)] =
            static_cast<std::uint32_t>(kernel_.instructions.size());
      } else if (statement.starts_with(".reg")) {
        declare_registers(statement.substr(4));
      } else if (statement.starts_with(".local")) {
        const Variable variable = variable_of(statement);
        kernel_.local_bytes = (kernel_.local_bytes + 15) / 16 * 16;
        symbols_[variable.name] = kernel_.local_bytes;
        kernel_.local_bytes += (variable.bytes + 15) / 16 * 16;
      } else if (!statement.starts_with(".")) {
        add_instruction(statement);
      } else if (!statement.starts_with(".pragma") && !statement.starts_with(".shared")) {
        unknown(std::string(statement));
      }
    }
    for (const auto& [instruction, label] : branches_) {
      const auto found = labels_.find(label);
      if (found == labels_.end()) unknown("label " + std::string(label));
      kernel_.instructions[instruction].target = found->second;
    }
    fill_registers();
  }

 private:
  struct Register {
    std::uint32_t place;
    unsigned bytes;
  };
  struct Range {
    Register first;
    std::size_t count;
  };

  std::uint32_t new_register(unsigned bytes) {
    const auto place = static_cast<std::uint32_t>(register_bytes_);
    register_bytes_ += bytes == 0 ? sizeof(Mask) : bytes * warp_size;
    return place;
  }
  //! The registers of a width begin at cache lines.
  void align_registers(unsigned bytes) {
    if (bytes != 0) register_bytes_ = (register_bytes_ + 63) / 64 * 64;
  }

  void declare_registers(std::string_view declaration) {
    declaration = trimmed(declaration);
    const auto blank = declaration.find_first_of(" \t");
    const unsigned bytes = bytes_of(declaration.substr(1, blank - 1));
    for (const auto name : parts_of(declaration.substr(blank))) {
      align_registers(bytes);
      const auto bracket = name.find('<');
      const std::size_t count =
          bracket == std::string_view::npos ? 1 : number_of(name.substr(bracket + 1));
      const auto place = new_register(bytes);
      for (std::size_t i = 1; i < count; ++i) new_register(bytes);
      scopes_.back()[std::string(name.substr(0, bracket)) +
                     (bracket == std::string_view::npos ? "" : "<")] = {{place, bytes}, count};
    }
  }

  std::optional<Register> find_register(std::string_view name) const {
    const auto digits = name.find_last_not_of("0123456789") + 1;
    const std::string of_range = std::string(name.substr(0, digits)) + "<";
    for (auto scope = scopes_.rbegin(); scope != scopes_.rend(); ++scope) {
      if (const auto found = scope->find(std::string(name)); found != scope->end())
        return found->second.first;
      if (digits == name.size()) continue;
      const auto found = scope->find(of_range);
      if (found == scope->end()) continue;
      const auto [first, count] = found->second;
      const auto number = number_of(name.substr(digits));
      if (number >= count) unknown("register " + std::string(name));
      const std::size_t stride = first.bytes == 0 ? sizeof(Mask) : first.bytes * warp_size;
      return Register{first.place + static_cast<std::uint32_t>(number * stride), first.bytes};
    }
    return std::nullopt;
  }

  //! Registers begin as NaN, those of constants as these.
  void fill_registers() {
    auto& registers = kernel_.registers;
    registers.assign((register_bytes_ + 63) / 64 * 64, std::byte{0xff});
    for (const auto& [constant, place] : constants_) {
      const auto& [value, bytes] = constant;
      for (unsigned lane = 0; lane < warp_size; ++lane) {
        std::memcpy(registers.data() + place + lane * bytes, &value, bytes);
      }
    }
  }

  //! The static shared memory that a kernel names, then what its launch gives.
  void place_shared(const std::vector<std::string_view>& statements) {
    auto all = module_shared_;
    for (const auto statement : statements) {
      if (!statement.starts_with(".shared")) continue;
      const Variable variable = variable_of(statement);
      all[variable.name] = variable;
    }
    std::vector<const Variable*> launched;
    for (const auto& [name, variable] : all) {
      const auto names = [&](std::string_view statement) {
        return statement.find(name) != std::string_view::npos;
      };
      if (std::none_of(statements.begin(), statements.end(), names)) continue;
      if (!variable.has_size) {
        launched.push_back(&variable);
        continue;
      }
      auto& bytes = kernel_.static_shared_bytes;
      bytes = (bytes + variable.alignment - 1) / variable.alignment * variable.alignment;
      symbols_[name] = bytes;
      bytes += variable.bytes;
    }
    std::size_t alignment = 16;
    for (const Variable* variable : launched) alignment = std::max(alignment, variable->alignment);
    auto& bytes = kernel_.static_shared_bytes;
    bytes = (bytes + alignment - 1) / alignment * alignment;
    for (const Variable* variable : launched) symbols_[variable->name] = bytes;
  }

  std::uint32_t constant(std::uint64_t value, unsigned bytes) {
    const auto found = constants_.find({value, bytes});
    if (found != constants_.end()) return found->second;
    align_registers(bytes);
    const auto place = new_register(bytes);
    constants_[{value, bytes}] = place;
    return place;
  }

  std::optional<std::uint64_t> literal(std::string_view text) const {
    if (text.starts_with("0f") || text.starts_with("0F") || text.starts_with("0d") ||
        text.starts_with("0D")) {
      return std::strtoull(std::string(text.substr(2)).c_str(), nullptr, 16);
    }
    if (!text.empty() &&
        (std::isdigit(static_cast<unsigned char>(text[0])) != 0 || text[0] == '-')) {
      const std::string digits(text);
      return text[0] == '-' ? static_cast<std::uint64_t>(std::strtoll(digits.c_str(), nullptr, 0))
                            : std::strtoull(digits.c_str(), nullptr, 0);
    }
    if (const auto symbol = symbols_.find(text); symbol != symbols_.end()) return symbol->second;
    if (const auto global = globals_.find(text); global != globals_.end()) return global->second;
    return std::nullopt;
  }

  std::optional<Special> special(std::string_view name) const {
    static const std::map<std::string_view, Special> names{
        {"%tid.x", Special::thread_x},    {"%tid.y", Special::thread_y},
        {"%tid.z", Special::thread_z},    {"%ctaid.x", Special::block_x},
        {"%ctaid.y", Special::block_y},   {"%ctaid.z", Special::block_z},
        {"%ntid.x", Special::threads_x},  {"%ntid.y", Special::threads_y},
        {"%ntid.z", Special::threads_z},  {"%nctaid.x", Special::blocks_x},
        {"%nctaid.y", Special::blocks_y}, {"%nctaid.z", Special::blocks_z},
        {"%laneid", Special::lane},       {"%lanemask_le", Special::lanes_to_here}};
    const auto found = names.find(name);
    return found == names.end() ? std::nullopt : std::optional(found->second);
  }

  //! Where an operand of this width is. `any_width`: a register may be wider.
  Register operand(std::string_view text, unsigned bytes, bool any_width = false) {
    if (const auto found = find_register(text)) {
      if (found->bytes != bytes && !any_width) unknown("width of register " + std::string(text));
      return *found;
    }
    if (const auto number = special(text)) {
      if (bytes != 4) unknown("width of " + std::string(text));
      for (const auto& [place, known] : kernel_.specials) {
        if (known == *number) return {place, 4};
      }
      align_registers(4);
      const auto place = new_register(4);
      kernel_.specials.emplace_back(place, *number);
      return {place, 4};
    }
    if (bytes == 0 && literal(text)) {
      align_registers(4);
      return {constant(*literal(text) != 0 ? all_lanes : 0, 4), 0};
    }
    if (const auto value = literal(text)) return {constant(*value, bytes), bytes};
    unknown("operand " + std::string(text));
  }

  //! `[register + offset]` or `[symbol + offset]`.
  std::uint32_t address(Instruction& now, std::string_view text) {
    text = trimmed(text.substr(1, text.size() - 2));
    const auto plus = text.find('+');
    if (plus != std::string_view::npos) {
      now.offset = std::strtoll(std::string(trimmed(text.substr(plus + 1))).c_str(), nullptr, 0);
      text = trimmed(text.substr(0, plus));
    }
    const Register base = operand(text, 8, true);
    now.address_bytes = base.bytes;
    return base.place;
  }

  static std::vector<std::string_view> elements_of(std::string_view text) {
    return text.starts_with('{') ? parts_of(text.substr(1, text.size() - 2)) : std::vector{text};
  }

  //! ptxas makes one instruction, which rounds once, of a product and the sum that takes it, unless
  //! they say how they round (`mul.rn`): so does this, between two labels or branches.
  void fuse(std::string_view& name, std::vector<std::string_view>& operands) {
    if (name != "add.f32" && name != "sub.f32") return;
    for (const std::size_t taken : {std::size_t{1}, std::size_t{2}}) {
      const auto product = products_.find(operands[taken]);
      if (product == products_.end()) continue;
      const auto [a, b] = product->second;
      name = name == "add.f32" ? "fma.rn.f32"
             : taken == 1      ? "product.minus.f32"
                               : "minus.product.f32";
      operands = {operands[0], a, b, operands[3 - taken]};
      return;
    }
  }

  //! Keeps in mind what is a product, as long as it and its factors are what they were.
  void note(std::string_view name, bool is_guarded, const std::vector<std::string_view>& operands) {
    if (name.starts_with("bra")) products_.clear();
    if (operands.empty()) return;
    for (auto changed : elements_of(operands[0])) {
      changed = changed.substr(0, changed.find('|'));  // a predicate may follow
      std::erase_if(products_, [&](const auto& known) {
        const auto& [product, factors] = known;
        return product == changed || factors.first == changed || factors.second == changed;
      });
    }
    if (name != "mul.f32" || is_guarded) return;
    if (operands[0] == operands[1] || operands[0] == operands[2]) return;
    products_[operands[0]] = {operands[1], operands[2]};
  }

  void add_instruction(std::string_view statement) {
    Instruction now;
    now.text = statement;
    if (statement.starts_with('@')) {
      const auto blank = statement.find_first_of(" \t");
      now.guard_is_negated = statement[1] == '!';
      now.guard = operand(statement.substr(now.guard_is_negated ? 2 : 1,
                                           blank - (now.guard_is_negated ? 2 : 1)),
                          0)
                      .place;
      statement = trimmed(statement.substr(blank));
    }
    const auto blank = std::min(statement.find_first_of(" \t"), statement.size());
    auto name = statement.substr(0, blank);
    auto operands = parts_of(statement.substr(blank));
    if (name == "mov.b32" && operands[1].starts_with('{')) {
      const auto halves = elements_of(operands[1]);
      operands = {operands[0], halves.at(0), halves.at(1)};
      name = "mov.b32.halves";
    }
    fuse(name, operands);
    note(name, now.guard != Instruction::no_register, operands);
    static const auto table = arithmetic();
    if (const auto found = table.find(name); found != table.end()) {
      const Operation& operation = found->second;
      if (name.starts_with("mov.b") &&
          (operands[0].starts_with('{') || operands[1].starts_with('{'))) {
        unknown(std::string(statement));
      }
      if (operands.size() != operation.bytes.size()) unknown(std::string(statement));
      for (std::size_t i = 0; i < operands.size(); ++i) {
        now.operands[i] = operand(operands[i], operation.bytes[i]).place;
      }
      now.run = operation.run;
      now.kind = operation.kind;
    } else if (name.starts_with("ld.")) {
      decode_load(now, name, operands);
    } else if (name.starts_with("st.")) {
      decode_store(now, name, operands);
    } else if (name.starts_with("atom.")) {
      decode_atomic(now, name, operands);
    } else if (!decode_control(now, name, operands) && !decode_together(now, name, operands) &&
               !decode_warpgroup(now, name, operands)) {
      unknown(std::string(statement));
    }
    kernel_.instructions.push_back(now);
  }

  struct Transfer {
    Space space = Space::global;
    std::string_view type;
    unsigned elements = 1;
  };
  static Transfer transfer_of(std::string_view name) {
    Transfer transfer;
    for (std::size_t begin = name.find('.'); begin != std::string_view::npos;) {
      const auto end = name.find('.', begin + 1);
      const auto part =
          name.substr(begin + 1, end == std::string_view::npos ? end : end - begin - 1);
      if (part == "param")
        transfer.space = Space::parameters;
      else if (part == "local")
        transfer.space = Space::local;
      else if (part == "shared")
        transfer.space = Space::shared;
      else if (part == "v2")
        transfer.elements = 2;
      else if (part == "v4")
        transfer.elements = 4;
      else if (part != "global" && part != "volatile" && part != "nc" && part != "relaxed" &&
               part != "gpu")
        transfer.type = part;
      begin = end;
    }
    return transfer;
  }
  static Kind kind_of(Space space, Kind of_global) {
    return space == Space::global   ? of_global
           : space == Space::shared ? Kind::shared
           : space == Space::local  ? Kind::local
                                    : Kind::arithmetic;
  }

  void decode_load(Instruction& now, std::string_view name,
                   const std::vector<std::string_view>& operands) {
    const Transfer transfer = transfer_of(name);
    now.elements = transfer.elements;
    now.element_bytes = bytes_of(transfer.type);
    now.is_signed = transfer.type[0] == 's';
    const auto results = elements_of(operands[0]);
    now.register_bytes = register_bytes_of(results, now);
    for (std::size_t i = 0; i < results.size(); ++i) {
      // Where nobody reads an element.
      now.operands[i] =
          results[i] == "_" ? nobody() : operand(results[i], now.register_bytes).place;
    }
    now.operands[now.elements] = address(now, operands[1]);
    now.kind = kind_of(transfer.space, Kind::global_load);
    now.run = transfer.space == Space::parameters ? load<Space::parameters>
              : transfer.space == Space::local    ? load<Space::local>
              : transfer.space == Space::shared   ? load<Space::shared>
                                                  : load<Space::global>;
    if (transfer.space == Space::global && is_volatile(name)) {
      now.run = load<Space::global, Access::volatile_read>;
    }
  }

  std::uint32_t nobody() {
    align_registers(8);
    return new_register(8);
  }

  //! The width of the registers among the elements of a load or a store; of an element, if there
  //! are none.
  unsigned register_bytes_of(const std::vector<std::string_view>& elements,
                             const Instruction& now) const {
    unsigned bytes = 0;
    for (const auto element : elements) {
      const auto found = find_register(element);
      if (!found) continue;
      if (bytes != 0 && bytes != found->bytes) unknown(std::string(now.text));
      bytes = found->bytes;
    }
    return bytes == 0 ? now.element_bytes : bytes;
  }

  void decode_store(Instruction& now, std::string_view name,
                    const std::vector<std::string_view>& operands) {
    const Transfer transfer = transfer_of(name);
    now.elements = transfer.elements;
    now.element_bytes = bytes_of(transfer.type);
    now.operands[0] = address(now, operands[0]);
    const auto values = elements_of(operands[1]);
    now.register_bytes = register_bytes_of(values, now);
    for (std::size_t i = 0; i < values.size(); ++i) {
      now.operands[1 + i] = operand(values[i], now.register_bytes).place;
    }
    now.kind = kind_of(transfer.space, Kind::global_store);
    now.run = transfer.space == Space::local    ? store<Space::local>
              : transfer.space == Space::shared ? store<Space::shared>
                                                : store<Space::global>;
    if (transfer.space == Space::parameters) unknown(std::string(now.text));
  }

  static bool is_volatile(std::string_view name) {
    return name.find(".volatile") != std::string_view::npos;
  }

  void decode_atomic(Instruction& now, std::string_view name,
                     const std::vector<std::string_view>& operands) {
    const bool increments = name.ends_with(".inc.u32");
    if (!increments && !name.ends_with(".add.u32")) unknown(std::string(now.text));
    const Space space = transfer_of(name.substr(0, name.size() - 8)).space;
    now.operands[0] = operand(operands[0], 4).place;
    now.operands[1] = address(now, operands[1]);
    now.operands[2] = operand(operands[2], 4).place;
    now.kind = kind_of(space, Kind::global_store);
    const auto run = [&](auto change) {
      return space == Space::shared ? atomic<Space::shared, decltype(change)>
                                    : atomic<Space::global, decltype(change)>;
    };
    now.run = increments ? run(AtomicIncrement()) : run(std::plus<>());
  }

  bool decode_control(Instruction& now, std::string_view name,
                      const std::vector<std::string_view>& operands) {
    now.kind = Kind::control;
    if (name == "bra" || name == "bra.uni") {
      now.flow = Flow::branch;
      branches_.emplace_back(kernel_.instructions.size(), operands[0]);
    } else if (name == "ret" || name == "exit") {
      now.flow = Flow::leave;
    } else if (name == "trap") {
      now.run = [](Warp& warp, const Instruction&, Mask lanes) {
        warp.stop(static_cast<unsigned>(std::countr_zero(lanes)));
      };
    } else if (name == "bar.sync" && operands.size() == 1 && operands[0] == "0") {
      now.flow = Flow::barrier;
    } else if (name == "bar.red.or.pred" && operands.size() == 3 && operands[1] == "0") {
      now.flow = Flow::barrier;
      now.operands[0] = operand(operands[0], 0).place;
      now.operands[1] = operand(operands[2], 0).place;
      now.run = any_of_block;
    } else if (name == "cp.async.cg.shared.global") {
      if (operands.size() != 4 || operands[2] != "16") unknown(std::string(now.text));
      now.operands[0] = address(now, operands[0]);
      if (now.address_bytes != 4 || now.offset != 0) unknown(std::string(now.text));
      now.operands[1] = address(now, operands[1]);
      if (now.address_bytes != 8 || now.offset != 0) unknown(std::string(now.text));
      now.operands[2] = operand(operands[3], 4).place;
      now.kind = Kind::global_load;
      now.run = begin_copies;
    } else if (name == "cp.async.wait_all") {
      now.run = end_copies;
    } else if (name == "fence.proxy.async.shared::cta") {
      now.run = show_written;
    } else if (name.starts_with("membar") || name.starts_with("fence")) {
      now.run = [](Warp&, const Instruction&, Mask) {};
    } else {
      return false;
    }
    return true;
  }

  //! The instruction's lanes are those of a mask that is always full.
  void expect_all_lanes(std::string_view mask, std::string_view text) const {
    const auto value = literal(mask);
    if (value && static_cast<Mask>(*value) != all_lanes) unknown(std::string(text));
  }

  bool decode_together(Instruction& now, std::string_view name,
                       const std::vector<std::string_view>& operands) {
    now.flow = Flow::all_together;
    if (name == "bar.warp.sync") {
      expect_all_lanes(operands[0], now.text);
      now.run = wait_for_warp;
    } else if (name.starts_with("vote")) {
      expect_all_lanes(operands[2], now.text);
      now.operands[0] = operand(operands[0], 4).place;
      now.operands[1] = operand(operands[1], 0).place;
      now.run = ballot;
    } else if (name.starts_with("shfl.sync")) {
      expect_all_lanes(operands[4], now.text);
      const auto bar = operands[0].find('|');
      const bool has = bar != std::string_view::npos;
      for (std::size_t i = 0; i < 5; ++i) {
        now.operands[i] = operand(i == 0 ? operands[0].substr(0, bar) : operands[i], 4).place;
      }
      if (has) now.operands[5] = operand(operands[0].substr(bar + 1), 0).place;
      if (name == "shfl.sync.up.b32")
        now.run = has ? shuffle<Exchange::up, true> : shuffle<Exchange::up, false>;
      else if (name == "shfl.sync.down.b32")
        now.run = has ? shuffle<Exchange::down, true> : shuffle<Exchange::down, false>;
      else if (name == "shfl.sync.bfly.b32")
        now.run = has ? shuffle<Exchange::butterfly, true> : shuffle<Exchange::butterfly, false>;
      else if (name == "shfl.sync.idx.b32")
        now.run = has ? shuffle<Exchange::index, true> : shuffle<Exchange::index, false>;
      else
        return false;
    } else if (name.starts_with("ldmatrix.sync.aligned.m8n8.x4.")) {
      const auto results = elements_of(operands[0]);
      for (std::size_t i = 0; i < 4; ++i) now.operands[i] = operand(results[i], 4).place;
      now.operands[4] = address(now, operands[1]);
      now.kind = Kind::shared;
      now.run =
          name.find("trans") != std::string_view::npos ? load_matrices<true> : load_matrices<false>;
    } else if (name.starts_with("mma.sync.aligned.")) {
      std::size_t next = 0;
      for (const auto group : operands) {
        for (const auto element : elements_of(group))
          now.operands[next++] = operand(element, 4).place;
      }
      now.kind = Kind::tensor;
      if (name.ends_with("m16n8k16.row.col.f32.bf16.bf16.f32"))
        now.run = multiply_matrices<weft::Bfloat16>;
      else if (name.ends_with("m16n8k16.row.col.f32.f16.f16.f32"))
        now.run = multiply_matrices<weft::Float16>;
      else if (name.ends_with("m16n8k8.row.col.f32.tf32.tf32.f32"))
        now.run = multiply_matrices<emulator::Tf32>;
      else
        return false;
    } else {
      return false;
    }
    return true;
  }

  //! Products of four warps.
  bool decode_warpgroup(Instruction& now, std::string_view name,
                        const std::vector<std::string_view>& operands) {
    now.flow = Flow::all_together;
    now.kind = Kind::control;
    if (name == "wgmma.fence.sync.aligned") {
      now.run = begin_products;
    } else if (name == "wgmma.commit_group.sync.aligned") {
      now.run = commit_products;
    } else if (name == "wgmma.wait_group.sync.aligned" && operands[0] == "0") {
      now.run = end_products;
    } else if (name.starts_with("wgmma.mma_async.sync.aligned.m64n64k16.f32.")) {
      const bool from_registers = operands[1].starts_with('{'),
                 is_bfloat16 = name.ends_with("bf16.bf16");
      if (!is_bfloat16 && !name.ends_with("f16.f16")) return false;
      // Of negated or transposed factors those that weft has.
      const std::vector<std::string_view> settings(operands.begin() + 4, operands.end());
      if (settings != (from_registers ? std::vector<std::string_view>{"1", "1", "1"}
                                      : std::vector<std::string_view>{"1", "1", "0", "0"})) {
        return false;
      }
      auto& places = kernel_.lists.emplace_back();
      for (const auto element : elements_of(operands[0]))
        places.push_back(operand(element, 4).place);
      for (const auto element : elements_of(operands[1])) {
        places.push_back(operand(element, from_registers ? 4 : 8).place);
      }
      places.push_back(operand(operands[2], 8).place);
      places.push_back(operand(operands[3], 0).place);
      now.operands[0] = static_cast<std::uint32_t>(kernel_.lists.size() - 1);
      now.kind = Kind::tensor;
      kernel_.has_wgmma = true;
      if (from_registers) {
        now.run = is_bfloat16 ? multiply_warpgroup<weft::Bfloat16, true>
                              : multiply_warpgroup<weft::Float16, true>;
      } else {
        now.run = is_bfloat16 ? multiply_warpgroup<weft::Bfloat16, false>
                              : multiply_warpgroup<weft::Float16, false>;
      }
    } else {
      return false;
    }
    return true;
  }

  Kernel& kernel_;
  std::size_t register_bytes_ = 0;
  const std::map<std::string_view, std::uint64_t>& globals_;
  const std::map<std::string_view, Variable>& module_shared_;
  std::map<std::string_view, std::uint64_t> symbols_;
  std::vector<std::map<std::string, Range>> scopes_;
  std::map<std::pair<std::uint64_t, unsigned>, std::uint32_t> constants_;
  std::map<std::string_view, std::uint32_t> labels_;
  std::vector<std::pair<std::size_t, std::string_view>> branches_;
  std::map<std::string_view, std::pair<std::string_view, std::string_view>> products_;  // see fuse
};

//! A module's text, and its kernels, each decoded when it is first asked for.
class Module {
 public:
  explicit Module(std::string_view text) : text_(without(without(text, "/*", "*/"), "//", "\n")) {
    statements_ = statements_of(text_);
    constexpr std::string_view target = ".target sm_";
    if (const auto at = text_.find(target); at != std::string::npos) {
      architecture_ = std::atoi(text_.c_str() + at + target.size());
    }
    for (std::size_t i = 0; i < statements_.size(); ++i) {
      const auto statement = statements_[i];
      if (const auto entry = statement.find(".entry"); entry != std::string_view::npos) {
        const auto begin = statement.find_first_not_of(" \t\n", entry + 6),
                   end = statement.find_first_of(" \t\n(", begin);
        const auto name = statement.substr(begin, end - begin);
        std::size_t last = i + 1;  // its opening brace
        for (int depth = 0; last < statements_.size(); ++last) {
          depth += (statements_[last] == "{") - (statements_[last] == "}");
          if (depth == 0) break;
        }
        entries_[std::string(name)] = {i, last};
        i = last;
      } else if (statement.find(".shared") != std::string_view::npos) {
        const Variable variable = variable_of(statement);
        shared_[variable.name] = variable;
      } else if (statement.find(".global") != std::string_view::npos) {
        // No kernel of weft reads one: those of the standard library have no bytes that matter.
        globals_[variable_of(statement.substr(0, statement.find('='))).name] = 0;
      }
    }
  }
  Module(const Module&) = delete;
  Module& operator=(const Module&) = delete;

  //! Null, if the module has none of that name.
  const Kernel* kernel(const std::string& name) {
    if (const auto known = kernels_.find(name); known != kernels_.end()) return known->second.get();
    const auto entry = entries_.find(name);
    if (entry == entries_.end()) return nullptr;
    auto kernel = std::make_unique<Kernel>();
    kernel->name = name;
    kernel->architecture = architecture_;
    Decoder decoder(*kernel, shared_, globals_);
    const auto [head, last] = entry->second;
    const auto heading = statements_[head];
    const auto open = heading.find('('), close = heading.find(')');
    if (open != std::string_view::npos) {
      for (const auto parameter : parts_of(heading.substr(open + 1, close - open - 1)))
        decoder.add_parameter(parameter);
    }
    if (const auto most = heading.find(".maxntid"); most != std::string_view::npos) {
      kernel->most_threads = 1;
      auto list = heading.substr(most + 8);
      list = list.substr(0, list.find('.'));
      for (const auto part : parts_of(list)) kernel->most_threads *= number_of(part);
    }
    decoder.decode({statements_.begin() + static_cast<std::ptrdiff_t>(head) + 2,
                    statements_.begin() + static_cast<std::ptrdiff_t>(last)});
    return (kernels_[name] = std::move(kernel)).get();
  }

 private:
  std::string text_;
  int architecture_ = 0;
  std::vector<std::string_view> statements_;
  std::map<std::string, std::pair<std::size_t, std::size_t>> entries_;
  std::map<std::string_view, Variable> shared_;
  std::map<std::string_view, std::uint64_t> globals_;
  std::map<std::string, std::unique_ptr<Kernel>> kernels_;
};

}  // namespace emulator
