// SPDX-FileCopyrightText: 2026 The weft authors
// SPDX-License-Identifier: Apache-2.0
//! @file Instructions that compute from registers, a lane apart from the others, by their names.
//!
//! **Source.** PTX ISA, NVIDIA. Names that are not here are refused by decode.hpp, with
//! the instruction: add one when a kernel first has it.
#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <map>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <weft/core/bfloat16.hpp>
#include <weft/core/float16.hpp>

#include "warp.hpp"

namespace emulator {

//! An instruction, and the bytes of its operands' registers; 0: a predicate.
struct Operation {
  Instruction::Run run = nullptr;
  std::vector<unsigned> bytes;
  Kind kind = Kind::arithmetic;
};

//! d = f(sources).
template <auto F, class D, class... Sources>
void compute(Warp& warp, const Instruction& now, Mask lanes) {
  D results[warp_size];
  D* const d = warp.at<D>(now.operands[0]);
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    const auto all = std::tuple(warp.at<Sources>(now.operands[1 + I])...);
    for (unsigned lane = 0; lane < warp_size; ++lane)
      results[lane] = static_cast<D>(F(std::get<I>(all)[lane]...));
  }
  (std::index_sequence_for<Sources...>());
  if (lanes == all_lanes) {
    std::memcpy(d, results, sizeof results);
  } else {
    for (unsigned lane = 0; lane < warp_size; ++lane)
      d[lane] = (lanes >> lane & 1u) != 0 ? results[lane] : d[lane];
  }
}
template <class D, class... Sources, class F>
Operation computed(F, Kind kind = Kind::arithmetic) {
  return {compute<F{}, D, Sources...>, {sizeof(D), sizeof(Sources)...}, kind};
}

//! A predicate: f(a, b).
template <auto F, class T>
void compare(Warp& warp, const Instruction& now, Mask lanes) {
  const T *const a = warp.at<T>(now.operands[1]), *const b = warp.at<T>(now.operands[2]);
  Mask found = 0;
  for (unsigned lane = 0; lane < warp_size; ++lane)
    found |= static_cast<Mask>(F(a[lane], b[lane])) << lane;
  Mask& d = warp.mask(now.operands[0]);
  d = (d & ~lanes) | (found & lanes);
}
template <class T, class F>
Operation compared(F) {
  return {compare<F{}, T>, {0, sizeof(T), sizeof(T)}};
}

//! A predicate of predicates.
template <auto F, unsigned Sources>
void combine(Warp& warp, const Instruction& now, Mask lanes) {
  Mask found = warp.mask(now.operands[1]);
  if constexpr (Sources == 2) {
    found = F(found, warp.mask(now.operands[2]));
  } else {
    found = F(found);
  }
  Mask& d = warp.mask(now.operands[0]);
  d = (d & ~lanes) | (found & lanes);
}
template <unsigned Sources, class F>
Operation combined(F) {
  return {combine<F{}, Sources>, std::vector<unsigned>(1 + Sources, 0u)};
}

//! d = p ? a : b.
template <class T>
void select(Warp& warp, const Instruction& now, Mask lanes) {
  const Mask p = warp.mask(now.operands[3]);
  T *const d = warp.at<T>(now.operands[0]), *const a = warp.at<T>(now.operands[1]),
           *const b = warp.at<T>(now.operands[2]);
  for (unsigned lane = 0; lane < warp_size; ++lane) {
    const T chosen = (p >> lane & 1u) != 0 ? a[lane] : b[lane];
    d[lane] = (lanes >> lane & 1u) != 0 ? chosen : d[lane];
  }
}
template <class T>
Operation selected() {
  return {select<T>, {sizeof(T), sizeof(T), sizeof(T), 0}};
}

//! x rounded down to a float.
inline float rounded_down(double x) {
  const float nearest = static_cast<float>(x);
  return static_cast<double>(nearest) > x
             ? std::nextafter(nearest, -std::numeric_limits<float>::infinity())
             : nearest;
}

inline std::map<std::string_view, Operation> arithmetic() {
  using u16 = std::uint16_t;
  using u32 = std::uint32_t;
  using u64 = std::uint64_t;
  using s16 = std::int16_t;
  using s32 = std::int32_t;
  using s64 = std::int64_t;
  using f32 = float;
  using f64 = double;
  std::map<std::string_view, Operation> all;

  const auto add = [](auto a, auto b) { return a + b; };
  const auto sub = [](auto a, auto b) { return a - b; };
  const auto mul = [](auto a, auto b) { return a * b; };
  const auto least = [](auto a, auto b) { return b < a || a != a ? b : a; };
  const auto most = [](auto a, auto b) { return a < b || a != a ? b : a; };
  const auto quotient = [](auto a, auto b) { return b == 0 ? decltype(a / b)(-1) : a / b; };
  const auto divide = [](auto a, auto b) { return a / b; };
  const auto fused = [](auto a, auto b, auto c) { return std::fma(a, b, c); };
  const auto square_root = [](auto a) { return std::sqrt(a); };
  all["add.s16"] = computed<u16, u16, u16>(add);
  all["add.s32"] = all["add.u32"] = computed<u32, u32, u32>(add);
  all["add.s64"] = all["add.u64"] = computed<u64, u64, u64>(add);
  all["add.f32"] = all["add.rn.f32"] = computed<f32, f32, f32>(add);
  all["add.f64"] = all["add.rn.f64"] = computed<f64, f64, f64>(add);
  all["sub.s16"] = computed<u16, u16, u16>(sub);
  all["sub.s32"] = all["sub.u32"] = computed<u32, u32, u32>(sub);
  all["sub.s64"] = all["sub.u64"] = computed<u64, u64, u64>(sub);
  all["sub.f32"] = all["sub.rn.f32"] = computed<f32, f32, f32>(sub);
  all["sub.f64"] = computed<f64, f64, f64>(sub);
  all["mul.f32"] = all["mul.rn.f32"] = computed<f32, f32, f32>(mul);
  all["mul.f64"] = all["mul.rn.f64"] = computed<f64, f64, f64>(mul);
  all["mul.lo.s32"] = all["mul.lo.u32"] = computed<u32, u32, u32>(mul);
  all["mul.lo.s64"] = all["mul.lo.u64"] = computed<u64, u64, u64>(mul);
  all["mul.lo.s16"] = computed<u16, u16, u16>([](u16 a, u16 b) { return u32{a} * b; });
  all["mul.hi.u32"] = computed<u32, u32, u32>([](u32 a, u32 b) { return u64{a} * b >> 32; });
  all["mul.wide.s32"] = computed<s64, s32, s32>([](s32 a, s32 b) { return s64{a} * b; });
  all["mul.wide.u32"] = computed<u64, u32, u32>([](u32 a, u32 b) { return u64{a} * b; });
  all["mul.wide.u16"] = computed<u32, u16, u16>([](u16 a, u16 b) { return u32{a} * b; });
  all["mad.lo.s32"] = computed<u32, u32, u32, u32>([](u32 a, u32 b, u32 c) { return a * b + c; });
  all["mad.wide.u32"] =
      computed<u64, u32, u32, u64>([](u32 a, u32 b, u64 c) { return u64{a} * b + c; });
  all["mad.lo.s64"] = computed<u64, u64, u64, u64>([](u64 a, u64 b, u64 c) { return a * b + c; });
  all["fma.rn.f32"] = computed<f32, f32, f32, f32>(fused);
  // What ptxas makes of a product and a difference.
  all["product.minus.f32"] =
      computed<f32, f32, f32, f32>([](f32 a, f32 b, f32 c) { return std::fma(a, b, -c); });
  all["minus.product.f32"] =
      computed<f32, f32, f32, f32>([](f32 a, f32 b, f32 c) { return std::fma(-a, b, c); });
  all["fma.rn.f64"] = computed<f64, f64, f64, f64>(fused);
  all["fma.rm.f32"] = computed<f32, f32, f32, f32>(
      [](f32 a, f32 b, f32 c) { return rounded_down(static_cast<f64>(a) * b + c); });
  all["div.rn.f32"] = computed<f32, f32, f32>(divide, Kind::special);
  all["div.rn.f64"] = computed<f64, f64, f64>(divide, Kind::special);
  all["div.s64"] = computed<s64, s64, s64>(quotient, Kind::special);
  all["div.u64"] = computed<u64, u64, u64>(quotient, Kind::special);
  all["div.u32"] = computed<u32, u32, u32>(quotient, Kind::special);
  all["div.s32"] = computed<s32, s32, s32>(quotient, Kind::special);
  all["rem.u32"] =
      computed<u32, u32, u32>([](u32 a, u32 b) { return b == 0 ? a : a % b; }, Kind::special);
  all["rem.s32"] =
      computed<s32, s32, s32>([](s32 a, s32 b) { return b == 0 ? a : a % b; }, Kind::special);
  all["rem.s64"] =
      computed<s64, s64, s64>([](s64 a, s64 b) { return b == 0 ? a : a % b; }, Kind::special);
  all["rcp.rn.f32"] = computed<f32, f32>([](f32 a) { return 1.0f / a; }, Kind::special);
  all["sqrt.rn.f32"] = computed<f32, f32>(square_root, Kind::special);
  all["sqrt.rn.f64"] = computed<f64, f64>(square_root, Kind::special);
  all["ex2.approx.ftz.f32"] = computed<f32, f32>(
      [](f32 a) {
        const f32 power = std::exp2(a);
        return power < 0x1p-126f ? 0.0f : power;
      },
      Kind::special);
  all["neg.f32"] = computed<f32, f32>([](f32 a) { return -a; });
  all["abs.f32"] = computed<f32, f32>([](f32 a) { return std::abs(a); });
  all["neg.s64"] = computed<u64, u64>([](u64 a) { return -a; });
  all["neg.s32"] = computed<u32, u32>([](u32 a) { return -a; });
  all["max.f32"] = computed<f32, f32, f32>(most);
  all["min.f32"] = computed<f32, f32, f32>(least);
  all["max.f64"] = computed<f64, f64, f64>(most);
  all["min.f64"] = computed<f64, f64, f64>(least);
  all["max.s32"] = computed<s32, s32, s32>(most);
  all["max.u32"] = computed<u32, u32, u32>(most);
  all["max.s64"] = computed<s64, s64, s64>(most);
  all["max.u64"] = computed<u64, u64, u64>(most);
  all["min.s32"] = computed<s32, s32, s32>(least);
  all["min.u32"] = computed<u32, u32, u32>(least);
  all["min.s64"] = computed<s64, s64, s64>(least);
  all["min.u64"] = computed<u64, u64, u64>(least);

  const auto bit_and = [](auto a, auto b) { return a & b; };
  const auto bit_or = [](auto a, auto b) { return a | b; };
  const auto bit_xor = [](auto a, auto b) { return a ^ b; };
  const auto bit_not = [](auto a) { return ~a; };
  all["and.b16"] = computed<u16, u16, u16>(bit_and);
  all["and.b32"] = computed<u32, u32, u32>(bit_and);
  all["and.b64"] = computed<u64, u64, u64>(bit_and);
  all["and.pred"] = combined<2>(bit_and);
  all["or.b16"] = computed<u16, u16, u16>(bit_or);
  all["or.b32"] = computed<u32, u32, u32>(bit_or);
  all["or.b64"] = computed<u64, u64, u64>(bit_or);
  all["or.pred"] = combined<2>(bit_or);
  all["xor.b32"] = computed<u32, u32, u32>(bit_xor);
  all["xor.b64"] = computed<u64, u64, u64>(bit_xor);
  all["xor.pred"] = combined<2>(bit_xor);
  all["not.b32"] = computed<u32, u32>(bit_not);
  all["not.b64"] = computed<u64, u64>(bit_not);
  all["not.pred"] = combined<1>(bit_not);
  all["mov.pred"] = combined<1>([](Mask a) { return a; });
  // Shifts by more than there are bits: nothing is left.
  const auto left = [](auto a, u32 by) {
    return by >= 8 * sizeof a ? decltype(a)(0) : decltype(a)(a << by);
  };
  const auto right = [](auto a, u32 by) {
    return decltype(a)(
               a >>
               (by >= 8 * sizeof a ? (std::is_signed_v<decltype(a)> ? 8 * sizeof a - 1 : 0) : by)) *
           decltype(a)(by < 8 * sizeof a || std::is_signed_v<decltype(a)>);
  };
  all["shl.b16"] = computed<u16, u16, u32>(left);
  all["shl.b32"] = computed<u32, u32, u32>(left);
  all["shl.b64"] = computed<u64, u64, u32>(left);
  all["shr.b32"] = all["shr.u32"] = computed<u32, u32, u32>(right);
  all["shr.u16"] = computed<u16, u16, u32>(right);
  all["shr.u64"] = all["shr.b64"] = computed<u64, u64, u32>(right);
  all["shr.s32"] = computed<s32, s32, u32>(right);
  all["shr.s64"] = computed<s64, s64, u32>(right);
  all["prmt.b32"] = computed<u32, u32, u32, u32>([](u32 low, u32 high, u32 choice) {
    const u64 bytes = u64{high} << 32 | low;
    u32 chosen = 0;
    for (unsigned i = 0; i < 4; ++i) {
      const u32 which = choice >> 4 * i & 0xfu;
      const u32 byte = static_cast<u32>(bytes >> 8 * (which & 7u)) & 0xffu;
      const u32 sign = (byte & 0x80u) != 0 ? 0xffu : 0;
      chosen |= ((which & 8u) != 0 ? sign : byte) << 8 * i;
    }
    return chosen;
  });
  all["shf.l.wrap.b32"] = computed<u32, u32, u32, u32>([](u32 low, u32 high, u32 by) {
    return static_cast<u32>((u64{high} << 32 | low) << (by & 31u) >> 32);
  });
  all["popc.b32"] = computed<u32, u32>([](u32 a) { return static_cast<u32>(std::popcount(a)); });
  all["clz.b32"] = computed<u32, u32>([](u32 a) { return static_cast<u32>(std::countl_zero(a)); });
  // So many bits from a place on.
  static constexpr auto field = [](u32 place, u32 width) {
    const u64 ones = width >= 32 ? ~u32{0} : (u64{1} << width) - 1;
    return place >= 32 ? u32{0} : static_cast<u32>(ones << place);
  };
  all["bmsk.clamp.b32"] = computed<u32, u32, u32>(field);
  all["bfi.b32"] = computed<u32, u32, u32, u32, u32>([](u32 a, u32 b, u32 place, u32 width) {
    const u32 mask = field(place, width);
    return (b & ~mask) | (place < 32 ? a << place & mask : 0u);
  });
  all["bfi.b64"] = computed<u64, u64, u64, u32, u32>([](u64 a, u64 b, u32 place, u32 width) {
    const u64 ones = width >= 64 ? ~u64{0} : (u64{1} << width) - 1;
    return place >= 64 ? b : (b & ~(ones << place)) | (a & ones) << place;
  });

  all["mov.b16"] = all["mov.u16"] = all["mov.s16"] =
      computed<u16, u16>([](u16 a) { return a; }, Kind::move);
  all["mov.b32"] = all["mov.u32"] = all["mov.s32"] = all["mov.f32"] =
      computed<u32, u32>([](u32 a) { return a; }, Kind::move);
  all["mov.b32.halves"] = computed<u32, u16, u16>(
      [](u16 low, u16 high) { return u32{high} << 16 | low; }, Kind::move);
  all["mov.b64"] = all["mov.u64"] = all["mov.s64"] = all["mov.f64"] = all["cvta.to.global.u64"] =
      computed<u64, u64>([](u64 a) { return a; }, Kind::move);
  all["selp.b16"] = all["selp.u16"] = all["selp.s16"] = selected<u16>();
  all["selp.b32"] = all["selp.u32"] = all["selp.s32"] = all["selp.f32"] = selected<u32>();
  all["selp.b64"] = all["selp.u64"] = all["selp.s64"] = all["selp.f64"] = selected<u64>();

  const auto same = [](auto a) { return a; };
  all["cvt.f64.f32"] = computed<f64, f32>(same);
  all["cvt.rn.f32.f64"] = computed<f32, f64>(same);
  all["cvt.rn.f32.s32"] = computed<f32, s32>(same);
  all["cvt.rn.f32.u32"] = computed<f32, u32>(same);
  all["cvt.rn.f32.s64"] = computed<f32, s64>(same);
  all["cvt.rn.f32.u64"] = computed<f32, u64>(same);
  all["cvt.rn.f64.s64"] = computed<f64, s64>(same);
  all["cvt.rni.s32.f32"] =
      computed<s32, f32>([](f32 a) {  // what is no integer of 32 bits: the nearest
        constexpr f32 end = 0x1p31f;
        return a != a     ? 0
               : a >= end ? INT32_MAX
               : a < -end ? INT32_MIN
                          : static_cast<s32>(std::rint(a));
      });
  all["cvt.s64.s32"] = computed<s64, s32>(same);
  all["cvt.u16.u32"] = computed<u16, u32>(same);
  all["cvt.u16.u64"] = computed<u16, u64>(same);
  all["cvt.u32.u16"] = computed<u32, u16>(same);
  all["cvt.s32.s16"] = computed<s32, s16>(same);
  all["cvt.u32.u64"] = computed<u32, u64>(same);
  all["cvt.u64.u16"] = computed<u64, u16>(same);
  all["cvt.u64.u32"] = computed<u64, u32>(same);
  all["cvt.sat.f32.f32"] =
      computed<f32, f32>([](f32 a) { return a > 0.0f ? (a < 1.0f ? a : 1.0f) : 0.0f; });
  // To the nearest, ties away from zero; what is no number, and infinity, stay. What tf32 does not
  // have of a float's bits is not promised: here it is ones.
  all["cvt.rna.tf32.f32"] = computed<u32, f32>([](f32 a) {
    const u32 bits = std::bit_cast<u32>(a);
    return (bits & 0x7f800000u) == 0x7f800000u ? bits : ((bits + 0x1000u) | 0x1fffu);
  });
  all["cvt.rn.bf16.f32"] = computed<u16, f32>([](f32 a) { return weft::Bfloat16(a).bits; });
  all["cvt.rn.f16.f32"] = computed<u16, f32>([](f32 a) { return weft::Float16(a).bits; });
  all["cvt.f32.f16"] = computed<f32, u16>([](u16 a) {
    weft::Float16 number;
    number.bits = a;
    return static_cast<f32>(number);
  });
  // The first goes into the upper half.
  all["cvt.rn.bf16x2.f32"] = computed<u32, f32, f32>([](f32 upper, f32 lower) {
    return u32{weft::Bfloat16(upper).bits} << 16 | weft::Bfloat16(lower).bits;
  });
  all["cvt.rn.f16x2.f32"] = computed<u32, f32, f32>([](f32 upper, f32 lower) {
    return u32{weft::Float16(upper).bits} << 16 | weft::Float16(lower).bits;
  });

  const auto every = [&]<class T>(std::string_view eq, std::string_view ne, std::string_view lt,
                                  std::string_view le, std::string_view gt, std::string_view ge,
                                  T) {
    all[eq] = compared<T>([](T a, T b) { return a == b; });
    all[ne] = compared<T>([](T a, T b) { return a < b || a > b; });
    all[lt] = compared<T>([](T a, T b) { return a < b; });
    all[le] = compared<T>([](T a, T b) { return a <= b; });
    all[gt] = compared<T>([](T a, T b) { return a > b; });
    all[ge] = compared<T>([](T a, T b) { return a >= b; });
  };
#define WEFT_COMPARISONS(T, name)                                                            \
  every("setp.eq." name, "setp.ne." name, "setp.lt." name, "setp.le." name, "setp.gt." name, \
        "setp.ge." name, T{})
  WEFT_COMPARISONS(u16, "u16");
  WEFT_COMPARISONS(s16, "s16");
  WEFT_COMPARISONS(u32, "u32");
  WEFT_COMPARISONS(s32, "s32");
  WEFT_COMPARISONS(u64, "u64");
  WEFT_COMPARISONS(s64, "s64");
  WEFT_COMPARISONS(u16, "b16");
  WEFT_COMPARISONS(u32, "b32");
  WEFT_COMPARISONS(u64, "b64");
  WEFT_COMPARISONS(f32, "f32");
  WEFT_COMPARISONS(f64, "f64");
#undef WEFT_COMPARISONS
  // True also of what is no number.
  all["setp.neu.f32"] = compared<f32>([](f32 a, f32 b) { return !(a == b); });
  all["setp.leu.f32"] = compared<f32>([](f32 a, f32 b) { return !(a > b); });
  all["setp.gtu.f32"] = compared<f32>([](f32 a, f32 b) { return !(a <= b); });
  all["setp.ltu.f32"] = compared<f32>([](f32 a, f32 b) { return !(a >= b); });
  all["setp.geu.f32"] = compared<f32>([](f32 a, f32 b) { return !(a < b); });
  all["setp.equ.f32"] = compared<f32>([](f32 a, f32 b) { return !(a < b || a > b); });
  all["setp.nan.f32"] = compared<f32>([](f32 a, f32 b) { return a != a || b != b; });
  all["setp.num.f32"] = compared<f32>([](f32 a, f32 b) { return a == a && b == b; });
  all["setp.gtu.f64"] = compared<f64>([](f64 a, f64 b) { return !(a <= b); });
  all["setp.neu.f64"] = compared<f64>([](f64 a, f64 b) { return !(a == b); });
  return all;
}

}  // namespace emulator
