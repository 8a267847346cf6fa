// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//
// Looks into saved models and states, and any other safetensors file:
//
//     weft-inspect FILE          its tensors: type, shape, size, checksum, range
//     weft-inspect FILE OTHER    where two differ, and by how much
//
// It ends with 0, with 1 where two files differ, and with 2 where one cannot be read.

#include "../common/report_errors.hpp"

#include <weft/core/bfloat16.hpp>
#include <weft/core/error.hpp>
#include <weft/core/fingerprint.hpp>
#include <weft/io/safetensors_file.hpp>
#include <weft/io/utf8.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

using namespace weft;
using io::SafetensorsFile;
using io::TensorEntry;

namespace {

std::vector<std::byte> bytes_of(const SafetensorsFile& file, const TensorEntry& tensor) {
  std::vector<std::byte> bytes(static_cast<std::size_t>(tensor.end - tensor.begin));
  file.read_bytes(tensor.name, bytes);
  return bytes;
}

//! The numbers of a tensor whose type this program knows: float32, float64 or bfloat16.
std::optional<std::vector<double>> numbers_of(const TensorEntry& tensor,
                                              std::span<const std::byte> bytes) {
  std::vector<double> numbers;
  const auto read = [&]<class T>(T element) {
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(T)) {
      std::memcpy(&element, bytes.data() + at, sizeof(T));
      numbers.push_back(static_cast<double>(static_cast<float>(element)));
    }
  };
  if (tensor.dtype == io::DType::F32) {
    read(float{});
  } else if (tensor.dtype == io::DType::BF16) {
    read(Bfloat16{});
  } else if (tensor.dtype == io::DType::F64) {
    numbers.resize(bytes.size() / sizeof(double));
    if (!numbers.empty()) std::memcpy(numbers.data(), bytes.data(), bytes.size());
  } else {
    return std::nullopt;
  }
  return numbers;
}

//! A name or remark from a file that may be hostile: what would steer a terminal is a question
//! mark.
std::string printable(std::string_view said) {
  std::string out;
  while (!said.empty()) {
    const auto [code_point, bytes] = io::decode_utf8(said);  // it is, or the file was refused
    const bool steers = code_point < 0x20 || (code_point >= 0x7F && code_point < 0xA0);
    out += steers ? "?" : said.substr(0, static_cast<std::size_t>(bytes));
    said.remove_prefix(static_cast<std::size_t>(bytes));
  }
  return out;
}

std::string shape_text(const std::vector<index_t>& shape) {
  std::string extents;
  for (const index_t extent : shape) extents += text(extents.empty() ? "" : ", ", extent);
  return "(" + extents + ")";
}

std::uint64_t checksum(std::span<const std::byte> bytes) {
  return Fingerprint()
      .add(std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()))
      .value();
}

std::string range_text(const std::vector<double>& numbers) {
  if (numbers.empty()) return "";
  const auto odd = std::ranges::count_if(numbers, [](double x) { return !std::isfinite(x); });
  if (odd > 0) return text(odd, " NOT FINITE");
  const auto [least, most] = std::ranges::minmax(numbers);
  char range[64];
  std::snprintf(range, sizeof range, "%.4g to %.4g", least, most);
  return range;
}

void show(const SafetensorsFile& file) {
  for (const auto& [key, value] : file.metadata()) {
    std::printf("%s: %s\n", printable(key).c_str(), printable(value).c_str());
  }
  constexpr std::size_t widest = 80;  // one long name must not put as many spaces into every line
  std::size_t width = 4;
  for (const auto& tensor : file.tensors()) width = std::max(width, tensor.name.size());
  width = std::min(width, widest);
  index_t elements = 0, bytes_in_all = 0;
  Fingerprint of_all;
  for (const auto& tensor : file.tensors()) {
    const auto bytes = bytes_of(file, tensor);
    const auto sum = checksum(bytes);
    const auto numbers = numbers_of(tensor, bytes);
    index_t size = 1;
    for (const auto extent : tensor.shape) size *= extent;
    elements += size;
    bytes_in_all += std::ssize(bytes);
    of_all.add(tensor.name).add(sum);
    std::printf("%-*s  %-4s  %-16s  %12lld bytes  %016llx  %s\n", static_cast<int>(width),
                printable(tensor.name).c_str(), text(tensor.dtype).c_str(),
                shape_text(tensor.shape).c_str(), static_cast<long long>(bytes.size()),
                static_cast<unsigned long long>(sum), numbers ? range_text(*numbers).c_str() : "");
  }
  std::printf("%zu tensors, %lld elements, %lld bytes, checksum %016llx\n", file.tensors().size(),
              static_cast<long long>(elements), static_cast<long long>(bytes_in_all),
              static_cast<unsigned long long>(of_all.value()));
}

//! How two tensors of one name differ, or "".
std::string difference(const SafetensorsFile& a, const SafetensorsFile& b,
                       const std::string& name) {
  const TensorEntry &one = a.tensor(name), &other = b.tensor(name);
  if (one.dtype != other.dtype || one.shape != other.shape) {
    return text(one.dtype, " ", shape_text(one.shape), " here, ", other.dtype, " ",
                shape_text(other.shape), " there");
  }
  const auto here = bytes_of(a, one), there = bytes_of(b, other);
  if (here == there) return "";
  const auto x = numbers_of(one, here), y = numbers_of(other, there);
  if (!x) return "other bytes";
  std::size_t count = 0, furthest = 0;
  double most = 0.0;
  const std::size_t width = here.size() / x->size();
  for (std::size_t i = 0; i < x->size(); ++i) {  // by bytes: all NaN of a kind become one double
    if (std::memcmp(&here[i * width], &there[i * width], width) == 0) continue;
    ++count;
    const double apart = std::abs((*x)[i] - (*y)[i]);
    if (count == 1 || apart > most || std::isnan(apart)) {
      most = apart;
      furthest = i;
    }
  }
  char line[160];
  std::snprintf(line, sizeof line, "%zu of %zu elements differ, by %.3g at most: %.9g and %.9g",
                count, x->size(), most, (*x)[furthest], (*y)[furthest]);
  return line;
}

//! Whether two files have the same tensors; prints where not.
bool compare(const SafetensorsFile& a, const SafetensorsFile& b) {
  bool same = true;
  const auto say = [&](const std::string& name, const std::string& what) {
    if (what.empty()) return;
    std::printf("%s: %s\n", printable(name).c_str(), what.c_str());
    same = false;
  };
  for (const auto& tensor : a.tensors()) {
    say(tensor.name, b.contains(tensor.name) ? difference(a, b, tensor.name) : "only in the first");
  }
  for (const auto& tensor : b.tensors()) {
    if (!a.contains(tensor.name)) say(tensor.name, "only in the second");
  }
  if (same) std::printf("the tensors are the same, bit by bit\n");
  return same;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2 && argc != 3) {
    std::fprintf(stderr, "usage: weft-inspect FILE [OTHER]\n");
    return 2;
  }
  constexpr int failed = 2;  // 1: the files differ
  return examples::report_errors(
      [&] {
        const SafetensorsFile file(argv[1]);
        if (argc == 3) return compare(file, SafetensorsFile(argv[2])) ? 0 : 1;
        show(file);
        return 0;
      },
      failed);
}
